// next_on_path: a request that goes by fixed paths (S1). Every path walks by itself to its end; the first
// there wins. What is checkpointed is the furthest that any has come: a take-over resumes there. A path that
// fails or whose replica is lost is broken, unless it is the last: then the request goes on from the furthest
// place, level by level.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

// The report of a level that a path has passed.
void pass(Turn& turn, const Request& request, Path& path, const Copy& copy, const std::string& replica_name,
          const wire::Done& done) {
  Service& service = turn.state.services[request.levels[copy.level].service];
  const Duration wait = copy.waited_here + std::chrono::nanoseconds(done.wait_ns);
  path.waited += wait;
  wire::LevelReport& report = path.reports.emplace_back();
  report.service = service.name;
  report.replica = replica_name;
  report.copies = static_cast<uint32_t>(request.paths.size());
  report.wait_us = static_cast<uint64_t>(to_us(wait));
  report.service_us = done.service_ns / 1000;
  service.wait_us.record(report.wait_us);
  service.service_us.record(report.service_us);
}

// This path is the furthest now: the checkpoint moves on with it.
void lead(Turn& turn, Request& request, const Path& path) {
  request.level = path.level;
  request.waited = path.waited;
  request.level_wait = Duration::zero();
  request.reports = path.reports;
  request.attempts = request.dispatched = 0;
  request.lost = false;
  request.failed.clear();
  request.failure.clear();
  turn.state.hold(request, path.input);
  checkpoint_add(turn, request, Progress::kLevel);
}

// The replica that was chosen for its level, or one that is there when none was.
bool find_replica(Turn& turn, const LevelSpecs& levels, Path& path) {
  State& state = turn.state;
  ReplicaId& chosen = path.replicas[path.level];
  if (!chosen) {
    Targets picked;
    pick(state, levels[path.level].service, 1, {}, picked);
    if (!picked.empty()) chosen = picked.front().replica;
  }
  const Replica* replica = state.replicas.find(chosen);
  return replica && !replica->leaving && !replica->unheard && replica->has_room();
}

// It goes on, or it is broken.
void go_on(Turn& turn, RequestHandle id, uint32_t number) {
  Request& request = turn.state.requests[id];
  if (find_replica(turn, request.levels, request.paths[number - 1])) return walk_path(turn, id, number);
  if (path_broken(turn, request, number)) return;
  request.phase = Request::Phase::kRunning;
  dispatch_or_queue(turn, id, 1, true);
}

// What lies between the levels is bounded for all requests together.
void end_over_limit(Turn& turn, RequestHandle id) {
  halt_siblings(turn, turn.state.requests[id], {});
  reply(turn, id,
        {.status = wire::Status::kFailed, .text = "the results between levels are over --held-limit"});
}

// The other paths, but those that have been halted: every one is walked to its end.
void let_walk_on(Turn& turn, Request& request) {
  State& state = turn.state;
  for (Path& path : request.paths) {
    if (!path.copy || state.copies[path.copy].halted) continue;
    const StrollId id = state.strolls.take();
    Stroll& stroll = state.strolls[id];
    stroll.id = request.id;
    stroll.levels = request.levels;
    stroll.deadline = request.deadline;
    stroll.wait_limit = request.wait_limit;
    stroll.number = static_cast<uint32_t>(&path - request.paths.data()) + 1;
    stroll.path = std::move(path);
    state.copies[stroll.path.copy].stroll = id;
  }
}

}  // namespace

void stroll_done(Turn& turn, const Copy& copy, wire::Done& done) {
  Stroll& stroll = turn.state.strolls[copy.stroll];
  Path& path = stroll.path;
  path.waited += copy.waited_here + std::chrono::nanoseconds(done.wait_ns);
  const bool goes_on = done.fate == wire::Fate::kOk && ++path.level < stroll.levels.size() &&
                       turn.now < stroll.deadline && find_replica(turn, stroll.levels, path);
  if (goes_on) return walk_on(turn, copy.stroll, done.payload);
  path = {};
  turn.state.strolls.give_back(copy.stroll);
}

void path_done(Turn& turn, RequestHandle id, const Copy& copy, const std::string& replica_name,
               wire::Done& done) {
  State& state = turn.state;
  Request& request = state.requests[id];
  Path& path = request.paths[copy.path - 1];
  path.copy = {};
  pass(turn, request, path, copy, replica_name, done);
  if (path.level + 1 == request.levels.size()) {
    request.level = path.level;
    request.waited = path.waited;
    request.reports = std::move(path.reports);
    halt_siblings(turn, request, {});
    let_walk_on(turn, request);
    return reply(turn, id, {.status = wire::Status::kOk, .payload = std::move(done.payload)});
  }
  ++path.level;
  state.hold(path, std::move(done.payload));
  if (state.held_bytes > state.settings.held_limit) return end_over_limit(turn, id);
  if (path.level > request.level) {
    lead(turn, request, path);
  }
  path.waits = true;
  path.waits_for = request.progress_seq;
  if (is_confirmed(state, request.progress_seq)) return go_on(turn, id, copy.path);
  wait_for_standbys(turn, id);
}

bool path_broken(Turn& turn, Request& request, uint32_t number) {
  Path& path = request.paths[number - 1];
  path.copy = {};
  path.waits = false;
  turn.state.hold(path, {});
  if (std::any_of(request.paths.begin(), request.paths.end(), [](const Path& each) { return each.alive(); }))
    return true;
  request.paths.clear();
  turn.state.drop_further(request);
  return false;
}

void walk_waiting_paths(Turn& turn, RequestHandle id) {
  const uint64_t order = turn.state.requests[id].order;
  for (uint32_t number = 1;; ++number) {
    const Request* request = turn.state.requests.find(id);
    if (!request || request->order != order || number > request->paths.size()) return;
    const Path& path = request->paths[number - 1];
    if (path.waits && is_confirmed(turn.state, path.waits_for)) go_on(turn, id, number);
  }
}

}  // namespace redoubt::broker
