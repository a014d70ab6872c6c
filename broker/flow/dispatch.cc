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

// What a copy is for, where it goes, and what it is to be told: where its request, or the path, has come to.
struct Errand {
  RequestHandle request;
  StrollId stroll;
  Target target;
  uint32_t path = 0;
  const wire::RequestId& id;
  const LevelSpec& level;
  uint32_t number = 0;  // of the level
  uint32_t attempt = 0;
  Time deadline;
  Duration wait_limit{};
  Duration waited{}, waited_here{};  // so far: at all levels; of that, at this one
  const Payload& payload;
};

void send_copy(Turn& turn, const Errand& errand) {
  State& state = turn.state;
  const wire::Policy& policy = errand.level.policy;
  const bool limits_wait = errand.wait_limit > Duration::zero() && policy.disposal != wire::Disposal::kNone;
  const uint64_t deadline_us = left_us(errand.deadline - turn.now);
  const uint64_t wait_us = limits_wait ? left_us(errand.wait_limit - errand.waited) : 0;
  uint64_t phase_us = 0;
  if (policy.disposal == wire::Disposal::kTwoPhase)
    phase_us = std::max<uint64_t>((limits_wait ? wait_us : deadline_us) * policy.first_phase / 1000, 1);

  const CopyId id = state.take_copy();
  Copy& copy = state.copies[id];
  copy.request = errand.request;
  copy.stroll = errand.stroll;
  copy.replica = errand.target.replica;
  copy.service = errand.level.service;
  copy.level = errand.number;
  copy.sent = turn.now;
  copy.waited_here = errand.waited_here;
  copy.phase = from_us(static_cast<int64_t>(phase_us));
  copy.bytes = errand.payload.size();
  copy.path = errand.path;
  copy.extra = errand.target.extra;
  state.add_copy(id);
  Replica& replica = state.replicas[copy.replica];
  replica.last_sent = turn.now;
  state.counters.rescued_by_spares += replica.spare ? 1 : 0;
  state.counters.extras += copy.extra ? 1 : 0;

  SendCopy& send = std::get<SendCopy>(turn.effects.emplace_back(std::in_place_type<SendCopy>));
  send.to = replica.link;
  send.copy.copy = id.number();
  send.copy.epoch = state.epoch;
  send.copy.service = position_of(replica, errand.level.service);
  send.copy.level = errand.number;
  send.copy.request = errand.id;
  send.copy.attempt = errand.attempt;
  send.copy.deadline_us = deadline_us;
  send.copy.limits_wait = limits_wait;
  send.copy.wait_us = wait_us;
  send.copy.tell_start = policy.disposal == wire::Disposal::kOnStart;
  send.copy.extra = copy.extra;
  send.copy.phase_us = phase_us;
  send.copy.sent_us = to_us(turn.now);
  send.copy.payload = errand.payload;
}

}  // namespace

void send_copy(Turn& turn, RequestHandle id, Target target, uint32_t path) {
  const Request& request = turn.state.requests[id];
  send_copy(turn, {.request = id,
                   .stroll = {},
                   .target = target,
                   .path = path,
                   .id = request.id,
                   .level = request.levels[request.level],
                   .number = request.level,
                   .attempt = request.attempts,
                   .deadline = request.deadline,
                   .wait_limit = request.wait_limit,
                   .waited = request.waited + request.level_wait,
                   .waited_here = request.level_wait,
                   .payload = request.payload});
}

namespace {

// The plan of a request's first copies at its level. `wanted`: where its policy does not say otherwise.
void plan_level(Turn& turn, Request& request, uint32_t wanted) {
  State& state = turn.state;
  Service& service = state.services[request.service()];
  if (service.free.empty()) return;  // nothing is spent
  const auto redundancy = request.policy().redundancy;
  const bool several = redundancy == wire::Redundancy::kPerLevel || redundancy == wire::Redundancy::kPaths;
  const uint32_t extra = several && wanted > 1 ? allowed(state, request, wanted - 1) : 0;
  plan_first(state, request, turn.now, 1 + extra, state.plan);
  const auto used = static_cast<uint32_t>(std::max<size_t>(state.plan.now.size(), 1)) - 1;
  if (extra > used) give_back(state, request, extra - used);  // it has found no replica
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
    // Under an earlier manager.
    if (plan.now.empty() && !plan.too_late && request.lost)
      pick_spare(state, request.service(), {}, plan.now);
  } else {
    plan_again(state, request, wanted, plan);
    if (!plan.now.empty()) state.drop_further(request);
  }
  if (plan.now.empty()) return false;
  request.further_at = plan.further;
  request.reserved = plan.reserved;
  for (uint32_t i = 0; i < plan.now.size(); ++i) {
    send_copy(turn, id, plan.now[i], request.paths.empty() ? 0 : i + 1);
    if (!request.paths.empty()) request.paths[i].copy = request.copies.back();
  }
  if (plan.hungry) be_hungry(turn, id);
  return true;
}

bool is_confirmed(const State& state, RequestHandle id) {
  return broker::is_confirmed(state, state.requests[id].progress_seq);
}

void wait_until_confirmed(Turn& turn, RequestHandle id, uint32_t wanted, bool returned) {
  State& state = turn.state;
  Request& request = state.requests[id];
  if (request.copies.empty()) state.drop_further(request);
  request.wanted = wanted;
  // What has waited for a replica already is older than most that wait here.
  const auto older = [](uint64_t seq, const State::Unconfirmed& other) { return seq < other.seq; };
  const auto place =
      std::upper_bound(state.unconfirmed.begin(), state.unconfirmed.end(), request.progress_seq, older);
  state.unconfirmed.insert(place, {request.progress_seq, id, returned});
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

namespace {

// What the plan found too late ends here. What has run, or may have, is not refused.
void end_too_late(Turn& turn, RequestHandle id) {
  State& state = turn.state;
  const Request& request = state.requests[id];
  ++state.counters.too_late;
  const std::string where = " at level " + std::to_string(request.level + 1) + " (" +
                            state.services[request.service()].name + ") within its deadline";
  if (request.may_have_run())
    return reply(turn, id,
                 {.status = wire::Status::kExpired, .text = "it could not end" + where + " any more"});
  reply(turn, id,
        {.status = wire::Status::kRefused,
         .reason = wire::Refusal::kTooLate,
         .text = "it can no longer end" + where + ", while others wait"});
}

}  // namespace

bool go_out(Turn& turn, RequestHandle id, uint32_t wanted, bool returned) {
  State& state = turn.state;
  // Also what was let in while nobody could acknowledge it, and goes out again when somebody can.
  if (!is_confirmed(state, id)) {
    wait_until_confirmed(turn, id, wanted, returned);
    return true;
  }
  if (dispatch(turn, id, wanted)) {
    state.set_deadline(id);
    return true;
  }
  if (!state.plan.too_late) return false;
  end_too_late(turn, id);
  return true;
}

void dispatch_or_queue(Turn& turn, RequestHandle id, uint32_t wanted, bool returned) {
  State& state = turn.state;
  const Request& request = state.requests[id];
  const ServiceId service_id = request.service();
  const Service& service = state.services[service_id];
  const bool my_turn = returned || service.queue.empty() || !is_confirmed(state, id);
  if (my_turn && go_out(turn, id, wanted, returned)) {
    if (service.paced) feed(turn, service_id);
    return;
  }
  if (!request.copies.empty()) return;  // a sibling is out already: nothing is gained by waiting for a place
  state.enqueue(id, turn.now, wanted, returned);
  if (my_turn) look_again(turn, id);
  // The longer the queue, the better looks a replica that was not good enough for its head.
  if (!my_turn && service.paced) state.stir(service_id);
}

bool dispatch_again(Turn& turn, RequestHandle id) {
  const Request& request = turn.state.requests[id];
  if (!is_confirmed(turn.state, id)) {
    if (request.copies.empty()) wait_until_confirmed(turn, id, 1, true);
    return true;
  }
  const bool sent = dispatch(turn, id, 1);
  turn.state.set_deadline(id);
  // With a sibling out, nothing is gained by waiting for a place.
  return sent || !request.copies.empty();
}

void walk_path(Turn& turn, RequestHandle id, uint32_t number) {
  Request& request = turn.state.requests[id];
  Path& path = request.paths[number - 1];
  path.waits = false;
  const Payload input = path.input;
  turn.state.hold(path, {});
  send_copy(turn, {.request = id,
                   .stroll = {},
                   .target = {path.replicas[path.level]},
                   .path = number,
                   .id = request.id,
                   .level = request.levels[path.level],
                   .number = path.level,
                   .attempt = request.attempts,
                   .deadline = request.deadline,
                   .wait_limit = request.wait_limit,
                   .waited = path.waited,
                   .payload = input});
  path.copy = request.copies.back();
}

void walk_on(Turn& turn, StrollId id, const Payload& input) {
  const Stroll& stroll = turn.state.strolls[id];
  const Path& path = stroll.path;
  send_copy(turn, {.request = {},
                   .stroll = id,
                   .target = {path.replicas[path.level]},
                   .path = stroll.number,
                   .id = stroll.id,
                   .level = stroll.levels[path.level],
                   .number = path.level,
                   .deadline = stroll.deadline,
                   .wait_limit = stroll.wait_limit,
                   .waited = path.waited,
                   .payload = input});
}

}  // namespace redoubt::broker
