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
  for (size_t i = 0; distinct > 0 && picked.size() < paths; ++i)
    picked.push_back(Target(picked[i % distinct]));
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
  for (const Path& path : request.paths) plan.now.push_back({path.replicas.front()});
}

}  // namespace redoubt::broker
