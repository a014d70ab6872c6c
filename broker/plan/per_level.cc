// The per-level plan (S2); see plan.h.
#include "broker/plan/plan.h"

namespace redoubt::broker {

void plan_per_level(State& state, const Request& request, uint32_t wanted, Plan& plan) {
  if (request.copies.empty() && request.failed.empty()) {
    pick(state, request.service(), wanted, {}, plan);
    return;
  }
  ReplicaList leave_out;
  for (const CopyId copy : request.copies) leave_out.push_back(state.copies[copy].replica);
  const auto holders = static_cast<std::ptrdiff_t>(leave_out.size());
  leave_out.insert(leave_out.end(), request.failed.begin(), request.failed.end());
  pick(state, request.service(), wanted, leave_out, plan);
  if (plan.empty() && !request.failed.empty()) pick_loaded(state, request.service(), leave_out, plan);
  if (!plan.empty()) return;
  leave_out.resize(static_cast<size_t>(holders));
  pick(state, request.service(), wanted, leave_out, plan);
}

}  // namespace redoubt::broker
