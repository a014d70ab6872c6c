// The hedge plan: one copy, and another one when it has taken longer than a chosen share of the service's
// requests do. After J. Dean and L. A. Barroso, The Tail at Scale, CACM 56 (2), 2013. The delay has fixed
// bounds and the extra copies have an allowance: what is measured under hedging must not feed on itself.
#include "broker/state.h"

namespace redoubt::broker {
namespace {

constexpr double kEnough = 16;   // answers from which a percentile is one
constexpr uint64_t kEvery = 16;  // answers after which it is worked out again

}  // namespace

Duration hedge_delay(Service& service) {
  if (service.answer_times.weight() < kEnough) return Duration::zero();
  if (service.hedge_delay == Duration::zero() || service.answers % kEvery == 0) {
    const ServicePolicy& policy = service.policy;
    service.hedge_delay = std::clamp(service.answer_times.quantile(policy.hedge_percentile),
                                     policy.hedge_least, policy.hedge_most);
  }
  return service.hedge_delay;
}

void plan_hedge(State& state, const Request& request, Time now, Plan& plan) {
  pick(state, request.service(), 1, {}, plan.now);
  const Duration delay = hedge_delay(state.services[request.service()]);
  if (!plan.now.empty() && delay > Duration::zero()) plan.further = later(now, delay);
}

}  // namespace redoubt::broker
