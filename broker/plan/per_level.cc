// The per-level plan (S2); see plan.h.
#include "broker/plan/plan.h"

namespace redoubt::broker {

void plan_per_level(State& state, const Request& request, uint32_t wanted, Plan& plan) {
  if (request.copies.empty() && request.attempts == 0) {
    pick(state, request.service(), wanted, {}, plan);
    return;
  }
  ReplicaList leave_out;
  for (const CopyId copy : request.copies) leave_out.push_back(state.copies[copy].replica);
  const auto holders = static_cast<std::ptrdiff_t>(leave_out.size());
  leave_out.insert(leave_out.end(), request.failed.begin(), request.failed.end());
  if (request.attempts > 0) {
    // It was lost or failed before: rather to one that is known to work, even if that is loaded.
    const auto known = leave_out.size();
    for (const ReplicaId member : state.services[request.service()].members)
      if (!state.replicas[member].proven()) leave_out.push_back(member);
    pick(state, request.service(), wanted, leave_out, plan);
    if (plan.empty()) pick_loaded(state, request.service(), leave_out, plan);
    if (!plan.empty()) return;
    leave_out.resize(known);
  }
  pick(state, request.service(), wanted, leave_out, plan);
  if (plan.empty() && !request.failed.empty()) pick_loaded(state, request.service(), leave_out, plan);
  if (!plan.empty()) return;
  leave_out.resize(static_cast<size_t>(holders));
  pick(state, request.service(), wanted, leave_out, plan);
}

}  // namespace redoubt::broker
