// The spare plan: one copy. What its replica loses runs on one that is kept for that (again.cc).
#include "broker/state.h"

namespace redoubt::broker {

void plan_spare(State& state, const Request& request, Plan& plan) {
  pick(state, request.service(), 1, {}, plan.now);
}

}  // namespace redoubt::broker
