// halt_siblings: what happens to copies that are no longer needed, by the request's disposal. A halt is a
// hint: the copy's place is free only when the replica says so. Halts for one replica leave together: at the
// end of the turn, or, where they take effect only when a first phase is over, shortly before that.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

void halt(Turn& turn, CopyId id, Time by) {
  State& state = turn.state;
  Copy& copy = state.copies[id];
  copy.halted = true;
  copy.halted_at = turn.now;
  Replica& replica = state.replicas[copy.replica];
  replica.halts.push_back(id.number());
  if (replica.halts_place != kNowhere) by = std::min(by, state.halts.key_at(replica.halts_place));
  if (replica.halts.size() >= kMaxHaltsKept) by = turn.now;
  state.halts.set(copy.replica, by);
}

}  // namespace

void halt_siblings(Turn& turn, Request& request, CopyId except) {
  for (const CopyId id : request.copies) {
    const Copy& copy = turn.state.copies[id];
    if (id == except || copy.halted) continue;
    switch (request.levels[copy.level].policy.disposal) {
      case wire::Disposal::kDefault:
      case wire::Disposal::kNone:
      case wire::Disposal::kExpire:
        continue;  // they expire by themselves, or run to their end
      case wire::Disposal::kTwoPhase:
        // Later than its first phase nothing is destroyed for a sibling's sake: the replica would not hear.
        if (turn.now < later(copy.sent, copy.phase))
          halt(turn, id, std::max(turn.now, later(copy.sent, copy.phase * 3 / 4)));
        continue;
      case wire::Disposal::kOnCompletion:
      case wire::Disposal::kOnStart:
        halt(turn, id, turn.now);
    }
  }
}

void halt_all(Turn& turn, Request& request) {
  for (LevelSpec& level : request.levels) level.policy.disposal = wire::Disposal::kOnCompletion;
  halt_siblings(turn, request, {});
  // In two phases their replicas would wait, or let them run; of an adopted one it is not known here.
  for (const CopyId id : request.copies) {
    const Copy& copy = turn.state.copies[id];
    if (copy.phase == Duration::zero() && !copy.adopted) continue;
    turn.effects.emplace_back(
        SendHalt{turn.state.replicas[copy.replica].link, {.copies = {id.number()}, .at_once = true}});
  }
}

void send_halts(Turn& turn) {
  State& state = turn.state;
  while (!state.halts.empty() && state.halts.top_key() <= turn.now) {
    const ReplicaId id = state.halts.top();
    Replica& replica = state.replicas[id];
    state.halts.erase(id);
    // Those that have ended meanwhile need none.
    std::erase_if(replica.halts,
                  [&](uint64_t copy) { return state.copies.find(CopyId::of(copy)) == nullptr; });
    for (size_t at = 0; at < replica.halts.size(); at += wire::kMaxBatch) {
      const auto from = replica.halts.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t many = std::min<size_t>(wire::kMaxBatch, replica.halts.size() - at);
      SendHalt halt{replica.link, {}};
      halt.halt.copies.assign(from, from + static_cast<std::ptrdiff_t>(many));
      replica.last_sent = turn.now;
      turn.effects.emplace_back(std::move(halt));
    }
    replica.halts.clear();
  }
}

}  // namespace redoubt::broker
