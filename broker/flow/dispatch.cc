// dispatch: copies of a request go to the replicas of its plan, or the request waits until one is free.
// Whoever waits longest is served first.
#include "broker/plan/plan.h"
#include "broker/steps.h"

namespace redoubt::broker {
namespace {

uint32_t position_of(const Replica& replica, ServiceId service) {
  for (uint32_t index = 0; index < replica.memberships.size(); ++index)
    if (replica.memberships[index].service == service) return index;
  CHECK(false);
}

void send_copy(Turn& turn, RequestHandle id, ReplicaId replica_id) {
  State& state = turn.state;
  const CopyId copy_id = state.add_copy(id, replica_id, state.requests[id].level, turn.now);
  const Request& request = state.requests[id];
  Replica& replica = state.replicas[replica_id];
  replica.last_sent = turn.now;
  SendCopy& send = std::get<SendCopy>(turn.effects.emplace_back(std::in_place_type<SendCopy>));
  send.to = replica.link;
  wire::Copy& copy = send.copy;
  copy.copy = copy_id.number();
  copy.epoch = state.epoch;
  copy.service = position_of(replica, request.service());
  copy.level = request.level;
  copy.request = request.id;
  copy.attempt = request.attempts;
  copy.deadline_us = left_us(request.deadline - turn.now);
  copy.limits_wait = request.limits_wait();
  if (copy.limits_wait) copy.wait_us = left_us(request.wait_limit - request.waited - request.level_wait);
  copy.tell_start = request.disposal == wire::Disposal::kOnStart;
  copy.sent_us = to_us(turn.now);
  copy.payload = request.payload;
}

// Sends what the plan says; false when no replica can take a copy now.
bool dispatch(Turn& turn, RequestHandle id, uint32_t wanted) {
  State& state = turn.state;
  const Request& request = state.requests[id];
  CHECK(request.phase == Request::Phase::kRunning);
  CHECK(request.digest != 0);  // no copy without its checkpoint
  std::vector<ReplicaId>& plan = state.plan;
  plan.clear();
  plan_per_level(state, request, wanted, plan);
  if (plan.empty()) return false;
  for (const ReplicaId replica : plan) send_copy(turn, id, replica);
  return true;
}

}  // namespace

void dispatch_when_confirmed(Turn& turn, RequestHandle id, uint32_t wanted) {
  State& state = turn.state;
  if (is_confirmed(state, state.checkpoint_seq)) return dispatch_or_queue(turn, id, wanted, false);
  Request& request = state.requests[id];
  request.confirm_seq = state.checkpoint_seq;
  request.wanted = wanted;
  state.unconfirmed.push_back({request.confirm_seq, id});
  state.set_deadline(id);
}

void dispatch_confirmed(Turn& turn) {
  State& state = turn.state;
  while (!state.unconfirmed.empty() && is_confirmed(state, state.unconfirmed.front().seq)) {
    const State::Unconfirmed next = state.unconfirmed.front();
    state.unconfirmed.pop_front();
    Request* request = state.requests.find(next.request);
    if (!request || request->confirm_seq != next.seq) continue;  // it has ended
    request->confirm_seq = 0;
    // A replica has turned out to hold a copy of it meanwhile, or had.
    if (request->phase != Request::Phase::kRunning || !request->copies.empty()) continue;
    dispatch_or_queue(turn, next.request, request->wanted, false);
  }
}

void dispatch_or_queue(Turn& turn, RequestHandle id, uint32_t wanted, bool front) {
  State& state = turn.state;
  Request& request = state.requests[id];
  const Service& service = state.services[request.service()];
  const bool my_turn = front || service.queued == 0;
  if (my_turn && dispatch(turn, id, wanted)) {
    state.set_deadline(id);
    return;
  }
  if (!request.copies.empty()) return;  // a sibling is out already: nothing is gained by waiting for a place
  state.enqueue(id, turn.now, wanted, front);
}

bool dispatch_again(Turn& turn, RequestHandle id) {
  const bool sent = dispatch(turn, id, 1);
  turn.state.set_deadline(id);
  // With a sibling out, nothing is gained by waiting for a place.
  return sent || !turn.state.requests[id].copies.empty();
}

void serve_queues(Turn& turn, ReplicaId replica_id) {
  State& state = turn.state;
  for (;;) {
    const Replica* replica = state.replicas.find(replica_id);
    if (!replica || !replica->takes_copies()) return;
    RequestHandle longest;
    for (const Membership& membership : replica->memberships) {
      const RequestHandle head = state.services[membership.service].queue_head;
      if (head && (!longest || state.requests[head].order < state.requests[longest].order)) longest = head;
    }
    if (!longest) return;
    state.dequeue(longest, turn.now);
    const bool sent = dispatch(turn, longest, state.requests[longest].wanted);
    CHECK(sent);  // this replica is free, and a queued request has no copies out
    state.set_deadline(longest);
  }
}

}  // namespace redoubt::broker
