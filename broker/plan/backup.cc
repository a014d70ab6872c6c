// The backup plan: a primary copy now, and by the request's class a backup for later. With S the time at
// which the primary is expected to start, P what a level takes and D the deadline, the backup starts at
// S + (1 - class) * (D - P - S), with the probability min(1, K * class). It goes to another replica than the
// primary, at a time that is kept free for it there; see slots.h.
#include "broker/state.h"

namespace redoubt::broker {
namespace {

constexpr uint32_t kLookedAt = 8;  // replicas that are tried for a free time

uint64_t pair_of(ReplicaId primary, ReplicaId backup) {
  return (uint64_t{primary.slot} + 1) << 32 | (uint64_t{backup.slot} + 1);
}

Duration expected_service(const Request& request, const Service& service, const Replica& replica) {
  if (request.service_time > Duration::zero()) return request.service_time;
  if (replica.service_ns > 0) return Duration(static_cast<int64_t>(replica.service_ns));
  return service.mean_service();
}

// What of the budget this level may use, when the levels behind it take as long as is usual there.
Time level_deadline(const State& state, const Request& request, Time now, Duration own) {
  double behind = 0;
  for (uint32_t i = request.level + 1; i < request.levels.size(); ++i) {
    const Duration there = request.service_time > Duration::zero()
                               ? request.service_time
                               : state.services[request.levels[i].service].mean_service();
    behind += to_seconds(there);
  }
  const double all = behind + to_seconds(own);
  const auto left = static_cast<double>(request.levels.size() - request.level);
  const double share = all > 0 ? to_seconds(own) / all : 1 / left;
  return now + std::chrono::duration_cast<Duration>((request.deadline - now) * share);
}

// The other replicas, those that are free first.
Targets others(State& state, const Request& request, ReplicaId primary) {
  Targets targets;
  pick(state, request.service(), kLookedAt, {primary}, targets);
  if (targets.empty()) pick_loaded(state, request.service(), {primary}, targets);
  return targets;
}

void reserve(State& state, Request& request, ReplicaId primary_id, Time now, Plan& plan) {
  const Replica& primary = state.replicas[primary_id];
  const Duration service = expected_service(request, state.services[request.service()], primary);
  if (service <= Duration::zero()) return;  // nothing is known yet
  const double ahead = to_seconds(service) * (primary.load() / primary.workers);
  if (ahead >= to_seconds(request.deadline - now)) return;
  const Time starts = now + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(ahead));
  const Time latest = level_deadline(state, request, now, service) - service;
  const Duration window = latest - starts;
  if (window < Duration::zero()) return;  // a backup could not be in time
  const double share = 1 - request.service_class / 1000.0;
  const Time wished = starts + std::chrono::duration_cast<Duration>(window * share);
  for (const Target& target : others(state, request, primary_id)) {
    const uint64_t pair = pair_of(primary_id, target.replica);
    const Time from = state.slots.earliest(pair, wished, service);
    if (from > latest) continue;
    plan.further = from;
    plan.reserved = target.replica;
    request.slot = {pair, from, later(from, service)};
    state.slots.take(request.slot);
    ++state.counters.backups_planned;
    return;
  }
  ++state.counters.backups_without_slot;
}

}  // namespace

void plan_backup(State& state, Request& request, Time now, Plan& plan) {
  pick(state, request.service(), 1, {}, plan.now);
  if (plan.now.empty()) return;
  const double probability = state.settings.backup_factor * request.service_class / 1000.0;
  if (probability < 1 && !state.random.chance(probability)) return;
  reserve(state, request, plan.now.front().replica, now, plan);
}

}  // namespace redoubt::broker
