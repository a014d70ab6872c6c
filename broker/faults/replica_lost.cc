// replica_lost: replicas come, leave and die. What a dead one held goes to others at once, as often as the
// attempts allow: a request that kills every replica it reaches must stop.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

void leave_services(State& state, ReplicaId id) {
  Replica& replica = state.replicas[id];
  replica.leaving = true;
  state.index_replica(id);
}

void copy_lost(Turn& turn, CopyId copy_id, const std::string& replica_name) {
  State& state = turn.state;
  const Copy copy = state.copies[copy_id];
  state.remove_copy(copy_id);
  Counters::count(state.counters.copies, CopyFate::kLost);
  Request* request = state.requests.find(copy.request);
  if (!request || request->level != copy.level) return;
  std::erase(request->copies, copy_id);
  if (copy.halted && !request->copies.empty()) return;
  if (++request->attempts >= state.settings.attempts) {
    if (!request->copies.empty()) return;
    reply(turn, copy.request,
          {.status = wire::Status::kFailed,
           .text = "delivery limit: " + std::to_string(request->attempts) +
                   " executions failed or were lost with their replicas, the last with " + replica_name});
    return;
  }
  if (request->copies.empty()) request->started = false;
  ++state.counters.retried;
  checkpoint_add(turn, *request);
  dispatch_or_queue(turn, copy.request, 1, true);
}

// Why this replica cannot be taken in, or an empty text.
std::string unwelcome(State& state, const wire::Register& registration,
                      std::vector<Membership>& memberships) {
  if (state.replicas.size() >= kMaxReplicas) return "too many replicas: " + std::to_string(kMaxReplicas);
  for (const std::string& name : registration.services) {
    const ServiceId* service = state.learn_service(name);
    if (!service) return "too many services: " + std::to_string(kMaxServices) + " names are known";
    const auto same = [&](const Membership& membership) { return membership.service == *service; };
    if (std::any_of(memberships.begin(), memberships.end(), same))
      return "service " + name + " is named twice";
    memberships.push_back({*service, kNowhere});
  }
  return {};
}

}  // namespace

void replica_up(Turn& turn, const ReplicaUp& event) {
  State& state = turn.state;
  std::vector<Membership> memberships;
  if (std::string why = unwelcome(state, event.registration, memberships); !why.empty()) {
    turn.effects.emplace_back(CloseLink{event.link, wire::CloseReason::kRole, std::move(why)});
    return;
  }
  const ReplicaId id = state.replicas.take();
  Replica& replica = state.replicas[id];
  replica = Replica{};
  replica.link = event.link;
  replica.name = event.hello.name;
  replica.address = event.address;
  replica.incarnation = event.hello.incarnation;
  replica.memberships = std::move(memberships);
  replica.workers = event.registration.workers;
  replica.queue_limit = event.registration.queue_limit;
  const uint32_t most =
      std::min(kMaxThreshold, replica.workers + std::min(replica.queue_limit, kMaxThreshold));
  replica.threshold = state.settings.replica_threshold ? state.settings.replica_threshold
                                                       : std::min(2 * replica.workers, most);
  replica.last_heard = replica.last_sent = turn.now;
  replica.heard_sent_us = event.hello.sent_us;
  state.peers.set(event.link, {.client = {}, .replica = id});
  for (const Membership& membership : replica.memberships) {
    Service& service = state.services[membership.service];
    service.offered = true;
    ++service.replicas;
  }
  state.index_replica(id);
  state.heartbeats.set(id, later(turn.now, state.settings.heartbeat));
  turn.effects.emplace_back(
      SendDummy{event.link, {.sent_us = to_us(turn.now), .echo_us = replica.heard_sent_us}});
  turn.effects.emplace_back(Note{Note::Kind::kReplicaJoined, replica.name, replica.address});
  serve_queues(turn, id);
}

void replica_lost(Turn& turn, ReplicaId id, const std::string& why) {
  State& state = turn.state;
  leave_services(state, id);
  Replica& replica = state.replicas[id];
  for (const Membership& membership : replica.memberships) --state.services[membership.service].replicas;
  state.heartbeats.erase(id);
  state.peers.erase(replica.link);
  ++state.counters.replicas_lost;
  turn.effects.emplace_back(Note{Note::Kind::kReplicaLost, replica.name, why});
  const std::string name = replica.name;
  // Oldest first, so that what has waited longest is sent again first.
  std::vector<CopyId> lost = replica.copies;
  std::sort(lost.begin(), lost.end(),
            [&](CopyId a, CopyId b) { return state.copies[a].sent > state.copies[b].sent; });
  for (auto copy = lost.rbegin(); copy != lost.rend(); ++copy) copy_lost(turn, *copy, name);
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
