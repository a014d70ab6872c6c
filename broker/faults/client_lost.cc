// client_lost: clients come, return, cancel and go. What a gone client has queued goes at once, unless some
// of it has run; what runs for it is not told. The rest is kept for a while in case the client returns.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

// Those of its requests that this applies to go, here and on the standbys. Their ids become unknown: if they
// are sent again, they are new ones.
template <class Applies>
void abandon_those(Turn& turn, ClientId id, Applies applies) {
  Client& client = turn.state.clients[id];
  std::vector<uint64_t> gone;
  for (RequestHandle next = client.pending.first(); next;) {
    const Request& request = turn.state.requests[next];
    next = request.of_client.next;
    if (!applies(request)) continue;
    gone.push_back(request.id.seq);
    abandon(turn, client, client.entries[request.id.seq]);
  }
  checkpoint_gone(turn, id, gone);
}

void forget(Turn& turn, ClientId id) {
  State& state = turn.state;
  Client& client = state.clients[id];
  while (!client.pending.empty())
    abandon(turn, client, client.entries[state.requests[client.pending.first()].id.seq]);
  checkpoint_forget(turn, id);
  state.client_ids.erase(client.incarnation);
  state.window_entries -= client.entries.size();
  client.entries.advance(client.entries.end(),
                         [&](ClientEntry& entry) { state.records.let_go(client, entry); });
  client = Client{};
  state.clients.give_back(id);
}

}  // namespace

void client_up(Turn& turn, LinkId link, const wire::Hello& hello, Time arrived) {
  State& state = turn.state;
  const auto known = state.client_ids.find(hello.incarnation);
  if (known != state.client_ids.end()) {
    Client& client = state.clients[known->second];
    if (client.link != kNoLink && hello.link_generation <= client.generation) {
      turn.effects.emplace_back(
          CloseLink{link, wire::CloseReason::kDuplicateName,
                    "a client with this incarnation and an equal or newer link is connected"});
      return;
    }
    if (client.link != kNoLink) {
      state.peers.erase(client.link);
      turn.effects.emplace_back(
          CloseLink{client.link, wire::CloseReason::kReplaced, "you opened a newer link"});
    }
    client.link = link;
    client.generation = hello.link_generation;
    client.transit = Transit{};
    client.transit.excess(arrived, hello.sent_us);
    client.told_all_open = false;
    client.lingers_until = kNever;
    state.peers.set(link, {.client = known->second, .replica = {}});
    return;
  }
  if (state.clients.size() >= kMaxSessions) {
    forget_lingering(turn);
    if (state.clients.size() >= kMaxSessions) {
      turn.effects.emplace_back(CloseLink{link, wire::CloseReason::kTooManyClients, "too many clients"});
      return;
    }
  }
  const ClientId id = state.clients.take();
  Client& client = state.clients[id];
  client = Client{};
  client.link = link;
  client.name = hello.name;
  client.incarnation = hello.incarnation;
  client.generation = hello.link_generation;
  client.transit.excess(arrived, hello.sent_us);
  state.client_ids[hello.incarnation] = id;
  state.peers.set(link, {.client = id, .replica = {}});
  turn.effects.emplace_back(Note{Note::Kind::kClientJoined, client.name, {}});
}

void client_lost(Turn& turn, LinkId link) {
  State& state = turn.state;
  const ClientId id = state.client_of(link);
  state.peers.erase(link);
  Client& client = state.clients[id];
  CHECK(client.link == link);
  client.link = kNoLink;
  ++state.counters.clients_lost;
  abandon_those(turn, id, [](const Request& request) {
    return request.phase == Request::Phase::kQueued && !request.may_have_run();
  });
  client.lingers_until = later(turn.now, kLinger);
  state.lingering.push_back(id);
  turn.effects.emplace_back(Note{Note::Kind::kClientLost, client.name, {}});
}

void client_cancels(Turn& turn, LinkId link, const wire::Cancel& cancel) {
  State& state = turn.state;
  const ClientId client_id = state.client_of(link);
  Client& client = state.clients[client_id];
  for (const uint64_t seq : cancel.seqs) {
    if (!client.entries.contains(seq) || client.entries[seq].is != ClientEntry::Is::kPending) continue;
    const RequestHandle id = client.entries[seq].request;
    Request& request = state.requests[id];
    halt_all(turn, request);
    reply(turn, id, {.status = wire::Status::kCancelled, .text = "cancelled by the client"});
  }
  forget_below(turn, client, cancel.low_water);
  checkpoint_mark(turn, client_id);
}

void forget_lingering(Turn& turn) {
  State& state = turn.state;
  while (!state.lingering.empty()) {
    const ClientId id = state.lingering.front();
    const Client* client = state.clients.find(id);
    const bool returned = !client || client->link != kNoLink;
    const bool full = state.clients.size() >= kMaxSessions;
    if (!returned && client->lingers_until > turn.now && !full) return;
    state.lingering.pop_front();
    if (!returned && (client->lingers_until <= turn.now || full)) forget(turn, id);
  }
}

}  // namespace redoubt::broker
