// halt_siblings: what happens to copies that are no longer needed, by the request's disposal. A halt is a
// hint: the copy's place is free only when its replica says so.
#include "broker/steps.h"

namespace redoubt::broker {

void halt_siblings(Turn& turn, Request& request, CopyId except) {
  const bool halts =
      request.disposal == wire::Disposal::kOnCompletion || request.disposal == wire::Disposal::kOnStart;
  if (!halts) return;  // they expire by themselves, or run to their end
  State& state = turn.state;
  for (const CopyId id : request.copies) {
    Copy& copy = state.copies[id];
    if (id == except || copy.halted) continue;
    copy.halted = true;
    Replica& replica = state.replicas[copy.replica];
    replica.last_sent = turn.now;
    SendHalt halt{replica.link, {}};
    halt.halt.copies.push_back(id.number());
    turn.effects.emplace_back(std::move(halt));
  }
}

}  // namespace redoubt::broker
