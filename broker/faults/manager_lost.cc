// manager_lost: what a new manager has from the one before it. Its table becomes requests again; replicas say
// which copies they hold, and those are adopted; what nobody holds is sent again, once, in the old order. A
// copy may be ahead of what the checkpoint knows of its request: then its result moves the request on, and
// until it comes nothing is tried at the level before.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

// Where nobody has offered it yet, the earlier manager knew somebody who did.
ServiceId known_service(State& state, const std::string& name) {
  const ServiceId* id = state.learn_service(name);
  CHECK(id != nullptr);  // a table has few names: replicas made them known before
  state.services[*id].offered = true;
  return *id;
}

RequestHandle inherit_request(Turn& turn, ClientId client, Table::Request& from) {
  State& state = turn.state;
  const RequestHandle id = state.requests.take();
  Request& request = state.requests[id];
  request = Request{};
  request.client = client;
  request.id = from.id;
  for (const wire::Level& level : from.levels) {
    const ServiceId service = known_service(state, level.service);
    request.levels.push_back({service, level.copies, level.policy});
    if (level.policy.redundancy == wire::Redundancy::kAuto) state.keep_paces(service);
  }
  request.service_class = from.service_class;
  request.service_time = from.service_time;
  request.order = from.order;
  state.orders = std::max(state.orders, from.order);
  request.arrived = turn.now;
  request.deadline = from.deadline;
  request.wait_limit = from.wait_limit;
  request.level = from.level;
  request.waited = from.waited;
  request.attempts = from.attempts;
  request.phase = Request::Phase::kInherited;
  request.digest = from.digest;
  state.state_hash += request.digest;
  state.hold(request, std::move(from.payload));
  state.set_deadline(id);
  return id;
}

// Whether this manager wants a copy that a replica holds.
bool wanted(const State& state, const Replica& replica, const wire::Held& held, const Request& request) {
  if (held.level < request.level || held.level >= request.levels.size()) return false;
  if (held.service >= replica.memberships.size() ||
      replica.memberships[held.service].service != request.levels[held.level].service)
    return false;
  if (replica.outstanding() >= replica.room()) return false;
  // It walks by paths of this manager's own choosing already.
  if (!request.paths.empty()) return false;
  // It has been given to others meanwhile: only what runs already is ahead of them.
  if (!request.copies.empty() && request.phase == Request::Phase::kRunning && !held.running) return false;
  return std::none_of(request.copies.begin(), request.copies.end(),
                      [&](CopyId copy) { return &state.replicas[state.copies[copy].replica] == &replica; });
}

RequestHandle find_open(const State& state, const wire::RequestId& id) {
  const auto found = state.client_ids.find(id.client);
  if (found == state.client_ids.end()) return {};
  const Client& client = state.clients[found->second];
  if (!client.entries.contains(id.seq)) return {};
  const ClientEntry& entry = client.entries[id.seq];
  return entry.is == ClientEntry::Is::kPending ? entry.request : RequestHandle{};
}

void adopt(Turn& turn, RequestHandle id, ReplicaId replica, const wire::Held& held, SendAdopt& answer) {
  State& state = turn.state;
  Request& request = state.requests[id];
  if (request.phase == Request::Phase::kQueued) state.dequeue(id, turn.now);
  request.phase = Request::Phase::kRunning;
  const CopyId copy_id = state.take_copy();
  Copy& copy = state.copies[copy_id];
  copy.request = id;
  copy.replica = replica;
  copy.service = request.levels[held.level].service;
  copy.level = held.level;
  copy.sent = turn.now;
  copy.waited_here = request.level_wait;
  copy.bytes = request.payload.size();
  copy.adopted = true;
  state.add_copy(copy_id);
  ++state.counters.adopted;
  answer.adopt.adopted.push_back({held.handle, copy_id.number()});
  state.set_deadline(id);
}

void send_again(Turn& turn, RequestHandle id) {
  Request& request = turn.state.requests[id];
  request.phase = Request::Phase::kRunning;
  request.lost = true;  // nobody has said that he holds it
  ++turn.state.counters.sent_again;
  // One copy for now: everybody's requests come at once.
  dispatch_or_queue(turn, id, 1, false);
}

}  // namespace

void inherit(Turn& turn, Table& table, bool stale) {
  State& state = turn.state;
  state.took_over = true;
  state.stale = stale;
  state.settles_at = later(turn.now, kSettling);
  state.recovers_at = later(turn.now, kRecovering);
  std::vector<std::pair<uint64_t, RequestHandle>> order;
  table.all_clients().each([&](Table::ClientId, Table::Client& from) {
    const ClientId id = state.clients.take();
    Client& client = state.clients[id];
    client = Client{};
    client.name = from.name;
    client.incarnation = from.incarnation;
    client.generation = from.generation;
    client.lingers_until = later(turn.now, kLinger);
    state.client_ids[from.incarnation] = id;
    state.lingering.push_back(id);
    client.entries = SeqWindow<ClientEntry>(from.entries.begin());
    client.entries.extend(from.entries.end());
    client.told_low_water = from.entries.begin();
    state.window_entries += client.entries.size();
    for (uint64_t seq = from.entries.begin(); seq < from.entries.end(); ++seq) {
      Table::Entry& old = from.entries[seq];
      ClientEntry& entry = client.entries[seq];
      if (old.is == Table::Entry::Is::kPending) {
        Table::Request& request = table.requests()[old.request];
        entry.is = ClientEntry::Is::kPending;
        entry.request = inherit_request(turn, id, request);
        client.pending.push_back(state.requests, entry.request);
        order.emplace_back(request.order, entry.request);
      } else if (old.is == Table::Entry::Is::kSettled) {
        entry.is = ClientEntry::Is::kSettled;
        entry.status = old.status;
        entry.reason = old.reason;
        entry.body_dropped = old.body_dropped;
        if (!old.body_dropped) state.records.retain(client, entry, std::move(old.body));
      }
    }
  });
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [admitted, request] : order) state.inherited.push_back(request);
}

std::unique_ptr<Table> bequeath(State& state, Time now) {
  auto table = std::make_unique<Table>(state.settings.held_limit);
  state.requests.each([&](RequestHandle, const Request& request) {
    wire::Add add;
    fill_add(state, request, now, add);
    const std::string why = table->apply(now, Duration::zero(), add);
    CHECK(why.empty());
  });
  state.clients.each([&](ClientId, Client& client) {
    wire::Mark mark;
    mark.client = client.incarnation;
    mark.generation = client.generation;
    mark.low_water = client.entries.begin();
    mark.name = client.name;
    CHECK(table->apply(mark).empty());
    for (uint64_t seq = client.entries.begin(); seq < client.entries.end(); ++seq) {
      ClientEntry& entry = client.entries[seq];
      if (entry.is != ClientEntry::Is::kSettled) continue;
      wire::Remove remove;
      remove.request = {client.incarnation, seq};
      remove.status = entry.status;
      remove.reason = entry.reason;
      remove.body_dropped = entry.body_dropped;
      remove.low_water = client.entries.begin();
      remove.payload = std::move(entry.body);
      CHECK(table->apply(remove).empty());
    }
  });
  CHECK(table->hash() == state.state_hash);
  return table;
}

void replica_holds(Turn& turn, LinkId link, const wire::Holding& holding) {
  State& state = turn.state;
  const ReplicaId replica_id = state.replica_of(link);
  Replica& replica = state.replicas[replica_id];
  SendAdopt answer{link, {}};
  answer.adopt.epoch = state.epoch;
  for (const wire::Held& held : holding.held) {
    const RequestHandle id = find_open(state, held.request);
    if (id && wanted(state, replica, held, state.requests[id]))
      adopt(turn, id, replica_id, held, answer);
    else
      answer.adopt.dropped.push_back(held.handle);
  }
  if (!holding.held.empty()) {
    replica.last_sent = turn.now;
    turn.effects.emplace_back(std::move(answer));
  }
  if (holding.more || !replica.unheard) return;
  replica.unheard = false;
  --state.unheard_replicas;
  state.index_replica(replica_id);
  state.stir_all_of(replica);
}

Time recovering_from(const State& state) {
  const bool waits = state.unheard_replicas > 0 || state.replicas.size() == 0;
  return waits && state.sent_again == 0 ? state.recovers_at : Time{};
}

void recover(Turn& turn) {
  State& state = turn.state;
  if (state.inherited.empty()) return;
  if (turn.now < recovering_from(state)) return;
  for (uint32_t i = 0; i < kSentAgainAStep && state.sent_again < state.inherited.size(); ++i) {
    const RequestHandle id = state.inherited[state.sent_again++];
    const Request* request = state.requests.find(id);
    if (!request || request->phase != Request::Phase::kInherited) continue;
    if (state.stale && request->heard_on == 0) continue;  // only if its client still wants it
    send_again(turn, id);
  }
  if (state.sent_again < state.inherited.size()) return;
  state.inherited = {};
  state.sent_again = 0;
}

void confirm_inherited(Turn& turn, const Client& client, RequestHandle id) {
  Request& request = turn.state.requests[id];
  request.heard_on = client.generation;
  if (request.phase == Request::Phase::kInherited && turn.state.inherited.empty()) send_again(turn, id);
}

void drop_unconfirmed(Turn& turn, ClientId id) {
  Client& client = turn.state.clients[id];
  for (RequestHandle next = client.pending.first(); next;) {
    const RequestHandle request_id = next;
    Request& request = turn.state.requests[request_id];
    next = request.of_client.next;
    if (request.heard_on == client.generation) continue;
    halt_siblings(turn, request, {});
    reply(turn, request_id, {.status = wire::Status::kCancelled});
  }
}

}  // namespace redoubt::broker
