// Picking distinct replicas: least loaded, the better of two random ones, or random. Costs k log n for k
// picks.
#include <algorithm>

#include "broker/plan/plan.h"

namespace redoubt::broker {
namespace {

bool contains(const ReplicaList& list, ReplicaId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// The place in the heap of the next candidate, by the settings.
uint32_t candidate(State& state, const Service& service) {
  const auto any = [&] { return static_cast<uint32_t>(state.random.below(service.free.size())); };
  switch (state.settings.pick) {
    case Pick::kLeastLoaded:
      return 0;
    case Pick::kRandom:
      return any();
    case Pick::kTwoChoices: {
      const uint32_t a = any(), b = any();
      return service.free.key_at(a) < service.free.key_at(b) ? a : b;
    }
  }
  CHECK(false);
}

}  // namespace

void pick(State& state, ServiceId service_id, uint32_t wanted, const ReplicaList& leave_out,
          ReplicaList& picked) {
  Service& service = state.services[service_id];
  if (wanted == 1 && leave_out.empty() && !service.free.empty()) {
    picked.push_back(service.free.at(candidate(state, service)).replica);
    return;
  }
  // Whoever has been looked at leaves the heap until all are picked, so that nobody is met twice.
  auto& aside = state.aside;
  aside.clear();
  while (wanted > 0 && !service.free.empty()) {
    const uint32_t place = candidate(state, service);
    const Member member = service.free.at(place);
    aside.emplace_back(member, service.free.key_at(place));
    service.free.erase(member);
    if (contains(leave_out, member.replica)) continue;
    picked.push_back(member.replica);
    --wanted;
  }
  for (const auto& [member, key] : aside) service.free.set(member, key);
}

void pick_loaded(const State& state, ServiceId service_id, const ReplicaList& leave_out,
                 ReplicaList& picked) {
  const std::vector<ReplicaId>& members = state.services[service_id].members;
  // From a place that changes, so that retries spread; few are left out, so few are looked at in vain.
  for (size_t i = 0; i < members.size(); ++i) {
    const ReplicaId id = members[(state.picks + i) % members.size()];
    const Replica& replica = state.replicas[id];
    if (replica.leaving || replica.unheard || !replica.has_room() || contains(leave_out, id)) continue;
    picked.push_back(id);
    return;
  }
}

}  // namespace redoubt::broker
