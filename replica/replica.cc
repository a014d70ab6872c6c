// One step of the replica; see replica.h. What each event does stands in links.cc, copies.cc and failover.cc.
#include "replica/replica.h"

#include <algorithm>

namespace redoubt::replica {

Replica::Replica(Settings settings)
    : settings_(std::move(settings)),
      random_(settings_.seed),
      peers_(settings_.brokers),
      // Beyond those that run and those that wait, one for every extra copy that is giving way.
      table_(settings_.queue_limit + 2 * settings_.workers) {
  CHECK(settings_.brokers > 0 && settings_.workers > 0 && !settings_.services.empty());
  if (settings_.vacation && settings_.vacation->mean() == Duration::zero()) settings_.vacation.reset();
}

void Replica::step(Time now, Event event, Effects& effects) {
  CHECK(now >= newest_);
  newest_ = now;
  Turn turn{now, effects};
  const Time due = next_deadline();
  if (due < now) forgive_own_stall(now, due);
  note_heard(now, event);
  if (due <= now) {
    return_from_vacation(turn);
    expire_queued(turn);
    give_up_overdue(turn);
    keep_alive(turn);
  }
  std::visit([&](auto& happened) { on(turn, happened); }, event);
  employ_workers(turn);
  end_if_done(turn);
}

Time Replica::next_deadline() const {
  Time next = heap_.empty() ? kNever : heap_.top_key();
  if (!detached_.empty()) next = std::min(next, detached_.top_key());
  if (!returns_.empty()) next = std::min(next, returns_.top());
  for (const Peer& peer : peers_) next = std::min(next, due(peer));
  if (leaving_ && !finished_ && running_ == 0) next = std::min(next, farewell_until_);
  return next;
}

}  // namespace redoubt::replica
