// dispatch: copies of a request go to the replicas of its plan, or the request waits until one is free.
// Whoever waits longest is served first.
#include <algorithm>
#include <utility>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

uint32_t position_of(const Replica& replica, ServiceId service) {
  for (uint32_t index = 0; index < replica.memberships.size(); ++index)
    if (replica.memberships[index].service == service) return index;
  CHECK(false);
}

// What a copy of a request starts from: the request's level, or the place that one of its paths has come to.
struct Start {
  uint32_t level = 0;
  Payload payload;
  Duration waited{};  // so far, at all levels
  uint32_t path = 0;  // from 1; 0: none
};

void send_copy(Turn& turn, RequestHandle id, Target target, const Start& start) {
  State& state = turn.state;
  const CopyId copy_id = state.add_copy(id, target, start.level, start.payload.size(), turn.now);
  const Request& request = state.requests[id];
  const LevelSpec& level = request.levels[start.level];
  Replica& replica = state.replicas[target.replica];
  replica.last_sent = turn.now;
  state.counters.rescued_by_spares += replica.spare ? 1 : 0;
  state.counters.extras += target.extra ? 1 : 0;
  SendCopy& send = std::get<SendCopy>(turn.effects.emplace_back(std::in_place_type<SendCopy>));
  send.to = replica.link;
  wire::Copy& copy = send.copy;
  copy.copy = copy_id.number();
  copy.epoch = state.epoch;
  copy.service = position_of(replica, level.service);
  copy.level = start.level;
  copy.request = request.id;
  copy.attempt = request.attempts;
  copy.deadline_us = left_us(request.deadline - turn.now);
  copy.limits_wait = request.wait_limit > Duration::zero() && level.policy.disposal != wire::Disposal::kNone;
  if (copy.limits_wait) copy.wait_us = left_us(request.wait_limit - start.waited);
  copy.tell_start = level.policy.disposal == wire::Disposal::kOnStart;
  copy.extra = target.extra;
  if (level.policy.disposal == wire::Disposal::kTwoPhase) {
    const uint64_t limit = copy.limits_wait ? copy.wait_us : copy.deadline_us;
    copy.phase_us = std::max<uint64_t>(limit * level.policy.first_phase / 1000, 1);
    state.copies[copy_id].phase = from_us(static_cast<int64_t>(copy.phase_us));
  }
  copy.sent_us = to_us(turn.now);
  copy.payload = start.payload;
  Copy& kept = state.copies[copy_id];
  kept.path = start.path;
  // What was waited before the paths' beginning counts there.
  if (start.level > 0 && start.path > 0) kept.waited_here = Duration::zero();
}

Start start_of(const Request& request) {
  return {request.level, request.payload, request.waited + request.level_wait};
}

// Extra copies that the policy lets a request have, of so many; what it has not it goes without.
uint32_t allowed(State& state, const Request& request, uint32_t extra) {
  Service& service = state.services[request.service()];
  const auto redundancy = request.policy().redundancy;
  const bool own_idea = redundancy == wire::Redundancy::kHedge || redundancy == wire::Redundancy::kAuto;
  uint32_t granted = 0;
  while (granted < extra) {
    const bool capped = own_idea || service.policy.extra_share.has_value();
    if (service.policy.all_extra_share && !service.all_extra.spend()) break;
    if (capped && !service.extra.spend()) {
      if (service.policy.all_extra_share) service.all_extra.give_back();
      break;
    }
    ++granted;
  }
  state.counters.allowance_spent += extra - granted;
  return granted;
}

// What was allowed and found no replica.
void give_back(State& state, const Request& request, uint32_t extra) {
  Service& service = state.services[request.service()];
  for (; extra > 0; --extra) {
    if (service.policy.extra_share) service.extra.give_back();
    if (service.policy.all_extra_share) service.all_extra.give_back();
  }
}

// The plan of a request's first copies at its level. `wanted`: where its policy does not say otherwise.
void plan_level(Turn& turn, Request& request, uint32_t wanted) {
  State& state = turn.state;
  Service& service = state.services[request.service()];
  if (service.free.empty()) return;  // nothing is spent
  const uint32_t extra = wanted > 1 ? allowed(state, request, wanted - 1) : 0;
  plan_first(state, request, turn.now, 1 + extra, state.plan);
  const auto used = static_cast<uint32_t>(std::max<size_t>(state.plan.now.size(), 1)) - 1;
  if (extra > used) give_back(state, request, extra - used);
  if (state.plan.now.empty()) return;
  service.extra.earn(service.policy.extra_share.value_or(kUsualExtraShare));
  service.all_extra.earn(service.policy.all_extra_share.value_or(0));
  request.first_sent = turn.now;
}

// Sends what the plan says; false when no replica can take a copy now.
bool dispatch(Turn& turn, RequestHandle id, uint32_t wanted) {
  State& state = turn.state;
  Request& request = state.requests[id];
  CHECK(request.phase == Request::Phase::kRunning);
  CHECK(request.digest != 0);  // no copy without its checkpoint
  Plan& plan = state.plan;
  plan.clear();
  if (request.copies.empty() && request.attempts == 0) {
    state.drop_further(request);  // of a copy that was given back
    plan_level(turn, request, wanted);
  } else {
    plan_again(state, request, wanted, plan);
    if (!plan.now.empty()) state.drop_further(request);
  }
  if (plan.now.empty()) return false;
  request.further_at = plan.further;
  request.reserved = plan.reserved;
  Start start = start_of(request);
  for (size_t i = 0; i < plan.now.size(); ++i) {
    start.path = request.paths.empty() ? 0 : static_cast<uint32_t>(i) + 1;
    send_copy(turn, id, plan.now[i], start);
    if (start.path > 0) request.paths[i].copy = request.copies.back();
  }
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

void wait_for_standbys(Turn& turn, RequestHandle id) { wait_until_confirmed(turn, id, 1, false); }

void dispatch_confirmed(Turn& turn) {
  State& state = turn.state;
  while (!state.unconfirmed.empty() && is_confirmed(state, state.unconfirmed.front().seq)) {
    const State::Unconfirmed next = state.unconfirmed.front();
    state.unconfirmed.pop_front();
    const Request* request = state.requests.find(next.request);
    if (request && !request->paths.empty()) {
      walk_waiting_paths(turn, next.request);
      continue;
    }
    if (!request || request->progress_seq != next.seq) continue;  // it has ended, or gone on
    // A replica has turned out to hold a copy of it meanwhile, or had.
    if (request->phase != Request::Phase::kRunning || !request->copies.empty()) continue;
    dispatch_or_queue(turn, next.request, request->wanted, next.front);
  }
}

void dispatch_or_queue(Turn& turn, RequestHandle id, uint32_t wanted, bool front) {
  State& state = turn.state;
  // Also what was let in while nobody could acknowledge it, and goes out again when somebody can.
  if (!is_confirmed(state, id)) return wait_until_confirmed(turn, id, wanted, front);
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
  const bool sent = is_confirmed(turn.state, id) && dispatch(turn, id, 1);
  turn.state.set_deadline(id);
  // With a sibling out, nothing is gained by waiting for a place.
  return sent || !turn.state.requests[id].copies.empty();
}

void dispatch_further(Turn& turn, RequestHandle id) {
  State& state = turn.state;
  Request& request = state.requests[id];
  if (!is_confirmed(state, id)) {
    request.further_at = later(turn.now, kLookAgain);
    return state.set_deadline(id);
  }
  const bool backup = request.policy().redundancy == wire::Redundancy::kBackup;
  Plan& plan = state.plan;
  plan.clear();
  if (request.copies.size() < wire::kMaxCopies && allowed(state, request, 1) > 0)
    plan_further(state, request, turn.now, plan);
  state.drop_further(request);
  request.further_at = plan.further;
  for (const Target& target : plan.now) {
    ++(backup ? state.counters.backups_sent : state.counters.hedges);
    send_copy(turn, id, target, start_of(state.requests[id]));
  }
  state.set_deadline(id);
}

void walk_path(Turn& turn, RequestHandle id, uint32_t number) {
  State& state = turn.state;
  Path& path = state.requests[id].paths[number - 1];
  path.waits = false;
  const Start start{path.level, std::exchange(path.input, {}), path.waited, number};
  send_copy(turn, id, {path.replicas[path.level]}, start);
  path.copy = state.requests[id].copies.back();
}

void serve_queues(Turn& turn, ReplicaId replica_id) {
  State& state = turn.state;
  for (;;) {
    const Replica* replica = state.replicas.find(replica_id);
    if (!replica || !replica->takes_copies()) return;
    RequestHandle longest;
    for (const Membership& membership : replica->memberships) {
      const RequestHandle head = state.services[membership.service].queue_head;
      if (!head || (replica->spare && !state.requests[head].lost)) continue;
      if (!longest || state.requests[head].order < state.requests[longest].order) longest = head;
    }
    if (!longest) return;
    state.dequeue(longest, turn.now);
    // It was let in while nobody could acknowledge it. Now somebody can.
    if (!is_confirmed(state, longest)) {
      wait_until_confirmed(turn, longest, state.requests[longest].wanted, true);
      continue;
    }
    const uint32_t wanted = state.requests[longest].wanted;
    if (!dispatch(turn, longest, wanted)) {
      // This replica is free, but not for this one.
      state.enqueue(longest, turn.now, wanted, true);
      return;
    }
    state.set_deadline(longest);
  }
}

}  // namespace redoubt::broker
