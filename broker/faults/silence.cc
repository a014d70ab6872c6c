// silence: a replica that says nothing for dead-after is lost, though its connection stands. A broker that
// was itself stopped suspects itself first.
#include <algorithm>
#include <utility>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

Time due(const State& state, const Replica& replica) {
  return std::min(later(replica.last_sent, state.settings.heartbeat),
                  later(replica.last_heard, state.settings.dead_after));
}

}  // namespace

void heard_from(Turn& turn, ReplicaId id) { turn.state.replicas[id].last_heard = turn.now; }

void heartbeats(Turn& turn) {
  State& state = turn.state;
  for (uint32_t i = 0; i < kMaxTimeoutsAStep; ++i) {
    if (state.heartbeats.empty() || state.heartbeats.top_key() > turn.now) return;
    const ReplicaId id = state.heartbeats.top();
    Replica& replica = state.replicas[id];
    if (later(replica.last_heard, state.settings.dead_after) <= turn.now) {
      const std::string why =
          "said nothing for " + std::to_string(to_us(turn.now - replica.last_heard) / 1000) + " ms";
      turn.effects.emplace_back(CloseLink{replica.link, wire::CloseReason::kSilent, why});
      replica_lost(turn, id, why);
      continue;
    }
    if (later(replica.last_sent, state.settings.heartbeat) <= turn.now) {
      replica.last_sent = turn.now;
      turn.effects.emplace_back(SendDummy{
          replica.link, {.answer = true, .sent_us = to_us(turn.now), .echo_us = replica.heard_sent_us}});
    }
    if (replica.failure_rate > 0) {
      // What was broken may have been mended: it is tried again, a little at a time.
      replica.failure_rate = replica.failure_rate < 0.01 ? 0 : replica.failure_rate * 0.98;
      state.index_replica(id);
    }
    if (replica.spent_ns > 0 || replica.declined || replica.full) {
      // What it held besides may have gone.
      if (std::exchange(replica.full, false)) state.stir_all_of(replica);
      replica.declined = false;
      replica.spent_ns *= 0.99;
      replica.ended *= 0.99;
      state.index_replica(id);
    }
    state.heartbeats.set(id, due(state, replica));
  }
}

void forgive_silence(Turn& turn, Duration stood_still) {
  State& state = turn.state;
  if (state.settles_at > turn.now - stood_still) state.settles_at = later(state.settles_at, stood_still);
  state.replicas.each([&](ReplicaId, Replica& replica) { replica.last_heard = turn.now; });
  for (Follower& follower : state.followers)
    if (follower.mark_at != kNever) follower.mark_at = later(turn.now, state.settings.dead_after);
}

}  // namespace redoubt::broker
