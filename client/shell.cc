// The client's thread; see shell.h.
#include "client/shell.h"

#include <pthread.h>

#include <asio/post.hpp>
#include <csignal>
#include <future>

#include "client/words.h"

namespace redoubt::client {
namespace {

// The application's signals are for the application's threads.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Shell::Shell(ShellSettings settings)
    : incarnation_(settings.greeting.incarnation),
      most_calls_(settings.queue_limit),
      most_commands_(most_calls_ + most_calls_ / 16 + 1),
      loop_(settings.busy_poll),
      timer_(loop_.io()),
      session_(settings.overtime),
      brokers_(loop_, settings.brokers, std::move(settings.greeting), *this) {}

void Shell::start() {
  const AllSignalsBlocked blocked;
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
}

void Shell::stop() {
  loop_.stop();
  if (on_own_thread())
    thread_.detach();
  else if (thread_.joinable())
    thread_.join();
}

void Shell::run() {
  thread_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  brokers_.start();
  loop_.run([this] { turn_end(); });
  finish();
}

void Shell::turn_end() {
  run_completions();
  if (net::Link* link = brokers_.current()) {
    session_.flush(loop_.now(), kSendAhead - std::min(kSendAhead, link->unsent()));
    send_frames(*link);
  }
  // What handlers were refused, and what turned out too large: in the next turn, so that a handler that calls
  // again at once cannot keep the links from being served.
  if (!session_.effects().completions.empty()) post_turn();
  arm_timer();
}

void Shell::finish() {
  const Time now = Clock::now();
  do {
    take_in();
    session_.stop(now);
    run_completions();
  } while (session_.pending() > 0 || !session_.effects().completions.empty());
  status_questions_.stop();
  brokers_.stop();
}

// ---- Calls

void Shell::begin(Time started, const Request& request, Completion<Reply> completion, Ticket* ticket) {
  const Slab<Call>::Id id = calls_.take();
  calls_[id].completion = std::move(completion);
  const uint64_t seq = session_.submit(started, request, Token{id.number()});
  if (ticket == nullptr || seq == 0) return;
  if (ticket->count++ == 0) ticket->first = seq;
}

void Shell::call(const Request& request, Completion<Reply> completion, std::shared_ptr<Ticket> ticket) {
  if (on_own_thread()) {
    begin(loop_.now(), request, std::move(completion), ticket.get());
    return;
  }
  const Time started = Clock::now();
  std::unique_lock lock(mutex_);
  bool sleeps = false;
  Command& command = place(lock, sleeps);
  fill(command, started, request, std::move(completion), std::move(ticket));
  lock.unlock();
  if (sleeps) wake();
}

void Shell::call_batch(std::span<const Request> requests, Completion<std::vector<Reply>> completion,
                       std::shared_ptr<Ticket> ticket) {
  // Lives until the last outcome. All of it happens on the client's thread, so nothing is locked.
  struct Batch {
    std::vector<Reply> replies;
    size_t open;
    Completion<std::vector<Reply>> completion;
  };
  auto batch =
      std::make_shared<Batch>(std::vector<Reply>(requests.size()), requests.size(), std::move(completion));
  if (requests.empty()) {
    asio::post(loop_.io(), [batch] { batch->completion(std::move(batch->replies)); });
    return;
  }
  const auto part = [&batch](size_t index) {
    return [batch, index](Reply&& reply) {
      batch->replies[index] = std::move(reply);
      if (--batch->open == 0) batch->completion(std::move(batch->replies));
    };
  };
  if (on_own_thread()) {
    for (size_t i = 0; i < requests.size(); ++i) begin(loop_.now(), requests[i], part(i), ticket.get());
    return;
  }
  const Time started = Clock::now();
  std::unique_lock lock(mutex_);
  bool sleeps = false;
  for (size_t i = 0; i < requests.size(); ++i) {
    Command& command = place(lock, sleeps);
    fill(command, started, requests[i], part(i), ticket);
  }
  lock.unlock();
  if (sleeps) wake();
}

// A refusal has to be told on the client's thread, so that it takes a place, too: where even those are all
// taken, the caller is slowed down to the thread's pace.
Shell::Command& Shell::place(std::unique_lock<std::mutex>& lock, bool& sleeps) {
  while (queue_.size() >= most_commands_) {
    wake();
    taken_.wait(lock);
  }
  sleeps = sleeps || queue_.empty();
  return queue_.add();
}

void Shell::fill(Command& command, Time started, const Request& request, Completion<Reply> completion,
                 std::shared_ptr<Ticket> ticket) {
  // More than the session would take is refused without being kept.
  command.kind = queue_.size() > most_calls_ ? Command::Kind::kRefuse : Command::Kind::kCall;
  if (command.kind == Command::Kind::kCall) command.request = request;
  command.completion = std::move(completion);
  command.ticket = std::move(ticket);
  command.started = started;
}

void Shell::cancel(std::shared_ptr<Ticket> ticket) {
  if (on_own_thread()) {
    cancel_here(*ticket);
    return;
  }
  if (ticket->cancel_queued.exchange(true)) return;
  std::unique_lock lock(mutex_);
  bool sleeps = false;
  Command& command = place(lock, sleeps);
  command.kind = Command::Kind::kCancel;
  command.ticket = std::move(ticket);
  lock.unlock();
  if (sleeps) wake();
}

void Shell::wake() {
  asio::post(loop_.io(), [this] { take_in(); });
}

void Shell::take_in() {
  {
    const std::lock_guard lock(mutex_);
    queue_.swap(taking_);
  }
  if (taking_.size() >= most_commands_) taken_.notify_all();
  for (size_t i = 0; i < taking_.size(); ++i) {
    Command& command = taking_[i];
    const std::shared_ptr<Ticket> ticket = std::move(command.ticket);
    switch (command.kind) {
      case Command::Kind::kCall:
        begin(command.started, command.request, std::move(command.completion), ticket.get());
        command.request.payload = {};
        break;
      case Command::Kind::kRefuse: {
        Reply reply;
        reply.status = Status::kRefused;
        reply.reason = Refusal::kClientLimit;
        reply.text = client_limit_text(most_calls_);
        reply.finished = loop_.now();
        command.completion(std::move(reply));
        break;
      }
      case Command::Kind::kCancel:
        ticket->cancel_queued = false;
        cancel_here(*ticket);
        break;
    }
  }
  taking_.clear();
  taking_.shrink(kKeptAfterBurst);
}

void Shell::cancel_here(const Ticket& ticket) {
  for (uint64_t i = 0; i < ticket.count; ++i) session_.cancel(loop_.now(), ticket.first + i);
}

void Shell::run_completions() {
  if (session_.effects().completions.empty()) return;
  session_.effects().completions.swap(completing_);
  for (size_t i = 0; i < completing_.size(); ++i) {
    Complete& complete = completing_[i];
    const auto id = Slab<Call>::Id::of(static_cast<uint64_t>(complete.token));
    // The place is free before the handler runs: it usually calls again.
    Completion<Reply> completion = std::move(calls_[id].completion);
    calls_.give_back(id);
    if (complete.reply.status == Status::kNoBroker) complete.reply.text += ": " + brokers_.state();
    completion(std::move(complete.reply));
  }
  completing_.clear();
  completing_.shrink(kKeptAfterBurst);
}

void Shell::send_frames(net::Link& link) {
  Effects& effects = session_.effects();
  for (size_t i = 0; i < effects.submits.size(); ++i) link.send(effects.submits[i]);
  for (size_t i = 0; i < effects.cancels.size(); ++i) link.send(effects.cancels[i]);
  for (size_t i = 0; i < effects.acknowledges.size(); ++i) link.send(effects.acknowledges[i]);
  effects.clear_frames();
}

// ---- Time

void Shell::arm_timer() {
  const Time next = std::min(session_.next_deadline(), brokers_.next_deadline());
  if (next >= armed_) return;
  armed_ = next;
  timer_.expires_at(next);
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) on_timer();
  });
}

void Shell::on_timer() {
  armed_ = kNever;
  session_.tick(loop_.now());
  brokers_.tick(loop_.now());
}

void Shell::post_turn() {
  asio::post(loop_.io(), [] {});
}

// ---- Brokers

void Shell::broker_up(net::Link& link, uint64_t max_payload) {
  session_.link_up(loop_.now(), link.id(), max_payload);
  status_questions_.ask(link);
}

void Shell::broker_down() { session_.link_down(); }

bool Shell::broker_said(net::Link& link, wire::Message& message) {
  if (auto* reply = std::get_if<wire::Reply>(&message)) {
    session_.replied(loop_.now(), link.id(), *reply, link.payload_skipped());
    run_completions();
    return true;
  }
  if (const auto* status = std::get_if<wire::StatusReply>(&message))
    return status_questions_.answered(link, *status);
  return false;
}

// ---- Questions from other threads

std::string Shell::status_json(Duration timeout) {
  if (on_own_thread()) return {};
  const auto waiter = std::make_shared<StatusQuestions::Waiter>();
  asio::post(loop_.io(), [this, waiter] {
    status_questions_.add(waiter);
    if (net::Link* link = brokers_.current()) status_questions_.ask(*link);
  });
  if (waiter->wait_for(timeout / 2)) return waiter->take();
  // Nobody rules, it seems. A standby knows why.
  asio::post(loop_.io(), [this] {
    net::Link* link = brokers_.current() ? nullptr : brokers_.standby();
    if (link) status_questions_.ask(*link);
  });
  waiter->wait_for(timeout - timeout / 2);
  return waiter->take();
}

void Shell::on_thread(const std::function<void()>& action) {
  if (on_own_thread()) {
    action();
    return;
  }
  std::promise<void> done;
  asio::post(loop_.io(), [&] {
    action();
    done.set_value();
  });
  done.get_future().wait();
}

bool Shell::connected() {
  bool is = false;
  on_thread([&] { is = brokers_.current() != nullptr; });
  return is;
}

std::string Shell::connection() {
  std::string text;
  on_thread([&] { text = brokers_.state(); });
  return text;
}

ClientStats Shell::stats() {
  ClientStats stats;
  on_thread([&] {
    const SessionStats& from = session_.stats();
    stats = {.submitted = from.submitted,
             .resent = from.resent,
             .duplicated = from.duplicated,
             .repeated = from.repeated,
             .unexpected = from.unexpected,
             .late = from.late,
             .stale = from.stale,
             .failovers = brokers_.failovers()};
  });
  return stats;
}

}  // namespace redoubt::client
