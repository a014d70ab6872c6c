// Dialling; see dialer.h.
#include "net/dialer.h"

#include <algorithm>
#include <utility>

#include "net/limits.h"
#include "net/link.h"
#include "net/loop.h"

namespace redoubt::net {

using asio::ip::tcp;

Dialer::Dialer(Loop& loop, std::string host, uint16_t port, uint64_t seed, Connected connected)
    : host_(std::move(host)),
      address_(host_.find(':') == std::string::npos ? host_ + ":" + std::to_string(port)
                                                    : "[" + host_ + "]:" + std::to_string(port)),
      port_(port),
      random_(seed),
      connected_(std::move(connected)),
      resolver_(loop.io()),
      socket_(loop.io()),
      timer_(loop.io()) {}

void Dialer::dial() {
  if (stopped_ || busy_) return;
  busy_ = true;
  ceased_ = false;
  next_round();
}

void Dialer::next_round() {
  if (failures_++ == 0) {
    attempt();
    return;
  }
  const Duration longest =
      std::min<Duration>(kLongestDialPause, kFirstDialPause * (1u << std::min(failures_ - 2, 8u)));
  const auto share = 0.5 + 0.5 * random_.unit();
  pausing_ = true;
  after(std::chrono::duration_cast<Duration>(longest * share), [this] { attempt(); });
}

void Dialer::hurry() {
  if (!pausing_ || stopped_) return;
  failures_ = 1;
  attempt();
}

// An endpoint that let us in and led to nothing is not tried again before the others.
void Dialer::attempt() {
  pausing_ = false;
  if (!untried_.empty())
    connect_next();
  else
    resolve();
}

void Dialer::resolve() {
  new_round_ = all_refused_ = true;
  asio::error_code not_numeric;
  const auto address = asio::ip::make_address(host_, not_numeric);
  if (!not_numeric) {
    connect({address, port_});
    return;
  }
  waiting_ = true;
  after(kResolveLimit, [this] {
    waiting_ = false;
    failed("cannot find host " + host_ + ": the name service does not answer");
  });
  // A question that is out cannot be taken back: its answer, however late, is waited for instead of asking
  // again.
  if (asked_) return;
  asked_ = true;
  resolver_.async_resolve(host_, std::to_string(port_),
                          [this](const asio::error_code& error, const tcp::resolver::results_type& found) {
                            if (error == asio::error::operation_aborted || stopped_) return;
                            resolved(error, found);
                          });
}

void Dialer::resolved(const asio::error_code& error, const tcp::resolver::results_type& found) {
  asked_ = false;
  untried_.clear();
  for (const auto& entry : found)
    if (untried_.size() < kMostEndpoints) untried_.push_back(entry.endpoint());
  std::reverse(untried_.begin(), untried_.end());
  if (!waiting_ || ceased_) return;  // the next attempt finds them
  waiting_ = false;
  timer_.expires_at(kNever);
  if (untried_.empty())
    failed("cannot find host " + host_ + ": " + error.message());
  else
    connect_next();
}

void Dialer::connect_next() {
  const tcp::endpoint endpoint = untried_.back();
  untried_.pop_back();
  connect(endpoint);
}

void Dialer::connect(const tcp::endpoint& endpoint) {
  socket_ = tcp::socket(socket_.get_executor());
  const uint64_t attempt = ++attempt_;
  after(kConnectLimit, [this] {
    asio::error_code ignored;
    socket_.close(ignored);  // the connect below then fails
  });
  socket_.async_connect(endpoint, [this, endpoint, attempt](const asio::error_code& error) {
    if (stopped_ || attempt != attempt_) return;
    timer_.expires_at(kNever);
    asio::error_code ignored;
    if (error) {
      failed(error == asio::error::operation_aborted ? "no answer from " + to_text(endpoint)
                                                     : to_text(endpoint) + ": " + error.message(),
             error == asio::error::connection_refused);
      return;
    }
    // A free port in the ephemeral range can be given to the dialling socket itself, which then meets itself.
    if (socket_.local_endpoint(ignored) == socket_.remote_endpoint(ignored)) {
      socket_.close(ignored);
      failed(to_text(endpoint) + ": nobody listens there", true);
      return;
    }
    last_error_.clear();
    busy_ = false;
    // Connecting has left this socket watched for writing, too: every wait for something to read would first
    // wake up because it can be written. A new object on the same connection is watched for reading alone.
    tcp::socket connected(socket_.get_executor());
    connected.assign(endpoint.protocol(), socket_.release(ignored), ignored);
    connected_(std::move(connected));
  });
}

void Dialer::failed(const std::string& why, bool refused) {
  if (ceased_) return;
  all_refused_ = all_refused_ && refused;
  // The last round's error is told until this one has its own.
  if (std::exchange(new_round_, false)) last_error_.clear();
  last_error_ += (last_error_.empty() ? "" : ", ") + why;
  if (!untried_.empty()) return connect_next();
  if (on_failure_) on_failure_(all_refused_);
  if (!ceased_ && !stopped_) next_round();
}

// The one thing that is waited for in time; a new one takes the place of the last.
void Dialer::after(Duration pause, std::function<void()> action) {
  timer_.expires_after(pause);
  timer_.async_wait([this, action = std::move(action)](const asio::error_code& error) {
    if (error || stopped_ || ceased_) return;
    // What had run out already when it was set anew is called all the same.
    if (timer_.expiry() <= Clock::now()) action();
  });
}

void Dialer::cease() {
  ceased_ = true;
  busy_ = pausing_ = false;
  ++attempt_;
  waiting_ = false;
  asio::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
}

void Dialer::stop() {
  stopped_ = true;
  asio::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  resolver_.cancel();
}

}  // namespace redoubt::net
