// settling: a broker that has just started knows no service, and peers of an earlier one return in any order.
// A returning client's request for a service that nobody offers yet waits for its replica a while instead of
// being refused. A client on its first link is told at once: it may have misspelt the name.
#include "broker/steps.h"

namespace redoubt::broker {

const ServiceId* offered_or_awaited(Turn& turn, const Client& client, const std::string& name, bool again) {
  State& state = turn.state;
  const ServiceId* known = state.find_service(name);
  if (known && state.services[*known].offered) return known;
  // After a take-over the earlier manager may have known what this one has not met yet.
  const bool returning = client.generation > 1 || state.took_over;
  if (!returning && !again) return nullptr;
  if (turn.now >= state.settles_at) return again ? known : nullptr;
  if (known) return known;
  if (state.awaited >= kMaxAwaited) return nullptr;
  const ServiceId* awaited = state.learn_service(name);
  if (awaited) ++state.awaited;
  return awaited;
}

void settle(Turn& turn) {
  State& state = turn.state;
  if (state.awaited == 0 || turn.now < state.settles_at) return;
  uint32_t left = kMaxTimeoutsAStep;
  for (const Service& service : state.services) {
    if (service.offered) continue;
    for (const auto line : {Request::Line::kReturned, Request::Line::kArrived}) {
      RequestHandle next = service.queue.first(line);
      while (next && left > 0) {
        const RequestHandle id = next;
        const Request& request = state.requests[id];
        next = request.in_line.next;
        if (request.may_have_run()) continue;  // refused means not executed: these wait for their deadline
        --left;
        reply(turn, id,
              {.status = wire::Status::kRefused,
               .reason = wire::Refusal::kNoReplica,
               .text = "no replica has offered service '" + service.name + "' since the broker started"});
      }
    }
  }
  if (left > 0) state.awaited = 0;
}

}  // namespace redoubt::broker
