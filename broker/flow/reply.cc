// reply: a request ends, its client hears how, and a small record stays until the client's low-water mark
// passes it, so that the same id sent again is answered and not executed.
#include <algorithm>

#include "broker/steps.h"
#include "core/utf8.h"

namespace redoubt::broker {
namespace {

void record(State& state, Client& client, ClientEntry& entry, const Outcome& outcome, Payload body) {
  entry.is = ClientEntry::Is::kSettled;
  entry.status = outcome.status;
  entry.reason = outcome.reason;
  entry.request = {};
  state.records.retain(client, entry, std::move(body));
}

// Out of every index but the client's; copies that are still out are losers from now on. What few requests
// need is left empty for the next one here, which need not look at it.
void release(Turn& turn, RequestHandle id) {
  State& state = turn.state;
  Request& request = state.requests[id];
  if (request.phase == Request::Phase::kQueued) state.dequeue(id, turn.now);
  state.deadlines.erase(id);
  state.drop_further(request);
  for (Path& path : request.paths) state.hold(path, {});
  request.paths.clear();
  state.hold(request, {});
  request.copies.clear();
  if (request.attempts > 0) {
    request.failed.clear();
    request.failure.clear();
  }
  state.requests.give_back(id);
}

}  // namespace

void abandon(Turn& turn, Client& client, ClientEntry& entry) {
  const RequestHandle id = entry.request;
  Request& request = turn.state.requests[id];
  halt_siblings(turn, request, {});
  Counters::count(turn.state.counters.requests, wire::Status::kCancelled);
  client.pending.erase(turn.state.requests, id);
  forget_digest(turn.state, request);
  release(turn, id);
  entry = ClientEntry{};
}

void reply(Turn& turn, RequestHandle id, Outcome outcome) {
  if (!outcome.text.empty()) outcome.text = readable(outcome.text, wire::kMaxTextBytes);
  State& state = turn.state;
  Request& request = state.requests[id];
  Client& client = state.clients[request.client];
  CHECK(client.entries.contains(request.id.seq));
  ClientEntry& entry = client.entries[request.id.seq];
  CHECK(entry.is == ClientEntry::Is::kPending && entry.request == id);

  Counters::count(state.counters.requests, outcome.status);
  if (outcome.status == wire::Status::kRefused) Counters::count(state.counters.refusals, outcome.reason);
  if (outcome.status == wire::Status::kOk)
    state.request_us.record(static_cast<uint64_t>(to_us(turn.now - request.arrived)));
  client.pending.erase(state.requests, id);
  record(state, client, entry, outcome,
         outcome.status == wire::Status::kOk ? outcome.payload : Payload(outcome.text));
  checkpoint_remove(turn, request, entry);
  // Who has cancelled knows it already.
  if (client.link != kNoLink && outcome.status != wire::Status::kCancelled) {
    SendReply& send = std::get<SendReply>(turn.effects.emplace_back(std::in_place_type<SendReply>));
    send.to = client.link;
    send.reply.seq = request.id.seq;
    send.reply.status = outcome.status;
    send.reply.reason = outcome.reason;
    send.reply.text = std::move(outcome.text);
    send.reply.level = request.level;
    send.reply.running = outcome.running;
    const Duration unfinished = outcome.status == wire::Status::kOk ? Duration::zero() : request.level_wait;
    send.reply.wait_us = static_cast<uint64_t>(to_us(request.waited + unfinished));
    send.reply.levels = std::move(request.reports);
    send.reply.payload = std::move(outcome.payload);
  }
  release(turn, id);
}

void refuse(Turn& turn, Client& client, uint64_t seq, wire::Refusal reason, std::string text) {
  State& state = turn.state;
  text = readable(text, wire::kMaxTextBytes);
  Counters::count(state.counters.requests, wire::Status::kRefused);
  Counters::count(state.counters.refusals, reason);
  const Outcome outcome{.status = wire::Status::kRefused, .reason = reason};
  if (client.entries.contains(seq)) record(state, client, client.entries[seq], outcome, Payload(text));
  wire::Reply reply;
  reply.seq = seq;
  reply.status = wire::Status::kRefused;
  reply.reason = reason;
  reply.text = std::move(text);
  turn.effects.emplace_back(SendReply{client.link, std::move(reply)});
}

void reply_again(Turn& turn, const Client& client, uint64_t seq) {
  const ClientEntry& entry = client.entries[seq];
  CHECK(entry.is == ClientEntry::Is::kSettled);
  ++turn.state.counters.answered_again;
  wire::Reply reply;
  reply.seq = seq;
  reply.status = entry.status;
  reply.reason = entry.reason;
  if (entry.body_dropped && entry.status == wire::Status::kOk) {
    reply.status = wire::Status::kRefused;
    reply.reason = wire::Refusal::kResultGone;
    reply.text = "the request was executed, but its result is no longer held";
  } else if (entry.status == wire::Status::kOk) {
    reply.payload = entry.body;
  } else {
    reply.text = entry.body.str();
  }
  turn.effects.emplace_back(SendReply{client.link, std::move(reply)});
}

void forget_below(Turn& turn, Client& client, uint64_t low_water) {
  // A client that says it has settled what still runs here has gone past it: its deadline was earlier than
  // ours.
  State& state = turn.state;
  const uint64_t end = std::min(low_water, client.entries.end());
  for (uint64_t seq = client.entries.begin(); seq < end; ++seq) {
    const ClientEntry& entry = client.entries[seq];
    if (entry.is != ClientEntry::Is::kPending) continue;
    halt_siblings(turn, state.requests[entry.request], {});
    reply(turn, entry.request, {.status = wire::Status::kCancelled});
  }
  // The mark may lie beyond all that came here: the client settles what it never sent, too.
  const uint64_t before = client.entries.size();
  client.entries.advance(std::max(low_water, client.entries.begin()),
                         [&](ClientEntry& entry) { state.records.let_go(client, entry); });
  state.window_entries -= before - client.entries.size();
}

}  // namespace redoubt::broker
