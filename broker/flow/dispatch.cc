// dispatch: copies of a request go to the replicas of its plan, or the request waits until one is free.
// Whoever waits longest is served first.
#include <algorithm>

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

bool is_confirmed(const State& state, RequestHandle id) {
  return broker::is_confirmed(state, state.requests[id].progress_seq);
}

void wait_until_confirmed(Turn& turn, RequestHandle id, uint32_t wanted, bool front) {
  State& state = turn.state;
  Request& request = state.requests[id];
  request.wanted = wanted;
  // What has waited for a replica already is older than most that wait here.
  const auto older = [](uint64_t seq, const State::Unconfirmed& other) { return seq < other.seq; };
  const auto place =
      std::upper_bound(state.unconfirmed.begin(), state.unconfirmed.end(), request.progress_seq, older);
  state.unconfirmed.insert(place, {request.progress_seq, id, front});
  state.set_deadline(id);
}

}  // namespace

void dispatch_when_confirmed(Turn& turn, RequestHandle id, uint32_t wanted) {
  if (is_confirmed(turn.state, id)) return dispatch_or_queue(turn, id, wanted, false);
  wait_until_confirmed(turn, id, wanted, false);
}

void dispatch_confirmed(Turn& turn) {
  State& state = turn.state;
  while (!state.unconfirmed.empty() && is_confirmed(state, state.unconfirmed.front().seq)) {
    const State::Unconfirmed next = state.unconfirmed.front();
    state.unconfirmed.pop_front();
    const Request* request = state.requests.find(next.request);
    if (!request || request->progress_seq != next.seq) continue;  // it has ended, or gone on
    // A replica has turned out to hold a copy of it meanwhile, or had.
    if (request->phase != Request::Phase::kRunning || !request->copies.empty()) continue;
    dispatch_or_queue(turn, next.request, request->wanted, next.front);
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
    // It was let in while nobody could acknowledge it. Now somebody can.
    if (!is_confirmed(state, longest)) {
      wait_until_confirmed(turn, longest, state.requests[longest].wanted, true);
      continue;
    }
    const bool sent = dispatch(turn, longest, state.requests[longest].wanted);
    CHECK(sent);  // this replica is free, and a queued request has no copies out
    state.set_deadline(longest);
  }
}

}  // namespace redoubt::broker
