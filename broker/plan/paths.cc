// The plan of fixed paths (S1): each has one replica of every level, distinct from those of the others as far
// as there are enough, chosen at the start; each is walked to its end (flow/next_on_path.cc).
#include "broker/state.h"

namespace redoubt::broker {
namespace {

// One replica for each path: those that are free, then loaded ones, then the same again.
Targets replicas_of_level(State& state, ServiceId service, uint32_t paths) {
  Targets picked;
  pick(state, service, paths, {}, picked);
  ReplicaList leave_out;
  for (const Target& target : picked) leave_out.push_back(target.replica);
  while (picked.size() < paths) {
    const size_t before = picked.size();
    pick_loaded(state, service, leave_out, picked);
    if (picked.size() == before) break;
    leave_out.push_back(picked.back().replica);
  }
  const size_t distinct = picked.size();
  const auto has_room = [&](ReplicaId id) {
    const auto times = static_cast<uint32_t>(
        std::ranges::count_if(picked, [&](const Target& target) { return target.replica == id; }));
    return state.replicas[id].load() + times < state.replicas[id].room();
  };
  // Fewer paths, where not even their queues have room.
  for (size_t i = 0, full = 0; distinct > full && picked.size() < paths; ++i) {
    const Target again = picked[i % distinct];
    full = has_room(again.replica) ? 0 : full + 1;
    if (full == 0) picked.push_back(again);
  }
  return picked;
}

}  // namespace

void plan_paths(State& state, Request& request, uint32_t wanted, Plan& plan) {
  // While nobody is free the request waits: what has been chosen too early is out of date.
  if (state.services[request.service()].free.empty()) return;
  request.paths.assign(wanted, {});
  for (const LevelSpec& level : request.levels) {
    const Targets targets = replicas_of_level(state, level.service, wanted);
    for (uint32_t i = 0; i < wanted; ++i)
      request.paths[i].replicas.push_back(i < targets.size() ? targets[i].replica : ReplicaId{});
  }
  // At the first level there may be room for fewer.
  std::erase_if(request.paths, [](const Path& path) { return !path.replicas.front(); });
  for (const Path& path : request.paths) plan.now.push_back({path.replicas.front()});
}

}  // namespace redoubt::broker
