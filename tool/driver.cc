// One client's load; see driver.h.
#include "tool/driver.h"

#include <asio/post.hpp>

namespace redoubt::tool {
namespace {

ClientOptions with_overtime(ClientOptions options) {
  options.overtime = Driver::kOvertime;
  return options;
}

// A timer comes some 50 us late. Where arrivals are rare it is set early and the rest is waited out between
// the turns of the loop; where they are frequent that would burn a core, and being so late matters less than
// what the rate does.
constexpr Duration kEarly = std::chrono::microseconds(90);
constexpr Duration kRare = std::chrono::milliseconds(1);
// Sent in one go when the loop has fallen behind; replies are looked at in between.
constexpr int kMostAtOnce = 1024;

}  // namespace

Driver::Driver(ClientOptions options, Load load, GapMeter& gap, HistoryFile* history)
    : load_(std::move(load)),
      limits_{load_.request.deadline, load_.request.wait_limit},
      gap_(gap),
      client_(std::make_unique<Client>(with_overtime(std::move(options)))),
      timer_(std::in_place, client_->get_executor()) {
  if (history != nullptr) history_ = std::make_unique<History>(*history, client_->incarnation());
}

Driver::~Driver() { close(); }

void Driver::start(Time at) {
  asio::post(client_->get_executor(), [this, at] { begin(at); });
}

void Driver::stop_sending() {
  asio::post(client_->get_executor(), [this] {
    stopped_ = true;
    if (timer_) timer_->cancel();
    finish_if_over(Clock::now());
  });
}

void Driver::close() {
  if (!client_) return;
  asio::post(client_->get_executor(), [this] {
    stopped_ = true;
    timer_.reset();
  });
  read_stats();  // waits for the thread, and so for the above
  client_.reset();
  if (history_) history_->flush();
}

void Driver::read_stats() {
  if (!client_) return;
  const ClientStats stats = client_->stats();
  account_.duplicated = stats.duplicated;
  account_.repeated = stats.repeated;
  account_.unexpected = stats.unexpected;
  account_.failovers = stats.failovers;
}

void Driver::begin(Time at) {
  began_ = at;
  if (load_.duration) ends_ = later(at, *load_.duration);
  if (load_.window > 0) {
    fill(Clock::now());
    return;
  }
  const std::optional<Duration> first = load_.arrivals->next();
  if (first) next_ = later(began_, *first);
  pace();
}

void Driver::fill(Time now) {
  while (open_ < load_.window && may_send(now)) send(now, now);
  finish_if_over(now);
}

bool Driver::may_send(Time now) const {
  return !stopped_ && now < ends_ && (!load_.requests || account_.sent < *load_.requests);
}

void Driver::pace() {
  const Time now = Clock::now();
  for (int i = 0; i < kMostAtOnce && next_ && *next_ <= now && may_send(*next_); ++i) {
    send(now, *next_);
    const std::optional<Duration> following = load_.arrivals->next();
    next_ = following ? std::optional(later(began_, *following)) : std::nullopt;
  }
  if (next_ && may_send(*next_))
    wait_for_next();
  else
    stopped_ = true;
  finish_if_over(now);
}

void Driver::wait_for_next() {
  const Duration left = *next_ - Clock::now();
  const bool rare = left > kRare;
  if (left <= Duration::zero() || (rare_ && left < kEarly)) {
    asio::post(client_->get_executor(), [this] { pace(); });
    return;
  }
  rare_ = rare;
  timer_->expires_at(rare ? *next_ - kEarly : *next_);
  timer_->async_wait([this](const asio::error_code& error) {
    if (!error) pace();
  });
}

void Driver::send(Time now, Time intended) {
  account_.submitted(now);
  sent_.store(account_.sent, std::memory_order_relaxed);
  if (open_++ == 0) gap_.busy(now);
  if (history_) history_->submitted(client_->next_seq(), intended, load_.request);
  client_->async_call(load_.request, [this, intended](const Reply& reply) { ended(reply, intended); });
}

void Driver::ended(const Reply& reply, Time intended) {
  const Outcome outcome = judge(reply, limits_);
  const Duration latency = load_.window > 0 ? reply.latency : reply.finished - intended;
  account_.ended(reply, outcome, latency);
  if (history_) history_->ended(reply, intended, outcome, latency);
  if (reply.status == Status::kOk || reply.status == Status::kFailed) {
    gap_.reply(reply.finished);
    answered_.store(account_.answered(), std::memory_order_relaxed);
  } else {
    gap_.silence(reply.finished);
  }
  if (--open_ == 0) gap_.idle();
  if (load_.window > 0)
    fill(reply.finished);
  else
    finish_if_over(reply.finished);
}

void Driver::finish_if_over(Time now) {
  if (open_ > 0 || done_.load(std::memory_order_relaxed)) return;
  if (load_.window > 0 ? may_send(now) : !stopped_) return;
  done_.store(true, std::memory_order_release);
}

}  // namespace redoubt::tool
