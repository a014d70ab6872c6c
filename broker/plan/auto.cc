// The plan that the manager makes by itself, from what it measures. Four things decide together:
// late binding: a copy leaves when a worker is free for it, so that placement is decided as late as can be;
// extra copies on workers that have nothing else to do, which give way at once to whoever needs the worker;
// nothing for what can no longer finish, while others wait; and replicas that are slow or fail get a copy
// only where that is likelier to be in time than waiting for a better one.
#include "broker/state.h"

namespace redoubt::broker {
namespace {

constexpr double kRescued = 0.9;       // a copy that takes longer than this share of them is given up on
constexpr double kWorthRescue = 0.02;  // what another first copy must add to the request's chance
constexpr double kUnknown = 0.8;       // the chance that something is in time while nothing has been measured
constexpr double kGoodEnough = 0.0005;  // a risk that is not worth another copy
constexpr uint32_t kMostExtras = 7;     // of one request at a level
constexpr double kOdd = 2;              // a pace, in typical ones, from which a replica counts as slow
constexpr double kFails = 0.05;         // a share of failures from which it counts as failing
constexpr double kEnoughSeen = 8;       // executions from which a slow replica's own times count
// What of the success that a worker's time could bring there must be when a queue is long.
constexpr double kWorth = 0.9;

Duration scaled(Duration duration, double by) {
  return Duration(static_cast<int64_t>(static_cast<double>(duration.count()) * by));
}

// How much slower a replica is than is typical: 1 unless there is clear evidence.
double slowness(const Service& service, const Replica& replica) {
  if (service.typical_ns <= 0) return 1;
  const double pace = (replica.spent_ns + service.typical_ns) / (replica.ended + 1) / service.typical_ns;
  return pace >= kOdd ? pace : 1;
}

bool is_odd(const Service& service, const Replica& replica) {
  return slowness(service, replica) > 1 || replica.failure_rate > kFails;
}

// What a copy waits there for those before it. Who is sent ahead of a free worker is under way meanwhile.
Duration wait_at(const Service& service, const Replica& replica) {
  if (replica.load() < replica.workers) return Duration::zero();
  const double ahead = static_cast<double>(replica.load() - replica.workers + 1) / replica.workers;
  const double wait = ahead * slowness(service, replica) * service.typical_ns - service.round_trip_ns;
  return Duration(static_cast<int64_t>(std::max(wait, 0.0)));
}

// The chance that one more copy at this replica succeeds within the time.
double chance(const Service& service, const Replica& replica, Duration left) {
  const double slow = slowness(service, replica);
  left -= wait_at(service, replica);
  const bool own = slow > 1 && replica.times.weight() >= kEnoughSeen;
  const double in_time = own ? replica.times.share_within(left, kUnknown)
                             : service.service_times.share_within(scaled(left, 1 / slow), kUnknown);
  // What fails here can be tried again elsewhere, if there is time.
  const double again = replica.failure_rate > kFails
                           ? service.service_times.share_within(left - service.service_times.mean(), 0)
                           : 0;
  return in_time * (1 - replica.failure_rate) + replica.failure_rate * again;
}

// What is left for this level: the later ones take what is usual there.
Duration time_left(const State& state, const Request& request, Time now) {
  Duration left = request.deadline - now;
  left -= Duration(static_cast<int64_t>(state.services[request.service()].round_trip_ns));
  for (uint32_t i = request.level + 1; i < request.levels.size(); ++i)
    left -= state.services[request.levels[i].service].service_times.mean();
  return left;
}

// Successes that a worker's time brings, where it is spent on a copy with so much time left. One that is not
// in time is stopped, if it can be, and its worker idles until the next one comes.
double yield(const Service& service, Duration left) {
  const double in_time = service.service_times.share_within(left, kUnknown);
  const bool stops = stops_at_once(service);
  const double spent =
      to_seconds(stops ? service.service_times.mean_within(left) : service.service_times.mean());
  const double idle = stops ? (1 - in_time) * service.round_trip_ns / 1e9 : 0;
  return in_time / std::max(spent + idle, 1e-9);
}

// How full the queue is, from 0 to 1: two requests for every worker are a full one.
double crowd(const Service& service) {
  return std::min(1.0, service.queue.size() / (2.0 * std::max(service.workers, 1u)));
}

// Others wait, and a worker's time is better spent on them.
bool is_too_late(const State& state, const Service& service, const Request& request, ReplicaId best,
                 Time now) {
  // Nobody loses anything by its trying, and who tries nothing learns nothing.
  if (service.service_times.weight() < kEnoughSeen || service.queue.empty()) return false;
  const Duration left = time_left(state, request, now) - wait_at(service, state.replicas[best]);
  const Duration whole = left + (now - request.arrived);
  return yield(service, left) < kWorth * crowd(service) * yield(service, whole);
}

// The replica that is expected to be done first with one more. While others wait, all workers are busy, and
// what counts is that none idles for the time that the next copy is under way: one is sent ahead.
ReplicaId first_ready(const State& state, const Service& service) {
  if (!service.ready.empty()) return service.ready.top().replica;
  constexpr double kIdle = 0.01;  // of a service time
  const bool idles = service.typical_ns > 0 && service.round_trip_ns >= kIdle * service.typical_ns;
  if (service.queue.empty() || !idles || service.free.empty()) return {};
  const ReplicaId least = service.free.top().replica;
  return state.replicas[least].load() <= state.replicas[least].lean ? least : ReplicaId{};
}

// Where a copy goes now: to that one. An odd one comes last:
// then no other is ready, and nobody gets it where it is better to wait for one. Who waits makes all behind
// it wait: the queue's end is looked at.
ReplicaId choose(const State& state, const Service& service, const Request& request, ReplicaId best,
                 Duration left) {
  const Replica& odd = state.replicas[best];
  const uint32_t busy = service.workers - std::min(service.workers, service.odd_workers);
  if (!is_odd(service, odd) || busy == 0 || service.outstanding == 0) return best;
  // Who has waited for long already will rather wait on: workers may be stuck.
  const Duration wait =
      std::max(scaled(service.service_times.mean(), (service.queue.size() + 1.0) / busy), request.level_wait);
  const bool waits = service.service_times.share_within(left - wait, kUnknown) > chance(service, odd, left);
  return waits ? ReplicaId{} : best;
}

// The chance that a copy that has been out for so long will still be in time.
double chance_of(const State& state, const Service& service, const Copy& copy, Time now, Duration left) {
  const Replica& replica = state.replicas[copy.replica];
  const double slow = slowness(service, replica);
  const Duration age = scaled(now - copy.sent, 1 / slow);
  const RecentTimes& times = service.service_times;
  const double over = times.share_within(age, 0),
               in_time = times.share_within(age + scaled(left, 1 / slow), kUnknown);
  // Longer than anything that was seen: it may never end.
  if (over >= 1 - kGoodEnough) return 0;
  return std::max(0.0, in_time - over) / (1 - over) * (1 - replica.failure_rate);
}

// The chance that none of its copies will be in time.
double risk_of(const State& state, const Service& service, const Request& request, Time now, Duration left) {
  double risk = 1;
  for (const CopyId copy : request.copies)
    risk *= 1 - chance_of(state, service, state.copies[copy], now, left);
  return risk;
}

// When the request is looked at that has been out for so long: when it has taken longer than most do, then
// ever more rarely, for it may never end.
Time rescue_at(const Service& service, Time now, Duration out) {
  if (service.service_times.weight() < kEnoughSeen) return kNever;
  return later(now, std::max({kLookAgain, scaled(service.service_times.quantile(kRescued), 1.05), out}));
}

}  // namespace

bool stops_at_once(const Service& service) {
  constexpr double kShare = 0.1;
  constexpr double kEnough = 3;
  return static_cast<double>(service.stops) >= kEnough &&
         service.stop_ns <= kShare * service.typical_ns + 1e6;
}

uint64_t ready_key(const Service& service, const Replica& replica) {
  const double before = static_cast<double>(replica.load()) / replica.workers;
  double key = slowness(service, replica) * (1 + before) + replica.failure_rate * kFailureLoad;
  if (!replica.proven()) key += kUnprovenLoad;
  if (replica.declined) key += 1;
  if (is_odd(service, replica)) key += kOddLoad;
  // Where nobody has to give way, rather; or who is worth least.
  if (!replica.has_idle_worker()) key += 0.01 + 0.5 * replica.extra_worth;
  return static_cast<uint64_t>(key * static_cast<double>(kLoadUnit));
}

void note_pace(const Service& service, Replica& replica, double ns, bool ended) {
  constexpr double kKept = 1 - 1.0 / 32;
  // A rare long one must not make a slow replica.
  if (service.typical_ns > 0) ns = std::min(ns, 4 * service.typical_ns);
  replica.spent_ns = replica.spent_ns * kKept + ns;
  replica.ended = replica.ended * kKept + (ended ? 1 : 0);
}

void note_typical(State& state, Service& service) {
  std::vector<double>& paces = state.paces;
  paces.clear();
  service.odd_workers = 0;
  for (const ReplicaId member : service.members) {
    const Replica& replica = state.replicas[member];
    if (replica.leaving || replica.spare) continue;
    if (replica.ended >= 1) paces.push_back(replica.spent_ns / replica.ended);
    if (is_odd(service, replica)) service.odd_workers += replica.workers;
  }
  if (paces.empty()) return;
  const auto middle = paces.begin() + static_cast<std::ptrdiff_t>((paces.size() - 1) / 2);
  std::nth_element(paces.begin(), middle, paces.end());
  service.typical_ns = *middle;
}

void plan_auto(State& state, const Request& request, Time now, Plan& plan) {
  Service& service = state.services[request.service()];
  const ReplicaId best = first_ready(state, service);
  if (!best) return;
  plan.too_late = is_too_late(state, service, request, best, now);
  if (plan.too_late) return;
  const Duration left = time_left(state, request, now);
  const ReplicaId chosen = choose(state, service, request, best, left);
  if (!chosen) {
    // The less is left, the less it has to lose; and whom it waits for may be stuck.
    plan.further = later(now, std::max(kLookAgain, scaled(service.service_times.mean(), 0.25)));
    return;
  }
  plan.now.push_back({chosen});
  plan.hungry = true;
  plan.further = rescue_at(service, now, {});
}

void plan_auto_rescue(State& state, const Request& request, Time now, Plan& plan) {
  Service& service = state.services[request.service()];
  if (worth_of_rescue(state, request, now) < kWorthRescue) return;
  plan.urgent = true;
  plan.further = rescue_at(service, now, now - request.first_sent);
}

double worth_of_rescue(const State& state, const Request& request, Time now) {
  if (request.copies.size() > kMostExtras) return 0;
  const Service& service = state.services[request.service()];
  const Duration left = time_left(state, request, now);
  return risk_of(state, service, request, now, left) * service.service_times.share_within(left, kUnknown);
}

void plan_auto_again(State& state, ServiceId service_id, const ReplicaList& leave_out, Plan& plan) {
  Service& service = state.services[service_id];
  auto& aside = state.ready_aside;
  aside.clear();
  while (plan.now.empty() && !service.ready.empty()) {
    const Member member = service.ready.top();
    if (std::find(leave_out.begin(), leave_out.end(), member.replica) == leave_out.end()) {
      plan.now.push_back({member.replica});
      break;
    }
    aside.emplace_back(member, service.ready.top_key());
    service.ready.erase(member);
  }
  for (const auto& [member, key] : aside) service.ready.set(member, key);
}

double worth_of_extra(const State& state, const Request& request, ReplicaId id, Time now) {
  if (request.copies.size() > kMostExtras) return 0;
  for (const CopyId copy : request.copies)
    if (state.copies[copy].replica == id) return 0;
  const Service& service = state.services[request.service()];
  const Duration left = time_left(state, request, now);
  const double worth =
      risk_of(state, service, request, now, left) * chance(service, state.replicas[id], left);
  return worth < kGoodEnough ? 0 : worth;
}

}  // namespace redoubt::broker
