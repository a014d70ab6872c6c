// checkpoint: nothing leaves for a replica before the state that survives the manager knows of it. Every
// change has a sequence number of its epoch and goes to every follower of the stream that has been sent what
// it changes; the state has a hash that is the same wherever the same requests are as far.
#include "broker/digest.h"
#include "broker/steps.h"
#include "wire/stream.h"

namespace redoubt::broker {
namespace {

// The followers that know of this sequence number of the client, or will not hear of it in another way.
Followers who_follows(State& state, ClientId client, uint64_t seq) {
  Followers to;
  for (const Follower& follower : state.followers)
    if (follower.passed(client, seq)) to.add(follower.link);
  return to;
}

// What was sent is owed an acknowledgement.
void owe(Turn& turn, const Followers& to, uint64_t bytes) {
  for (uint32_t i = 0; i < to.count; ++i) {
    Follower& follower = *turn.state.follower_of(to.links[i]);
    if (follower.mark_at == kNever) {
      follower.mark_bytes = follower.sent_bytes + bytes;
      follower.mark_at = later(turn.now, turn.state.settings.dead_after);
    }
    follower.sent_bytes += bytes;
  }
}

}  // namespace

void forget_digest(State& state, Request& request) {
  state.state_hash -= request.digest;
  request.digest = 0;
}

void fill_add(const State& state, const Request& request, Time now, wire::Add& add) {
  add.epoch = state.epoch;
  add.request = request.id;
  add.levels.resize(request.levels.size());
  for (size_t i = 0; i < add.levels.size(); ++i) {
    add.levels[i].service = state.services[request.levels[i].service].name;
    add.levels[i].copies = request.levels[i].copies;
    add.levels[i].policy = request.levels[i].policy;
  }
  add.deadline_us = left_us(request.deadline - now);
  add.wait_limit_us = left_us(request.wait_limit);
  add.service_class = request.service_class;
  add.service_time_us = left_us(request.service_time);
  add.level = request.level;
  add.waited_us = left_us(request.waited);
  add.attempts = request.attempts;
  add.low_water = state.clients[request.client].entries.begin();
  add.sent_us = to_us(now);
  add.order = request.order;
  add.payload = request.payload;
}

void checkpoint_add(Turn& turn, Request& request, Progress progress) {
  State& state = turn.state;
  ++state.checkpoint_seq;
  forget_digest(state, request);
  request.digest = digest_of(request.id, request.level, request.attempts, request.payload.size());
  state.state_hash += request.digest;
  if (progress != Progress::kAttempt) request.progress_seq = state.checkpoint_seq;
  if (state.followers.empty()) return;
  const Followers to = who_follows(state, request.client, request.id.seq);
  if (to.count == 0) return;
  SendAdd& send = std::get<SendAdd>(turn.effects.emplace_back(std::in_place_type<SendAdd>));
  send.to = to;
  if (progress == Progress::kNew) {
    fill_add(state, request, turn.now, send.add);
  } else {
    send.add.epoch = state.epoch;
    send.add.request = request.id;
    send.add.progress = true;
    send.add.same_payload = progress == Progress::kAttempt;
    send.add.level = request.level;
    send.add.waited_us = left_us(request.waited);
    send.add.attempts = request.attempts;
    send.add.low_water = state.clients[request.client].entries.begin();
    send.add.sent_us = to_us(turn.now);
    if (!send.add.same_payload) send.add.payload = request.payload;
  }
  send.add.seq = state.checkpoint_seq;
  state.clients[request.client].told_low_water = send.add.low_water;
  owe(turn, to, wire::stream_bytes(send.add));
}

void checkpoint_remove(Turn& turn, Request& request, const Record& record) {
  State& state = turn.state;
  ++state.checkpoint_seq;
  forget_digest(state, request);
  if (state.followers.empty()) return;
  const Followers to = who_follows(state, request.client, request.id.seq);
  if (to.count == 0) return;
  SendRemove& send = std::get<SendRemove>(turn.effects.emplace_back(std::in_place_type<SendRemove>));
  send.to = to;
  send.remove.epoch = state.epoch;
  send.remove.seq = state.checkpoint_seq;
  send.remove.request = request.id;
  send.remove.status = record.status;
  send.remove.reason = record.reason;
  send.remove.body_dropped = record.body_dropped;
  send.remove.low_water = state.clients[request.client].entries.begin();
  send.remove.payload = record.body;
  state.clients[request.client].told_low_water = send.remove.low_water;
  owe(turn, to, wire::stream_bytes(send.remove));
}

void checkpoint_mark(Turn& turn, ClientId id) {
  State& state = turn.state;
  Client& client = state.clients[id];
  if (client.told_low_water == client.entries.begin()) return;
  client.told_low_water = client.entries.begin();
  ++state.checkpoint_seq;
  // A client that the walk is at has been told of already; one beyond it will be.
  const Followers to = who_follows(state, id, 0);
  if (to.count == 0) return;
  SendMark send{to, {}};
  send.mark.epoch = state.epoch;
  send.mark.seq = state.checkpoint_seq;
  send.mark.client = client.incarnation;
  send.mark.generation = client.generation;
  send.mark.low_water = client.told_low_water;
  owe(turn, to, wire::stream_bytes(send.mark));
  turn.effects.emplace_back(std::move(send));
}

void checkpoint_gone(Turn& turn, ClientId id, const std::vector<uint64_t>& requests) {
  State& state = turn.state;
  const Client& client = state.clients[id];
  for (size_t at = 0; at < requests.size(); at += wire::kMaxBatch) {
    ++state.checkpoint_seq;
    const Followers to = who_follows(state, id, 0);
    if (to.count == 0) continue;
    SendClientGone send{to, {}};
    send.gone.epoch = state.epoch;
    send.gone.seq = state.checkpoint_seq;
    send.gone.client = client.incarnation;
    send.gone.generation = client.generation;
    const size_t end = std::min<size_t>(requests.size(), at + wire::kMaxBatch);
    send.gone.requests.assign(requests.begin() + static_cast<std::ptrdiff_t>(at),
                              requests.begin() + static_cast<std::ptrdiff_t>(end));
    owe(turn, to, wire::stream_bytes(send.gone));
    turn.effects.emplace_back(std::move(send));
  }
}

void checkpoint_forget(Turn& turn, ClientId id) {
  State& state = turn.state;
  const Client& client = state.clients[id];
  ++state.checkpoint_seq;
  const Followers to = who_follows(state, id, 0);
  if (to.count == 0) return;
  SendClientGone send{to, {}};
  send.gone.epoch = state.epoch;
  send.gone.seq = state.checkpoint_seq;
  send.gone.client = client.incarnation;
  send.gone.generation = client.generation;
  send.gone.all = true;
  owe(turn, to, wire::stream_bytes(send.gone));
  turn.effects.emplace_back(std::move(send));
}

// ---- Acknowledgements

// A standby protects when the group has written down that it is in sync: before that others could be elected
// who do not know it.
bool is_unprotected(const State& state) {
  return state.settings.checkpoint_ack != CheckpointAck::kNone && state.committed == 0;
}

bool is_confirmed(const State& state, uint64_t seq) {
  if (state.settings.checkpoint_ack == CheckpointAck::kNone || is_unprotected(state)) return true;
  // Those who were in sync count until the group has written down that they are not.
  const bool missing = (state.committed & ~state.in_sync) != 0;
  const bool all = state.settings.checkpoint_ack == CheckpointAck::kAll;
  if (all && missing) return false;
  uint32_t have = 0, lack = 0;
  for (const Follower& follower : state.followers) {
    if (follower.number == kNoBroker || follower.stage != Follower::Stage::kInSync) continue;
    if (follower.position.seq < seq)
      ++lack;
    else if (has(state.committed, follower.number))
      ++have;
  }
  return all ? lack == 0 : have > 0;
}

}  // namespace redoubt::broker
