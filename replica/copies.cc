// The queue and the workers: how a copy comes, waits, runs and ends; see replica.h.
#include <algorithm>
#include <utility>

#include "core/utf8.h"
#include "replica/replica.h"
#include "wire/limits.h"

namespace redoubt::replica {

using wire::Fate;

namespace {

uint64_t to_ns(Duration duration) {
  return duration > Duration::zero() ? static_cast<uint64_t>(duration.count()) : 0;
}

}  // namespace

void Replica::on(Turn& turn, CopyArrived& event) {
  Peer* peer = find(event.link);
  if (!peer) return;
  wire::Copy& copy = event.copy;
  if (peer->phase == Phase::kGreeted)
    return close(turn, *peer, wire::CloseReason::kOutOfOrder, "a copy before the welcome");
  peer->newest_sent_us = copy.sent_us;
  const Duration charged = peer->transit.excess(turn.now, copy.sent_us);
  if (copy.epoch < highest_) {
    ++counters_.stale;
    return;
  }
  highest_ = copy.epoch;
  if (table_.find(event.link.broker, copy.copy)) {
    ++counters_.duplicates;
    return;
  }

  const Origin origin{event.link, copy.copy, copy.epoch, copy.level};
  const Time deadline = turn.now + (wire::budget(copy.deadline_us) - charged);
  const Time limit = copy.limits_wait ? turn.now + (wire::budget(copy.wait_us) - charged) : kNever;
  const Time start_before = std::min(deadline, limit);
  if (refuse(turn, origin, event, charged)) return;
  if (turn.now >= start_before) return answer(turn, origin, {.fate = Fate::kExpired, .wait = charged});

  const CopyHandle handle = copies_.take();
  Held& held = copies_[handle];
  held.origin = origin;
  held.request = copy.request;
  held.service = copy.service;
  held.attempt = copy.attempt;
  held.payload = std::move(copy.payload);
  held.arrived = turn.now;
  held.deadline = deadline;
  held.start_before = start_before;
  held.charged = charged;
  held.max_result = peer->max_payload;
  held.tell_start = copy.tell_start;
  held.standing = Standing::kOwned;
  held.running = held.halted = held.announced = held.condemned = held.gives_way = false;
  held.phase_ends = copy.phase_us > 0 ? turn.now + (wire::budget(copy.phase_us) - charged) : kNever;
  held.extra = copy.extra;
  table_.add(event.link.broker, copy.copy, handle);
  if (!all_workers_busy() && queue_.empty()) return start(turn, handle);
  enqueue(handle);
  make_way(turn);
}

// A copy has come that must wait: one that would give way does.
void Replica::make_way(Turn& turn) {
  if (!extras_.empty()) stop(turn, extras_.last());
}

// A running copy is asked to end.
void Replica::stop(Turn& turn, CopyHandle copy) {
  Held& held = copies_[copy];
  if (std::exchange(held.gives_way, false)) extras_.erase(copies_, copy);
  if (!std::exchange(held.halted, true)) turn.effects.push_back(StopCopy{copy});
}

// Answers a copy that cannot be taken. True if it did.
bool Replica::refuse(Turn& turn, const Origin& origin, const CopyArrived& event, Duration charged) {
  const wire::Copy& copy = event.copy;
  Ending ending{.fate = Fate::kFailed, .wait = charged};
  if (leaving_ || (copy.extra && (all_workers_busy() || !queue_.empty()))) {
    ending.fate = Fate::kHaltedQueued;
  } else if (event.payload_skipped) {
    ending.text = "the payload is over the limit of " +
                  std::to_string(peers_[origin.link.broker].max_payload) + " bytes";
  } else if (copy.service >= settings_.services.size()) {
    ending.text = "replica has no service number " + std::to_string(copy.service);
  } else if (queued() >= settings_.queue_limit && all_workers_busy() && extras_.empty()) {
    // No failure of the service: the broker does not know of all that is here.
    ending.fate = Fate::kHaltedQueued;
  } else {
    return false;
  }
  answer(turn, origin, std::move(ending));
  return true;
}

// A hint: what is not held here (any more) needs no answer, it has had one.
void Replica::on(Turn& turn, HaltArrived& event) {
  Peer* peer = find(event.link);
  if (!peer) return;
  if (peer->phase == Phase::kGreeted)
    return close(turn, *peer, wire::CloseReason::kOutOfOrder, "a halt before the welcome");
  for (const uint64_t id : event.halt.copies) {
    if (const CopyHandle copy = table_.find(event.link.broker, id)) halt(turn, copy, event.halt.at_once);
  }
}

void Replica::halt(Turn& turn, CopyHandle copy, bool at_once) {
  Held& held = copies_[copy];
  if (held.phase_ends == kNever || at_once)
    return held.running ? stop(turn, copy) : end_queued(turn, copy, Fate::kHaltedQueued);
  // Two phases: what runs runs on, and later than in the first nothing goes for a sibling's sake.
  if (held.running || turn.now > held.phase_ends) return;
  held.condemned = true;
  heap_.set(copy, due_in_queue(held));
}

void Replica::on(Turn& turn, CopyStarted& event) {
  Held& held = copies_[event.copy];
  held.announced = true;
  if (held.standing == Standing::kOwned) send_started(turn, held);
}

void Replica::send_started(Turn& turn, const Held& held) {
  peers_[held.origin.link.broker].last_sent = turn.now;
  turn.effects.push_back(Send{held.origin.link, wire::Started{held.origin.copy, held.origin.epoch, load()}});
}

void Replica::on(Turn& turn, CopyEnded& event) {
  Held& held = copies_[event.copy];
  CHECK(held.running);
  --running_;
  held.running = false;
  if (std::exchange(held.gives_way, false)) extras_.erase(copies_, event.copy);
  if (held.standing == Standing::kUnwanted) {
    ++counters_.unwanted;
    forget(event.copy);
    return;
  }
  Ending ending = judge(held, event);
  if (held.detached()) return keep(turn, event.copy, std::move(ending));
  const Origin origin = held.origin;
  forget(event.copy);
  answer(turn, origin, std::move(ending));
}

// What the broker is told of a copy that a worker had.
Replica::Ending Replica::judge(const Held& held, CopyEnded& event) const {
  Ending ending;
  ending.wait = event.started_at - held.arrived + held.charged;
  if (event.outcome == Outcome::kExpired || event.outcome == Outcome::kSkipped) {
    ending.fate = event.outcome == Outcome::kExpired ? Fate::kExpired : Fate::kHaltedQueued;
    return ending;
  }
  ending.service = event.ended_at - event.started_at;
  ending.started_expired = event.started_at > held.deadline;
  if (event.outcome == Outcome::kFailed) {
    ending.fate = held.halted ? Fate::kHaltedRunning : Fate::kFailed;
    ending.text = readable(event.text, wire::kMaxTextBytes);
  } else if (event.result.size() > held.max_result) {
    ending = too_large(std::move(ending), event.result.size(), held.max_result);
  } else {
    // A success counts, also in spite of a halt: it may be the only one.
    ending.result = std::move(event.result);
  }
  return ending;
}

// The ending of a copy whose result may not travel.
Replica::Ending Replica::too_large(Ending ending, size_t bytes, uint64_t limit) {
  ending.fate = Fate::kFailed;
  ending.text = "result of " + std::to_string(bytes) + " bytes, the limit is " + std::to_string(limit);
  ending.result = {};
  return ending;
}

void Replica::answer(Turn& turn, const Origin& origin, Ending ending) {
  peers_[origin.link.broker].last_sent = turn.now;
  turn.effects.push_back(Send{origin.link, wire::Done{.copy = origin.copy,
                                                      .epoch = origin.epoch,
                                                      .level = origin.level,
                                                      .fate = ending.fate,
                                                      .text = std::move(ending.text),
                                                      .wait_ns = to_ns(ending.wait),
                                                      .service_ns = to_ns(ending.service),
                                                      .started_expired = ending.started_expired,
                                                      .load = load(),
                                                      .payload = std::move(ending.result)}});
}

void Replica::end_queued(Turn& turn, CopyHandle copy, Fate fate) {
  const Held& held = copies_[copy];
  if (held.detached()) return give_up(turn, copy);
  const Origin origin = held.origin;
  const Duration wait = turn.now - held.arrived + held.charged;
  leave_queue(copy);
  forget(copy);
  answer(turn, origin, {.fate = fate, .wait = wait});
}

void Replica::give_back_queue(Turn& turn) {
  while (!queue_.empty()) end_queued(turn, queue_.first(), Fate::kHaltedQueued);
}

void Replica::expire_queued(Turn& turn) {
  while (!heap_.empty() && heap_.top_key() <= turn.now) {
    const Held& held = copies_[heap_.top()];
    const bool condemned = held.condemned && held.phase_ends < held.start_before;
    end_queued(turn, heap_.top(), condemned ? Fate::kHaltedQueued : Fate::kExpired);
  }
}

// When a copy that still waits goes by itself.
Time Replica::due_in_queue(const Held& held) const {
  return held.condemned ? std::min(held.start_before, held.phase_ends) : held.start_before;
}

void Replica::return_from_vacation(Turn& turn) {
  while (!returns_.empty() && returns_.top() <= turn.now) returns_.pop();
}

// Who is free takes the next in the queue; who finds nothing goes on vacation, if that is the custom.
void Replica::employ_workers(Turn& turn) {
  while (!queue_.empty() && !all_workers_busy()) {
    const CopyHandle copy = queue_.first();
    leave_queue(copy);
    start(turn, copy);
  }
  if (!settings_.vacation || leaving_) return;
  while (running_ + returns_.size() < settings_.workers) {
    const Duration away = settings_.vacation->sample(random_);
    returns_.push(later(turn.now, std::max<Duration>(away, std::chrono::microseconds(1))));
  }
}

void Replica::start(Turn& turn, CopyHandle copy) {
  Held& held = copies_[copy];
  CHECK(turn.now < held.start_before);
  held.running = true;
  ++running_;
  if (held.detached()) detached_.set(copy, held.given_up);
  held.gives_way = held.extra && !held.detached();
  if (held.gives_way) extras_.push_back(copies_, copy);
  turn.effects.push_back(StartCopy{.copy = copy,
                                   .service = held.service,
                                   .level = held.origin.level,
                                   .attempt = held.attempt,
                                   .request = held.request,
                                   .payload = std::move(held.payload),
                                   .start_before = held.start_before,
                                   .deadline = held.deadline,
                                   .max_result = held.max_result,
                                   .tell_start = held.tell_start});
}

void Replica::enqueue(CopyHandle copy) {
  queue_.push_back(copies_, copy);
  heap_.set(copy, due_in_queue(copies_[copy]));
}

void Replica::leave_queue(CopyHandle copy) {
  heap_.erase(copy);
  queue_.erase(copies_, copy);
}

void Replica::forget(CopyHandle copy) {
  Held& held = copies_[copy];
  if (held.standing == Standing::kOwned) table_.erase(held.origin.link.broker, held.origin.copy);
  held.payload = {};
  held.ending.reset();
  copies_.give_back(copy);
}

}  // namespace redoubt::replica
