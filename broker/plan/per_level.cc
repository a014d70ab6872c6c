// The per-level plan (S2); see plan.h.
#include "broker/state.h"

namespace redoubt::broker {

void plan_per_level(State& state, const Request& request, uint32_t wanted, Plan& plan) {
  pick(state, request.service(), wanted, {}, plan.now);
}

}  // namespace redoubt::broker
