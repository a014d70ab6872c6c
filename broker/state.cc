// The state's own bookkeeping: every change that an index depends on is made here.
#include "broker/state.h"

#include <algorithm>
#include <utility>

namespace redoubt::broker {

State::State(Settings given, wire::Epoch ruled)
    : settings(std::move(given)),
      random(settings.seed),
      epoch(ruled),
      heartbeats(HeartbeatPlace{&replicas}),
      halts(HaltsPlace{&replicas}),
      bucket(settings.admit_rate, settings.admit_burst) {}

const ServiceId* State::find_service(const std::string& name) const {
  const auto found = service_ids.find(name);
  return found == service_ids.end() ? nullptr : &found->second;
}

const ServiceId* State::learn_service(const std::string& name) {
  if (const ServiceId* known = find_service(name)) return known;
  if (services.size() >= kMaxServices) return nullptr;
  const auto id = static_cast<ServiceId>(services.size());
  Service& service = services.emplace_back(&replicas);
  service.name = name;
  for (const NamedPolicy& named : settings.policies) {
    if (named.service != name && named.service != "*") continue;
    service.policy = named.policy;
    break;
  }
  return &service_ids.emplace(name, id).first->second;
}

void State::hold(Request& request, Payload payload) {
  held_bytes += payload.size();
  held_bytes -= request.payload.size();
  request.payload = std::move(payload);
}

void State::hold(Path& path, Payload input) {
  held_bytes += input.size();
  held_bytes -= path.input.size();
  path.input = std::move(input);
}

void State::enqueue(RequestHandle id, Time now, uint32_t wanted, bool returned) {
  Request& request = requests[id];
  drop_further(request);
  request.phase = Request::Phase::kQueued;
  request.wanted = wanted;
  request.queued_since = now;
  request.line = !returned      ? Request::Line::kArrived
                 : request.lost ? Request::Line::kLost
                                : Request::Line::kReturned;
  services[request.service()].queue.add(requests, id);
  ++queued;
  set_deadline(id);
}

void State::dequeue(RequestHandle id, Time now) {
  Request& request = requests[id];
  CHECK(request.phase == Request::Phase::kQueued);
  Service& service = services[request.service()];
  service.queue.take_out(requests, id);
  request.level_wait += now - request.queued_since;
  request.phase = Request::Phase::kRunning;
  request.further_at = kNever;
  --queued;
  if (!service.queue.empty()) stir(request.service());
}

void State::keep_paces(ServiceId id) {
  Service& service = services[id];
  if (std::exchange(service.paced, true)) return;
  for (const ReplicaId member : service.members) index_replica(member);
}

void State::stir(ServiceId id) {
  if (!std::exchange(services[id].restless, true)) restless.push_back(id);
}

void State::stir_all_of(const Replica& replica) {
  for (const Membership& membership : replica.memberships) {
    const Service& service = services[membership.service];
    if (service.paced || !service.queue.empty()) stir(membership.service);
  }
}

void State::set_deadline(RequestHandle id) {
  const Request& request = requests[id];
  const Time due = std::min(request.ends_at(), request.further_at);
  const uint32_t place = deadlines.place_of(id);
  if (place == kNowhere || due != deadlines.key_at(place)) deadlines.set(id, due);
}

CopyId State::take_copy() {
  const CopyId id = copies.take();
  copies[id] = Copy{};
  return id;
}

void State::add_copy(CopyId id) {
  Copy& copy = copies[id];
  Replica& replica = replicas[copy.replica];
  copy.place = replica.outstanding();
  if (copy.request) {
    Request& request = requests[copy.request];
    request.copies.push_back(id);
    ++request.dispatched;
  }
  replica.copies.push_back(id);
  ++services[copy.service].outstanding;
  replica.bytes += copy.extra ? 0 : copy.bytes;
  replica.extras += copy.extra ? 1 : 0;
  replica.last_picked = ++picks;
  ++counters.dispatched;
  index_replica(copy.replica);
}

void State::remove_copy(CopyId id) {
  const Copy& copy = copies[id];
  const ReplicaId replica_id = copy.replica;
  Replica& replica = replicas[replica_id];
  const uint32_t place = copy.place;
  CHECK(replica.copies[place] == id);
  replica.copies[place] = replica.copies.back();
  copies[replica.copies[place]].place = place;
  replica.copies.pop_back();
  replica.bytes -= copy.extra ? 0 : copy.bytes;
  --services[copy.service].outstanding;
  replica.extras -= copy.extra ? 1 : 0;
  if (replica.extras == 0) replica.extra_worth = 0;
  copies.give_back(id);
  index_replica(replica_id);
}

Follower* State::follower_of(LinkId link) {
  for (Follower& follower : followers)
    if (follower.link == link) return &follower;
  return nullptr;
}

void State::index_replica(ReplicaId id) {
  Replica& replica = replicas[id];
  const bool takes = replica.takes_copies();
  // One that fails a lot looks loaded, and so does, a little, one that has shown nothing yet: a replica that
  // fails at once, or dies and returns, is always idle and would draw everything to itself.
  uint64_t load = uint64_t{replica.load()} * kLoadUnit / replica.workers;
  if (replica.failure_rate > 0 || !replica.proven()) {
    const double doubt = replica.failure_rate * kFailureLoad + (replica.proven() ? 0 : kUnprovenLoad);
    load += static_cast<uint64_t>(doubt * static_cast<double>(kLoadUnit));
  }
  const LoadKey key{load, replica.last_picked};
  for (uint32_t index = 0; index < replica.memberships.size(); ++index) {
    Service& service = services[replica.memberships[index].service];
    auto& those = replica.spare ? service.spares : service.free;
    if (takes)
      those.set({id, index}, key);
    else
      those.erase({id, index});
    if (!service.paced) continue;
    // Auto may have let the head wait for this one.
    if (!service.queue.empty()) stir(replica.memberships[index].service);
    if (replica.is_ready())
      service.ready.set({id, index}, {ready_key(service, replica), replica.last_picked});
    else
      service.ready.erase({id, index});
  }
}

}  // namespace redoubt::broker
