// serve_queues: whoever waits is looked at again, because something has changed: a replica may have room, or
// a head is gone, or what it waited for is. Whoever has waited longest goes first, over all services that
// have been stirred; one whose head nobody takes is calm until it is stirred again.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

// It leaves the queue, or stays where it was.
bool leaves(Turn& turn, RequestHandle id) {
  State& state = turn.state;
  const uint32_t wanted = state.requests[id].wanted;
  state.dequeue(id, turn.now);
  if (go_out(turn, id, wanted, true)) return true;
  state.enqueue(id, turn.now, wanted, true);
  look_again(turn, id);
  return false;
}

// Serves the service's head; false when there is none, or nobody takes it.
bool serve(Turn& turn, ServiceId service_id) {
  State& state = turn.state;
  Service& service = state.services[service_id];
  if (service.paced) rescue(turn, service_id);
  const RequestHandle head = service.queue.head(state.requests);
  if (!head) {
    if (service.paced) feed(turn, service_id);
    return false;
  }
  if (leaves(turn, head)) return true;
  // Spares are free for what was lost, also where others stand before it.
  const RequestHandle lost = service.queue.first(Request::Line::kLost);
  return lost && lost != head && !service.spares.empty() && leaves(turn, lost);
}

// The place of the one whose head is the oldest, of the services that have been stirred; those without one
// last.
size_t oldest(const State& state) {
  size_t best = 0;
  uint64_t best_order = ~uint64_t{0};
  for (size_t i = 0; i < state.restless.size() && state.restless.size() > 1; ++i) {
    const RequestHandle head = state.services[state.restless[i]].queue.head(state.requests);
    if (!head || state.requests[head].order >= best_order) continue;
    best = i;
    best_order = state.requests[head].order;
  }
  return best;
}

}  // namespace

void look_again(Turn& turn, RequestHandle id) {
  State& state = turn.state;
  Request& request = state.requests[id];
  request.further_at = state.plan.further;
  if (request.further_at != kNever) state.set_deadline(id);
}

void serve_queues(Turn& turn) {
  State& state = turn.state;
  // What is left is looked at in the next step: a turn must end.
  for (uint32_t i = 0; i < kMaxTimeoutsAStep && !state.restless.empty(); ++i) {
    const size_t place = oldest(state);
    const ServiceId id = state.restless[place];
    if (serve(turn, id)) continue;
    // Others may have been stirred meanwhile, behind it.
    state.services[id].restless = false;
    state.restless.erase(state.restless.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

}  // namespace redoubt::broker
