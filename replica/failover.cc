// Copies that outlive their manager: they wait, run and end without one, are offered to the next that rules,
// and adopted, dropped or given up; see replica.h. Which copies it adopts is the manager's business.
#include <algorithm>
#include <utility>

#include "replica/replica.h"
#include "wire/limits.h"

namespace redoubt::replica {

using wire::CloseReason;
using wire::Fate;

void Replica::on(Turn& turn, AnnounceArrived& event) {
  Peer* peer = find(event.link);
  if (!peer) return;
  if (peer->phase == Phase::kGreeted)
    return close(turn, *peer, CloseReason::kOutOfOrder, "an announce before the welcome");
  peer->newest_sent_us = event.announce.sent_us;
  peer->transit.excess(turn.now, event.announce.sent_us);
  if (event.announce.rules)
    begin_rule(turn, *peer, event.announce.epoch);
  else
    orphan_copies_of(turn, peer->link);  // it could do nothing with their results
}

void Replica::on(Turn& turn, AdoptArrived& event) {
  Peer* peer = find(event.link);
  if (!peer) return;
  if (peer->phase == Phase::kGreeted)
    return close(turn, *peer, CloseReason::kOutOfOrder, "an adopt before the welcome");
  if (event.link != manager_ || event.adopt.epoch != rule_ || rule_ < highest_) {
    ++counters_.adopts;
    return;
  }
  if (!numbers_are_free(event.adopt))
    return close(turn, *peer, CloseReason::kOutOfOrder, "an adopt that numbers two copies alike");

  for (const wire::Adopted& adopted : event.adopt.adopted) adopt(turn, *peer, adopted);
  for (const uint64_t handle : event.adopt.dropped) disown(turn, handle);
}

// A broker says that it is the manager.
void Replica::begin_rule(Turn& turn, Peer& peer, wire::Epoch epoch) {
  if (epoch < highest_) {
    const std::string number = std::to_string(epoch.number);
    const std::string why = epoch.number == highest_.number
                                ? "another rules by the same epoch, " + number + ": its copies are dropped"
                                : "it rules by epoch " + number + ", but epoch " +
                                      std::to_string(highest_.number) +
                                      " has been heard: its copies are dropped (if its group was made anew, "
                                      "start this replica anew)";
    turn.effects.push_back(Warn{peer.link, why});
    if (epoch.number < highest_.number && !leaving_) decline(turn, peer);
    return;
  }
  if (peer.declined) return close(turn, peer, CloseReason::kReplaced, "the replica comes back to serve you");
  if (peer.link == manager_ && epoch == rule_) return;
  withdraw_offer();
  highest_ = rule_ = epoch;
  manager_ = peer.link;
  offer(turn, peer);
}

// A manager whose copies are dropped had better not send any: it takes them for lost only with the replica.
// Should it rule rightly later, the replica registers anew.
void Replica::decline(Turn& turn, Peer& peer) {
  if (std::exchange(peer.declined, true)) return;
  turn.effects.push_back(Send{peer.link, wire::Leaving{}});
}

// It waits for this word, so it is said even when nothing is held. Whatever was given by an earlier manager
// is offered, also on a link that still stands: that manager may merely have been stopped, and would not know
// that its rule is over. Its copies leave the table, for its numbers can come again from the new rule.
void Replica::offer(Turn& turn, Peer& peer) {
  wire::Holding holding;
  copies_.each([&](CopyHandle copy, Held& held) {
    if (held.standing == Standing::kOwned && held.origin.epoch < rule_) detach(turn, copy);
    if (!copies_.find(copy) || !held.detached()) return;
    held.standing = Standing::kOffered;
    if (holding.held.size() == wire::kMaxHeld) {
      holding.more = true;
      turn.effects.push_back(Send{peer.link, std::move(holding)});
      holding = {};
    }
    holding.held.push_back({.handle = copy.number(),
                            .request = held.request,
                            .level = held.origin.level,
                            .service = held.service,
                            .attempt = held.attempt,
                            .running = !held.waits()});
  });
  peer.last_sent = turn.now;
  turn.effects.push_back(Send{peer.link, std::move(holding)});
}

// Who was offered copies cannot answer any more.
void Replica::withdraw_offer() {
  if (manager_ == LinkId{}) return;
  copies_.each([](CopyHandle, Held& held) {
    if (held.standing == Standing::kOffered) held.standing = Standing::kOrphan;
  });
  gone_.clear();
  manager_ = {};
}

void Replica::orphan_copies_of(Turn& turn, LinkId link) {
  if (link == manager_) withdraw_offer();
  copies_.each([&](CopyHandle copy, Held& held) {
    if (held.standing == Standing::kOwned && held.origin.link == link) detach(turn, copy);
  });
}

// What its manager had halted is wanted by nobody, and extra copies only by whoever thought of them; a
// replica that leaves waits for nobody.
void Replica::detach(Turn& turn, CopyHandle copy) {
  Held& held = copies_[copy];
  table_.erase(held.origin.link.broker, held.origin.copy);
  held.standing = Standing::kOrphan;
  held.given_up = std::min(held.deadline, later(turn.now, kOrphanTime));
  if (std::exchange(held.gives_way, false)) extras_.erase(copies_, copy);
  if (held.waits())
    heap_.set(copy, std::min(due_in_queue(held), held.given_up));
  else
    detached_.set(copy, held.given_up);
  if (held.halted || held.extra || leaving_ || held.given_up <= turn.now ||
      settings_.on_failover == OnFailover::kDiscard)
    give_up(turn, copy);
}

// A detached copy has ended. The oldest make room.
void Replica::keep(Turn& turn, CopyHandle copy, Ending ending) {
  const size_t bytes = ending.result.size() + ending.text.size();
  copies_[copy].ending = std::make_unique<Ending>(std::move(ending));
  kept_.push_back(copies_, copy);
  kept_bytes_ += bytes;
  if (bytes > kMaxKeptBytes) give_up(turn, copy);
  const size_t most = size_t{settings_.workers} + settings_.queue_limit;
  while (kept_.size() > most || kept_bytes_ > kMaxKeptBytes) give_up(turn, kept_.first());
}

void Replica::unkeep(CopyHandle copy) {
  const Ending& ending = *copies_[copy].ending;
  kept_.erase(copies_, copy);
  kept_bytes_ -= ending.result.size() + ending.text.size();
}

// Nobody is to hear of it any more, but a manager that has been offered it and adopts it hears that it is
// gone: it would count it as outstanding for ever.
void Replica::give_up(Turn& turn, CopyHandle copy) {
  Held& held = copies_[copy];
  CHECK(held.detached());
  if (held.standing == Standing::kOffered) gone_[copy.number()] = describe_gone(turn.now, held);
  if (!held.waits()) detached_.erase(copy);
  if (held.running) {
    held.standing = Standing::kUnwanted;
    if (!held.halted) turn.effects.push_back(StopCopy{copy});
    held.halted = true;
    return;
  }
  held.ending ? unkeep(copy) : leave_queue(copy);
  forget(copy);
}

Replica::Gone Replica::describe_gone(Time now, const Held& held) const {
  if (!held.waits()) return {.fate = Fate::kHaltedRunning, .level = held.origin.level};
  return {.fate = now >= held.start_before ? Fate::kExpired : Fate::kHaltedQueued,
          .level = held.origin.level,
          .wait = now - held.arrived + held.charged};
}

void Replica::give_up_overdue(Turn& turn) {
  while (!detached_.empty() && detached_.top_key() <= turn.now) give_up(turn, detached_.top());
}

void Replica::give_up_detached(Turn& turn) {
  while (!detached_.empty()) give_up(turn, detached_.top());
}

// Two copies of one broker must never have the same number.
bool Replica::numbers_are_free(const wire::Adopt& adopt) const {
  std::vector<uint64_t> numbers;
  for (const wire::Adopted& adopted : adopt.adopted) {
    if (table_.find(manager_.broker, adopted.copy)) return false;
    numbers.push_back(adopted.copy);
  }
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

void Replica::adopt(Turn& turn, const Peer& peer, const wire::Adopted& adopted) {
  const CopyHandle copy = CopyHandle::of(adopted.handle);
  Held* held = copies_.find(copy);
  Origin origin{peer.link, adopted.copy, rule_};
  if (!held || held->standing != Standing::kOffered) return adopt_gone(turn, origin, adopted.handle);

  origin.level = held->origin.level;
  if (!held->waits()) detached_.erase(copy);
  if (held->ending) {
    unkeep(copy);
    Ending ending = std::move(*held->ending);
    forget(copy);
    const size_t bytes = ending.result.size();
    if (bytes > peer.max_payload) ending = too_large(std::move(ending), bytes, peer.max_payload);
    return answer(turn, origin, std::move(ending));
  }
  held->origin = origin;
  held->standing = Standing::kOwned;
  held->max_result = peer.max_payload;
  table_.add(peer.link.broker, adopted.copy, copy);
  if (held->waits()) return heap_.set(copy, due_in_queue(*held));
  if (held->announced) send_started(turn, *held);
}

// It may be one that was given up while the answer was under way. Anything else it cannot have been offered.
void Replica::adopt_gone(Turn& turn, const Origin& origin, uint64_t handle) {
  const auto found = gone_.find(handle);
  if (found == gone_.end()) return;
  const Gone gone = found->second;
  gone_.erase(found);
  Origin its = origin;
  its.level = gone.level;
  answer(turn, its, {.fate = gone.fate, .wait = gone.wait});
}

void Replica::disown(Turn& turn, uint64_t handle) {
  const CopyHandle copy = CopyHandle::of(handle);
  gone_.erase(handle);
  Held* held = copies_.find(copy);
  if (!held || held->standing != Standing::kOffered) return;
  held->standing = Standing::kOrphan;
  give_up(turn, copy);
}

}  // namespace redoubt::replica
