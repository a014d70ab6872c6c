// The client's side of the protocol; see session.h. Frames are made in session_frames.cc.
#include "client/session.h"

#include <algorithm>
#include <cmath>

#include "client/words.h"
#include "wire/limits.h"

namespace redoubt::client {

namespace {
constexpr Duration kLongestBudget = wire::budget(wire::kMaxBudgetUs);

uint16_t thousandths(double share) { return static_cast<uint16_t>(std::lround(share * 1000)); }

wire::Policy policy_of(const Request& request) {
  wire::Policy policy;
  policy.redundancy = static_cast<wire::Redundancy>(request.redundancy);
  policy.disposal = static_cast<wire::Disposal>(request.disposal);
  if (policy.disposal == wire::Disposal::kTwoPhase) policy.first_phase = thousandths(request.first_phase);
  return policy;
}
}  // namespace

Session::Session(Duration overtime) : overtime_(overtime) {}

uint64_t Session::submit(Time started, const Request& request, Token token) {
  if (window_.size() >= kMaxUnsettled) {
    refuse(started, token, 0, Refusal::kClientLimit, client_limit_text(kMaxUnsettled));
    return 0;
  }
  const uint64_t seq = window_.end();
  window_.extend(seq + 1);
  answered_.open(seq);
  ++stats_.submitted;
  if (std::string wrong = what_is_invalid(request); !wrong.empty()) {
    refuse(started, token, seq, Refusal::kInvalid, std::move(wrong));
    leave(seq);
    return seq;
  }

  const Id id = pending_.take();
  window_[seq] = id;
  Pending& pending = pending_[id];
  pending.token = token;
  pending.started = started;
  pending.deadline = later(started, std::min<Duration>(request.deadline, kLongestBudget));
  pending.sent = false;
  deadlines_.set(id, pending.deadline);

  const wire::Policy policy = policy_of(request);
  wire::Request& to = pending.request;
  to.seq = seq;
  to.levels.resize(request.levels.size());
  for (size_t i = 0; i < request.levels.size(); ++i) {
    to.levels[i].service = request.levels[i].service;
    to.levels[i].copies = request.levels[i].copies;
    to.levels[i].policy = policy;
  }
  // A limit below a microsecond is still a limit.
  to.wait_limit_us = static_cast<uint64_t>(to_us(request.wait_limit + std::chrono::nanoseconds(999)));
  // What is not told costs no bytes.
  to.service_class =
      request.service_class == redoubt::Request{}.service_class ? 0 : thousandths(request.service_class);
  to.service_time_us = static_cast<uint64_t>(to_us(request.service_time));
  to.payload = request.payload;
  return seq;
}

void Session::cancel(Time now, uint64_t seq) {
  if (!window_.contains(seq) || !window_[seq]) return;
  const Id id = window_[seq];
  // A hint: what it would have stopped, a broker that never gets it stops at the deadline.
  if (pending_[id].sent && cancels_.size() < kMaxWaitingCancels) cancels_.push_back(seq);
  settle(now, id, Status::kCancelled).text = "cancelled by the caller";
}

void Session::link_up(Time now, uint64_t link, uint64_t max_payload) {
  CHECK(link != kNoLink);
  link_ = link;
  max_payload_ = max_payload;
  to_send_ = window_.begin();
  open_end_ = window_.end();
  owes_all_open_ = true;
  answered_.start_anew();
  for (uint64_t seq = window_.begin(); seq < window_.end(); ++seq)
    if (window_[seq] && pending_[window_[seq]].sent) answered_.may_repeat(seq);
  // Whoever is at the other end may not know what earlier links carried.
  acknowledged_ = 1;
  if (window_.begin() > acknowledged_) acknowledge_at_ = now;
}

void Session::link_down() {
  link_ = kNoLink;
  held_back_until_ = kNever;
}

void Session::replied(Time now, uint64_t link, wire::Reply& reply, bool result_skipped) {
  if (link != link_) {
    ++stats_.stale;
    return;
  }
  const uint64_t seq = reply.seq;
  const bool open = window_.contains(seq) && window_[seq];
  if (!answered_.knows(seq) || (open && !pending_[window_[seq]].sent)) {
    ++stats_.unexpected;
    return;
  }
  if (answered_.test(seq)) {
    // A manager that takes over may not have known that it was answered. It says so once.
    ++(answered_.take_earlier(seq) ? stats_.repeated : stats_.duplicated);
    return;
  }
  answered_.set(seq);
  if (!open) {
    ++stats_.late;
    return;
  }

  unacknowledged_bytes_ += reply.payload.size();
  const Id id = window_[seq];
  const Pending& pending = pending_[id];
  Reply& to = complete(now, pending.token, pending.started, seq, static_cast<Status>(reply.status));
  fill_reply(pending, reply, to);
  if (result_skipped) {
    to.status = Status::kFailed;
    to.text = "the result is over this client's limit of " + std::to_string(max_payload_) + " bytes";
  }
  deadlines_.erase(id);
  pending_[id].request.payload = {};
  pending_.give_back(id);
  leave(seq);
  ++unacknowledged_;
  acknowledge_at_ = unacknowledged_ >= kAcknowledgeCount || unacknowledged_bytes_ >= kAcknowledgeBytes
                        ? now
                        : now + kAcknowledgeDelay;
}

void Session::fill_reply(const Pending& pending, wire::Reply& from, Reply& to) const {
  to.reason = static_cast<Refusal>(from.reason);
  to.text.swap(from.text);
  to.payload = std::move(from.payload);
  to.level = from.level;
  to.running = from.running;
  to.answered = true;
  to.wait = wire::budget(from.wait_us);
  to.levels.resize(from.levels.size());
  for (size_t i = 0; i < from.levels.size(); ++i) {
    wire::LevelReport& report = from.levels[i];
    LevelTiming& level = to.levels[i];
    level.service.swap(report.service);
    level.replica.swap(report.replica);
    level.copies = report.copies;
    level.wait = wire::budget(report.wait_us);
    level.service_time = wire::budget(report.service_us);
  }
  if (to.status == Status::kExpired && to.text.empty())
    to.text = expiry_text(pending.request, to.level, to.running);
}

void Session::tick(Time now) {
  while (!deadlines_.empty() && deadlines_.top_key() <= now) expire(now, deadlines_.top());
}

void Session::expire(Time now, Id id) {
  const Pending& pending = pending_[id];
  const Duration deadline = pending.deadline - pending.started;
  const bool reached = pending.sent || link_ != kNoLink;
  Reply& reply = settle(now, id, reached ? Status::kExpired : Status::kNoBroker);
  reply.text = reached ? silence_text(deadline) : unreached_text(deadline);
}

void Session::stop(Time now) {
  for (uint64_t seq = window_.begin(); seq < window_.end(); ++seq)
    if (window_.contains(seq) && window_[seq])
      settle(now, window_[seq], Status::kCancelled).text = "the client was closed";
}

Time Session::next_deadline() const {
  Time next = deadlines_.empty() ? kNever : deadlines_.top_key();
  if (link_ != kNoLink) next = std::min(next, acknowledge_at_);
  return std::min(next, held_back_until_);
}

void Session::refuse(Time started, Token token, uint64_t seq, Refusal reason, std::string text) {
  Reply& reply = complete(started, token, started, seq, Status::kRefused);
  reply.reason = reason;
  reply.text = std::move(text);
  reply.levels.clear();
}

// Appends an outcome with every field but the levels set; the caller adds what it knows better.
Reply& Session::complete(Time now, Token token, Time started, uint64_t seq, Status status) {
  Complete& effect = effects_.completions.add();
  effect.token = token;
  Reply& reply = effect.reply;
  reply.status = status;
  reply.reason = Refusal::kNone;
  reply.text.clear();
  reply.payload = {};
  reply.level = 0;
  reply.running = false;
  reply.answered = false;
  reply.seq = seq;
  reply.wait = Duration::zero();
  // A call from another thread can be younger than the turn that takes it in.
  reply.latency = std::max<Duration>(now - started, Duration::zero());
  reply.finished = now;
  return reply;
}

// Ends a request without a broker's word.
Reply& Session::settle(Time now, Id id, Status status) {
  Pending& pending = pending_[id];
  const uint64_t seq = pending.request.seq;
  Reply& reply = complete(now, pending.token, pending.started, seq, status);
  reply.levels.clear();
  deadlines_.erase(id);
  pending.request.payload = {};
  pending_.give_back(id);
  leave(seq);
  if (acknowledge_at_ == kNever) acknowledge_at_ = now + kAcknowledgeDelay;
  return reply;
}

// The number is settled; the low-water mark moves if it was the lowest.
void Session::leave(uint64_t seq) {
  window_[seq] = Id{};
  if (seq != window_.begin()) return;
  uint64_t low = seq + 1;
  while (low < window_.end() && !window_[low]) ++low;
  window_.advance(low, [](const Id&) {});
}

}  // namespace redoubt::client
