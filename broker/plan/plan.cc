// Which policy plans a request; see plan.h.
#include "broker/plan/plan.h"

#include "broker/state.h"

namespace redoubt::broker {

using wire::Redundancy;

void plan_first(State& state, Request& request, Time now, uint32_t wanted, Plan& plan) {
  switch (request.policy().redundancy) {
    case Redundancy::kPaths:
      // Beyond the first level those that have been chosen walk on; what is left of a request whose paths are
      // unknown or broken goes level by level.
      if (request.level == 0 && wanted > 1) return plan_paths(state, request, wanted, plan);
      return plan_per_level(state, request, 1, plan);
    case Redundancy::kBackup:
      return plan_backup(state, request, now, plan);
    case Redundancy::kSpare:
      return plan_spare(state, request, plan);
    case Redundancy::kHedge:
      return plan_hedge(state, request, now, plan);
    case Redundancy::kSingle:
      return plan_per_level(state, request, 1, plan);
    case Redundancy::kAuto:
      return plan_auto(state, request, now, plan);
    case Redundancy::kDefault:
    case Redundancy::kPerLevel:
      return plan_per_level(state, request, wanted, plan);
  }
}

void plan_further(State& state, Request& request, Time now, Plan& plan) {
  if (request.policy().redundancy == Redundancy::kAuto) return plan_auto_rescue(state, request, now, plan);
  const ReplicaList out = holders(state, request);
  if (request.policy().redundancy == Redundancy::kBackup) {
    const Replica* replica = state.replicas.find(request.reserved);
    const bool there = replica && !replica->leaving && !replica->unheard && replica->has_room();
    if (there) plan.now.push_back({request.reserved});
    if (!there) pick(state, request.service(), 1, out, plan.now);
    return;
  }
  ReplicaList leave_out = out;
  leave_out.insert(leave_out.end(), request.failed.begin(), request.failed.end());
  pick(state, request.service(), 1, leave_out, plan.now);
  // As many as it asked for, one after the other; two if it did not say.
  const uint32_t most = std::max(2u, request.levels[request.level].copies);
  const Duration delay = hedge_delay(state.services[request.service()]);
  if (delay <= Duration::zero() || request.copies.size() + plan.now.size() >= most) return;
  // Where nobody can take one it is tried ever more rarely.
  const Duration waited = plan.now.empty() ? now - request.first_sent : Duration::zero();
  plan.further = later(now, std::max(delay, waited));
}

}  // namespace redoubt::broker
