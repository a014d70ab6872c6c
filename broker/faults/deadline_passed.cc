// deadline_passed: a request's time is up, here or in a queue; its client is told where it stood.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

constexpr const char* kSparesOnly =
    "; only spares offer it now, and they take what another replica has lost: start one without --spare";

bool is_left_to_spares(const State& state, const Request& request) {
  const Service& service = state.services[request.service()];
  const auto is_spare = [&](ReplicaId id) { return state.replicas[id].spare; };
  return !request.lost && !service.members.empty() && std::ranges::all_of(service.members, is_spare);
}

std::string where(const State& state, const Request& request, Time now) {
  const std::string level =
      "at level " + std::to_string(request.level + 1) + " (" + state.services[request.service()].name + ")";
  if (request.phase == Request::Phase::kQueued) {
    const char* what = now < request.deadline ? "waited too long " : "the deadline passed ";
    return what + level + ", in the manager's queue" + (is_left_to_spares(state, request) ? kSparesOnly : "");
  }
  if (request.phase == Request::Phase::kInherited)
    return "the deadline passed " + level + ", before this manager knew who had it";
  if (request.copies.empty()) return "the deadline passed " + level + ", before its standbys had it";
  std::string text = "the deadline passed " + level + ", with ";
  text += std::to_string(request.copies.size()) + (request.copies.size() == 1 ? " copy at " : " copies at ");
  for (size_t i = 0; i < request.copies.size(); ++i)
    text += (i ? ", " : "") + state.replicas[state.copies[request.copies[i]].replica].name;
  return text;
}

}  // namespace

void deadlines_passed(Turn& turn) {
  State& state = turn.state;
  for (uint32_t i = 0; i < kMaxTimeoutsAStep; ++i) {
    if (state.deadlines.empty() || state.deadlines.top_key() > turn.now) return;
    const RequestHandle id = state.deadlines.top();
    Request& request = state.requests[id];
    if (request.further_at <= turn.now && turn.now < request.ends_at()) {
      if (request.phase == Request::Phase::kRunning) {
        dispatch_further(turn, id);
      } else {
        request.further_at = kNever;
        state.set_deadline(id);
        state.stir(request.service());
      }
      continue;
    }
    Outcome outcome{.status = wire::Status::kExpired, .text = where(state, request, turn.now)};
    outcome.running = request.phase == Request::Phase::kRunning && !request.copies.empty();
    if (request.phase == Request::Phase::kQueued)
      state.dequeue(id, turn.now);
    else
      halt_siblings(turn, request, {});
    reply(turn, id, std::move(outcome));
  }
}

}  // namespace redoubt::broker
