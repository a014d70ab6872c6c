// dispatch_further: copies of a request beyond its first: those whose time has come (hedge, backup), and for
// auto those that rescue a request, or that workers run who have nothing else to do. What they may cost is
// the allowance's.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

// Whether extra copies of the request are capped: those that the manager thinks of itself, and where a cap is
// set.
bool is_capped(const Service& service, const Request& request) {
  return request.policy().redundancy == wire::Redundancy::kHedge || service.policy.extra_share.has_value();
}

// Whether the request still asks for another copy.
bool is_hungry(const State& state, const Hungry& one) {
  const Request* request = state.requests.find(one.request);
  return request && request->level == one.level && !request->copies.empty() &&
         request->phase == Request::Phase::kRunning;
}

// The hungry one to which a copy at this replica is worth most, of those that have waited longest.
RequestHandle hungriest(Turn& turn, Service& service, ReplicaId replica, double& worth) {
  State& state = turn.state;
  RequestHandle best;
  worth = 0;
  size_t looked_at = 0;
  std::erase_if(service.hungry, [&](const Hungry& one) {
    if (looked_at >= kHungryLookedAt) return false;
    if (!is_hungry(state, one)) return true;
    ++looked_at;
    const double here = worth_of_extra(state, state.requests[one.request], replica, turn.now);
    if (here > worth && is_confirmed(state, state.requests[one.request].progress_seq))
      worth = here, best = one.request;
    return false;
  });
  return best;
}

}  // namespace

void rescue(Turn& turn, ServiceId service_id) {
  State& state = turn.state;
  Service& service = state.services[service_id];
  while (!service.urgent.empty() && !service.ready.empty()) {
    const Hungry one = service.urgent.front();
    service.urgent.pop_front();
    if (!is_hungry(state, one)) continue;
    const Request& request = state.requests[one.request];
    if (worth_of_rescue(state, request, turn.now) <= 0) continue;
    Targets& now = state.plan.now;
    state.plan.clear();
    plan_auto_again(state, request.service(), holders(state, request), state.plan);
    if (now.empty()) continue;
    if (!service.spend_extra(true)) {
      ++state.counters.allowance_spent;
      continue;
    }
    ++state.counters.hedges;
    send_copy(turn, one.request, now.front());
  }
}

void feed(Turn& turn, ServiceId service_id) {
  State& state = turn.state;
  Service& service = state.services[service_id];
  while (service.queue.empty() && !service.hungry.empty() && !service.ready.empty()) {
    const ReplicaId idle = service.ready.top().replica;
    if (!state.replicas[idle].has_idle_worker() || state.replicas[idle].declined) return;
    double worth = 0;
    const RequestHandle id = hungriest(turn, service, idle, worth);
    if (!id) return;
    if (!service.spend_extra(!stops_at_once(service))) return;  // the allowance is used up
    state.replicas[idle].extra_worth = worth;
    send_copy(turn, id, {idle, true});
  }
}

uint32_t allowed(State& state, const Request& request, uint32_t extra) {
  Service& service = state.services[request.service()];
  uint32_t granted = 0;
  while (granted < extra && service.spend_extra(is_capped(service, request))) ++granted;
  state.counters.allowance_spent += extra - granted;
  return granted;
}

void give_back(State& state, const Request& request, uint32_t extra) {
  Service& service = state.services[request.service()];
  for (; extra > 0; --extra) service.give_back_extra(is_capped(service, request));
}

void be_hungry(Turn& turn, RequestHandle id) {
  const Request& request = turn.state.requests[id];
  Service& service = turn.state.services[request.service()];
  if (service.hungry.size() >= kMaxHungry) service.hungry.pop_front();
  service.hungry.push_back({id, request.level});
}

void dispatch_further(Turn& turn, RequestHandle id) {
  State& state = turn.state;
  Request& request = state.requests[id];
  if (!is_confirmed(state, request.progress_seq)) {
    request.further_at = later(turn.now, kLookAgain);
    return state.set_deadline(id);
  }
  const bool backup = request.policy().redundancy == wire::Redundancy::kBackup;
  Plan& plan = state.plan;
  plan.clear();
  if (request.copies.size() < wire::kMaxCopies) plan_further(state, request, turn.now, plan);
  // Only what leaves is paid for.
  if (!plan.now.empty() && allowed(state, request, 1) == 0) plan.clear();
  request.further_at = plan.further;
  request.reserved = {};
  for (const Target& target : plan.now) {
    ++(backup ? state.counters.backups_sent : state.counters.hedges);
    send_copy(turn, id, target);
  }
  state.set_deadline(id);
  if (!plan.urgent) return;
  Service& service = state.services[state.requests[id].service()];
  if (service.urgent.size() >= kMaxHungry) service.urgent.pop_front();
  service.urgent.push_back({id, state.requests[id].level});
  state.stir(request.service());
}

}  // namespace redoubt::broker
