// next_level: the winner's result becomes the next level's input, and the progress is checkpointed: a
// take-over resumes here. Levels only go forward.
#include "broker/steps.h"

namespace redoubt::broker {

void next_level(Turn& turn, RequestHandle id, Payload result) {
  State& state = turn.state;
  Request& request = state.requests[id];
  CHECK(request.level + 1 < request.levels.size());
  if (state.held_bytes - request.payload.size() + result.size() > state.settings.held_limit) {
    reply(turn, id,
          {.status = wire::Status::kFailed, .text = "the results between levels are over --held-limit"});
    return;
  }
  ++request.level;
  state.hold(request, std::move(result));
  request.level_wait = Duration::zero();
  request.attempts = request.dispatched = 0;
  request.started = request.lost = false;
  state.drop_further(request);
  request.copies.clear();
  request.failed.clear();
  request.failure.clear();
  checkpoint_add(turn, request, Progress::kLevel);
  dispatch_or_queue(turn, id, request.levels[request.level].copies, false);
}

}  // namespace redoubt::broker
