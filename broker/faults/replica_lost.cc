// replica_lost: replicas come, leave and die. What a dead one held goes to others at once, as often as the
// attempts allow: a request that kills every replica it reaches must stop.
#include <algorithm>
#include <optional>
#include <utility>

#include "broker/steps.h"
#include "core/utf8.h"

namespace redoubt::broker {
namespace {

void leave_services(State& state, ReplicaId id) {
  Replica& replica = state.replicas[id];
  if (!replica.leaving && !replica.spare)
    for (const Membership& membership : replica.memberships)
      state.services[membership.service].workers -= replica.workers;
  replica.leaving = true;
  for (const Membership& membership : replica.memberships)
    if (state.services[membership.service].paced) note_typical(state, state.services[membership.service]);
  // Who has waited for this one waits for nobody.
  state.stir_all_of(replica);
  state.index_replica(id);
}

// Appends the request to `waiting` if no replica can take it now.
void copy_lost(Turn& turn, CopyId copy_id, const std::string& replica_name,
               std::vector<RequestHandle>& waiting) {
  State& state = turn.state;
  const Copy copy = state.copies[copy_id];
  state.remove_copy(copy_id);
  Counters::count(state.counters.copies, CopyFate::kLost);
  if (copy.stroll) state.strolls.give_back(copy.stroll);
  Request* request = state.requests.find(copy.request);
  if (!request || (request->level > copy.level && copy.path == 0)) return;
  if (!request->copies.erase(copy_id)) return;
  if (copy.path > 0 && path_broken(turn, *request, copy.path)) return;
  if ((copy.halted || copy.extra) && !request->copies.empty()) return;
  request->lost = true;
  count_attempt(turn, *request, replica_name + " was lost");
  if (request->attempts >= state.settings.attempts) {
    if (!request->copies.empty()) return;
    reply(turn, copy.request,
          {.status = wire::Status::kFailed,
           .text = "delivery limit: " + std::to_string(request->attempts) +
                   " executions failed or were lost with their replicas, the last with " + replica_name});
    return;
  }
  if (request->copies.empty()) request->started = false;
  ++state.counters.retried;
  if (!dispatch_again(turn, copy.request)) waiting.push_back(copy.request);
}

// Why this replica cannot be taken in, or nothing.
std::optional<wire::Goodbye> unwelcome(const State& state, const wire::Register& registration) {
  if (state.replicas.size() >= kMaxReplicas)
    return wire::Goodbye{wire::CloseReason::kOversize, "too many replicas: " + std::to_string(kMaxReplicas)};
  size_t unknown = 0;
  std::vector<std::string> names = registration.services;
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!is_one_line(names[i]))
      return wire::Goodbye{wire::CloseReason::kMalformed,
                           "a service's name must be UTF-8 without control characters"};
    if (i > 0 && names[i] == names[i - 1])
      return wire::Goodbye{wire::CloseReason::kMalformed, "service " + names[i] + " is named twice"};
    unknown += state.find_service(names[i]) ? 0u : 1u;
  }
  if (state.services.size() + unknown > kMaxServices)
    return wire::Goodbye{wire::CloseReason::kOversize,
                         "too many services: " + std::to_string(state.services.size()) + " names are known"};
  return std::nullopt;
}

}  // namespace

void replica_up(Turn& turn, const ReplicaUp& event) {
  State& state = turn.state;
  if (auto goodbye = unwelcome(state, event.registration)) {
    turn.effects.emplace_back(CloseLink{event.link, goodbye->reason, std::move(goodbye->text)});
    return;
  }
  const ReplicaId id = state.replicas.take();
  Replica& replica = state.replicas[id];
  replica = Replica{};
  replica.link = event.link;
  // It says what it holds of earlier managers' copies, if only that it holds nothing; before that it gets
  // none, for it may hold just that one.
  replica.unheard = state.took_over;
  if (replica.unheard) ++state.unheard_replicas;
  replica.name = event.hello.name;
  replica.address = event.address;
  replica.workers = event.registration.workers;
  replica.queue_limit = event.registration.queue_limit;
  replica.spare = event.registration.spare;
  const uint32_t given = state.settings.replica_threshold;
  replica.threshold = std::min(given ? given : 2 * replica.workers, replica.room());
  replica.lean = replica.workers;
  replica.last_heard = replica.last_sent = turn.now;
  replica.heard_sent_us = event.hello.sent_us;
  state.peers.set(event.link, {.client = {}, .replica = id});
  for (const std::string& name : event.registration.services) {
    const ServiceId service_id = *state.learn_service(name);
    Service& service = state.services[service_id];
    replica.memberships.push_back({service_id, kNowhere});
    service.offered = true;
    service.members.push_back(id);
    if (!replica.spare) service.workers += replica.workers;
  }
  state.index_replica(id);
  state.heartbeats.set(id, later(turn.now, state.settings.heartbeat));
  turn.effects.emplace_back(
      SendDummy{event.link, {.sent_us = to_us(turn.now), .echo_us = replica.heard_sent_us}});
  turn.effects.emplace_back(Note{Note::Kind::kReplicaJoined, replica.name, replica.address});
  state.stir_all_of(replica);
}

void replica_lost(Turn& turn, ReplicaId id, const std::string& why) {
  State& state = turn.state;
  Replica& replica = state.replicas[id];
  // Who has said goodbye and holds nothing is no loss.
  const bool left = replica.leaving && replica.copies.empty();
  leave_services(state, id);
  for (const Membership& membership : replica.memberships)
    std::erase(state.services[membership.service].members, id);
  state.heartbeats.erase(id);
  state.halts.erase(id);
  state.peers.erase(replica.link);
  if (std::exchange(replica.unheard, false)) --state.unheard_replicas;
  if (!left) ++state.counters.replicas_lost;
  turn.effects.emplace_back(
      Note{left ? Note::Kind::kReplicaLeft : Note::Kind::kReplicaLost, replica.name, why});
  const std::string name = replica.name;
  // Oldest first, so that what has waited longest is sent again first.
  std::vector<CopyId> lost = replica.copies;
  std::stable_sort(lost.begin(), lost.end(),
                   [&](CopyId a, CopyId b) { return state.copies[a].sent < state.copies[b].sent; });
  std::vector<RequestHandle> waiting;
  for (const CopyId copy : lost) copy_lost(turn, copy, name, waiting);
  for (const RequestHandle request : waiting)
    if (state.requests.find(request)) state.enqueue(request, turn.now, 1, true);
  CHECK(state.replicas[id].copies.empty());
  state.replicas[id] = Replica{};
  state.replicas.give_back(id);
}

void replica_leaving(Turn& turn, ReplicaId id) {
  State& state = turn.state;
  Replica& replica = state.replicas[id];
  if (replica.leaving) return;
  leave_services(state, id);
  turn.effects.emplace_back(Note{Note::Kind::kReplicaLeaving, replica.name, {}});
}

}  // namespace redoubt::broker
