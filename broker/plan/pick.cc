// Picking distinct replicas: least loaded, the better of two random ones, or random. Costs k log n for k
// picks.
#include <algorithm>

#include "broker/state.h"

namespace redoubt::broker {
namespace {

bool contains(const ReplicaList& list, ReplicaId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

using Free = decltype(Service::free);

// The place in the heap of the next candidate, by the settings.
uint32_t candidate(State& state, const Free& free) {
  const auto any = [&] { return static_cast<uint32_t>(state.random.below(free.size())); };
  switch (state.settings.pick) {
    case Pick::kLeastLoaded:
      return 0;
    case Pick::kRandom:
      return any();
    case Pick::kTwoChoices: {
      const uint32_t a = any(), b = any();
      return free.key_at(a) < free.key_at(b) ? a : b;
    }
  }
  CHECK(false);
}

void pick_from(State& state, Free& free, uint32_t wanted, const ReplicaList& leave_out, Targets& picked) {
  if (wanted == 1 && leave_out.empty() && !free.empty()) {
    picked.push_back({free.at(candidate(state, free)).replica});
    return;
  }
  // Whoever has been looked at leaves the heap until all are picked, so that nobody is met twice.
  auto& aside = state.aside;
  aside.clear();
  while (wanted > 0 && !free.empty()) {
    const uint32_t place = candidate(state, free);
    const Member member = free.at(place);
    aside.emplace_back(member, free.key_at(place));
    free.erase(member);
    if (contains(leave_out, member.replica)) continue;
    picked.push_back({member.replica});
    --wanted;
  }
  for (const auto& [member, key] : aside) free.set(member, key);
}

}  // namespace

void pick(State& state, ServiceId service, uint32_t wanted, const ReplicaList& leave_out, Targets& picked) {
  pick_from(state, state.services[service].free, wanted, leave_out, picked);
}

void pick_spare(State& state, ServiceId service, const ReplicaList& leave_out, Targets& picked) {
  pick_from(state, state.services[service].spares, 1, leave_out, picked);
}

ReplicaList holders(const State& state, const Request& request) {
  ReplicaList list;
  for (const CopyId copy : request.copies) list.push_back(state.copies[copy].replica);
  return list;
}

void pick_loaded(const State& state, ServiceId service_id, const ReplicaList& leave_out, Targets& picked) {
  const std::vector<ReplicaId>& members = state.services[service_id].members;
  // From a place that changes, so that retries spread; few are left out, so few are looked at in vain.
  for (size_t i = 0; i < members.size(); ++i) {
    const ReplicaId id = members[(state.picks + i) % members.size()];
    const Replica& replica = state.replicas[id];
    if (replica.leaving || replica.unheard || replica.spare || !replica.has_room() || contains(leave_out, id))
      continue;
    picked.push_back({id});
    return;
  }
}

}  // namespace redoubt::broker
