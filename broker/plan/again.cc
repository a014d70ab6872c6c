// Another copy of a request, because one has failed or was lost, or because nobody knows any more what a plan
// had been. What one replica has failed goes to one that has not, even if that is loaded: else a broken
// replica, being always free, would get all that is tried again. A replica that holds a copy of the request
// gets no second.
#include "broker/state.h"

namespace redoubt::broker {
namespace {

// Those that are kept for it, and only for what was lost.
void pick_for_lost(State& state, const Request& request, const ReplicaList& leave_out, Plan& plan) {
  if (request.lost) pick_spare(state, request.service(), leave_out, plan.now);
}

// Where the time for its backup is kept.
bool take_reserved(const State& state, const Request& request, const ReplicaList& leave_out, Plan& plan) {
  const Replica* replica = state.replicas.find(request.reserved);
  if (!replica || replica->leaving || replica->unheard || !replica->has_room()) return false;
  if (std::find(leave_out.begin(), leave_out.end(), request.reserved) != leave_out.end()) return false;
  plan.now.push_back({request.reserved});
  return true;
}

// Rather to one that is known to work, even if that is loaded.
void pick_proven(State& state, const Request& request, uint32_t wanted, ReplicaList leave_out, Plan& plan) {
  for (const ReplicaId member : state.services[request.service()].members)
    if (!state.replicas[member].proven()) leave_out.push_back(member);
  pick(state, request.service(), wanted, leave_out, plan.now);
  if (plan.now.empty()) pick_loaded(state, request.service(), leave_out, plan.now);
}

}  // namespace

void plan_again(State& state, const Request& request, uint32_t wanted, Plan& plan) {
  ReplicaList leave_out = holders(state, request);
  const auto holding = static_cast<std::ptrdiff_t>(leave_out.size());
  leave_out.insert(leave_out.end(), request.failed.begin(), request.failed.end());
  if (take_reserved(state, request, leave_out, plan)) return;
  if (request.policy().redundancy == wire::Redundancy::kAuto)
    plan_auto_again(state, request.service(), leave_out, plan);
  if (!plan.now.empty()) return;
  if (request.policy().redundancy == wire::Redundancy::kSpare) pick_for_lost(state, request, leave_out, plan);
  if (plan.now.empty() && request.attempts > 0) pick_proven(state, request, wanted, leave_out, plan);
  if (plan.now.empty()) pick(state, request.service(), wanted, leave_out, plan.now);
  if (plan.now.empty()) pick_for_lost(state, request, leave_out, plan);
  if (plan.now.empty() && !request.failed.empty()) pick_loaded(state, request.service(), leave_out, plan.now);
  if (!plan.now.empty()) return;
  leave_out.resize(static_cast<size_t>(holding));
  pick(state, request.service(), wanted, leave_out, plan.now);
  if (plan.now.empty()) pick_for_lost(state, request, leave_out, plan);
}

}  // namespace redoubt::broker
