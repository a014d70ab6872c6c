// admit: requests come in. A known id joins what runs or is answered from the record; everything else is
// checked against what could refuse it, once and for good: a refused request is never executed.
#include <algorithm>
#include <utility>

#include "broker/steps.h"
#include "wire/policy_text.h"

namespace redoubt::broker {
namespace {

using wire::Refusal;

// A level as it will be served: what the client left open is the service's.
void fill_spec(ServiceId service, const wire::Level& asked, const ServicePolicy& usual, LevelSpec& spec) {
  const auto redundancy = asked.policy.redundancy;
  const wire::Policy& disposal =
      asked.policy.disposal == wire::Disposal::kDefault ? usual.policy : asked.policy;
  const bool unsaid = disposal.disposal == wire::Disposal::kTwoPhase && disposal.first_phase == 0;
  spec.service = service;
  spec.copies = asked.copies > 0 ? asked.copies : usual.copies;
  spec.policy.redundancy = redundancy == wire::Redundancy::kDefault ? usual.policy.redundancy : redundancy;
  spec.policy.disposal = disposal.disposal;
  spec.policy.first_phase = unsaid ? wire::kUsualFirstPhase : disposal.first_phase;
}

// Paths go through all levels: the first level's word counts, and its number of copies.
void agree_on_paths(LevelSpecs& levels) {
  const bool paths = levels.front().policy.redundancy == wire::Redundancy::kPaths;
  for (LevelSpec& level : levels) {
    if (paths) level.policy.redundancy = wire::Redundancy::kPaths;
    if (paths) level.copies = levels.front().copies;
    if (!paths && level.policy.redundancy == wire::Redundancy::kPaths)
      level.policy.redundancy = wire::Redundancy::kPerLevel;
  }
}

// Why a request cannot be served whatever the load is, or kNone. Fills `levels`.
Refusal resolve(Turn& turn, const Client& client, const wire::Request& asked, bool again, LevelSpecs& levels,
                std::string& text) {
  levels.clear();
  if (asked.levels.empty() || asked.levels.size() > wire::kMaxLevels) {
    text = "a request must name 1 to " + std::to_string(wire::kMaxLevels) + " levels, not " +
           std::to_string(asked.levels.size());
    return Refusal::kInvalid;
  }
  for (const wire::Level& level : asked.levels) {
    if (level.service.empty() || level.service.size() > wire::kMaxNameBytes) {
      text = "a service's name must have 1 to " + std::to_string(wire::kMaxNameBytes) + " bytes, not " +
             std::to_string(level.service.size());
      return Refusal::kInvalid;
    }
    if (level.copies > wire::kMaxCopies) {
      text = "copies at level " + level.service + " must be 1 to " + std::to_string(wire::kMaxCopies) +
             ", not " + std::to_string(level.copies);
      return Refusal::kInvalid;
    }
    const ServiceId* service = offered_or_awaited(turn, client, level.service, again);
    if (!service) {
      text = "no replica ever offered service '" + level.service + "'";
      return Refusal::kNoReplica;
    }
    fill_spec(*service, level, turn.state.services[*service].policy, levels.emplace_back());
  }
  agree_on_paths(levels);
  for (const LevelSpec& level : levels)
    if (level.policy.redundancy == wire::Redundancy::kAuto) turn.state.keep_paces(level.service);
  return Refusal::kNone;
}

// Why the load does not allow it just now, or kNone. `again`: it has been accepted before, as far as anybody
// knows, and may have been executed; memory has its limit all the same.
Refusal overloaded(Turn& turn, const LevelSpecs& levels, uint64_t payload_bytes, bool again,
                   std::string& text) {
  State& state = turn.state;
  if (state.held_bytes + payload_bytes > state.settings.held_limit) {
    text = "requests of " + std::to_string(state.held_bytes) + " bytes are held already, --held-limit is " +
           std::to_string(state.settings.held_limit);
    return Refusal::kQueueFull;
  }
  if (again) return Refusal::kNone;
  if (state.stopping) {
    text = "the broker is stopping";
    return Refusal::kStopping;
  }
  const Service& first = state.services[levels.front().service];
  const bool binds_late = levels.front().policy.redundancy == wire::Redundancy::kAuto;
  const bool must_wait = !first.queue.empty() || (binds_late ? first.ready.empty() : first.free.empty());
  // Those who wait at later levels count as well: what is let in now will stand behind them.
  // So do those that wait for their standbys.
  // Of these some have ended meanwhile.
  const size_t waiting = std::min<size_t>(state.queued + state.unconfirmed.size(), state.requests.size());
  if (waiting >= state.settings.queue_limit && (must_wait || waiting > 0)) {
    text = std::to_string(waiting) + " requests wait already, the limit is " +
           std::to_string(state.settings.queue_limit);
    return Refusal::kQueueFull;
  }
  if (!state.bucket.admit(turn.now)) {
    text = "more requests than the admission rate allows";
    return Refusal::kRate;
  }
  return Refusal::kNone;
}

// An id that is known already. True when there is nothing left to do.
bool known(Turn& turn, Client& client, const wire::Request& asked) {
  if (asked.seq < client.entries.begin()) return true;  // settled at the client, who said so itself
  if (!client.entries.contains(asked.seq)) return false;
  switch (client.entries[asked.seq].is) {
    case ClientEntry::Is::kUnknown:
      return false;
    case ClientEntry::Is::kPending:
      ++turn.state.counters.joined;
      confirm_inherited(turn, client, client.entries[asked.seq].request);
      return true;
    case ClientEntry::Is::kSettled:
      reply_again(turn, client, asked.seq);
      return true;
  }
  CHECK(false);
}

// The slot's last request has left empty what is not set here: release() in reply.cc.
RequestHandle accept(Turn& turn, ClientId client_id, wire::Request& asked, const LevelSpecs& levels,
                     Duration charge) {
  State& state = turn.state;
  Client& client = state.clients[client_id];
  const RequestHandle id = state.requests.take();
  Request& request = state.requests[id];
  request.client = client_id;
  request.id = {client.incarnation, asked.seq};
  request.levels = levels;
  request.service_class = asked.service_class > 0 ? asked.service_class : kUsualClass;
  request.service_time = from_us(static_cast<int64_t>(asked.service_time_us));
  request.order = ++state.orders;
  request.arrived = turn.now;
  request.deadline = later(turn.now, from_us(static_cast<int64_t>(asked.deadline_us)) - charge);
  request.wait_limit = from_us(static_cast<int64_t>(asked.wait_limit_us));
  request.level = 0;
  state.hold(request, std::move(asked.payload));
  request.waited = request.level_wait = Duration::zero();
  request.attempts = request.dispatched = 0;
  request.phase = Request::Phase::kRunning;
  request.sent_before = asked.resend;
  request.started = request.lost = false;
  request.first_sent = turn.now;
  request.reports.clear();
  request.digest = 0;
  request.heard_on = client.generation;
  CHECK(state.deadlines.place_of(id) == kNowhere);

  ClientEntry& entry = client.entries[asked.seq];
  entry.is = ClientEntry::Is::kPending;
  entry.request = id;
  client.pending.push_back(state.requests, id);
  ++state.counters.admitted;
  return id;
}

void admit_one(Turn& turn, ClientId client_id, wire::Request& asked, bool too_large, Duration charge,
               LevelSpecs& levels) {
  Client& client = turn.state.clients[client_id];
  if (asked.seq == 0)
    return refuse(turn, client, 0, Refusal::kInvalid, "a request's sequence number must not be 0");
  if (known(turn, client, asked)) return;
  if (asked.seq - client.entries.begin() >= kClientWindow)
    return refuse(turn, client, asked.seq, Refusal::kClientLimit,
                  "too many requests are newer than your oldest open one");
  const uint64_t growth = asked.seq + 1 - std::min(asked.seq + 1, client.entries.end());
  if (turn.state.window_entries + growth > kWindowsInAll)
    return refuse(turn, client, asked.seq, Refusal::kClientLimit,
                  "too many requests of all clients are open");
  turn.state.window_entries += growth;
  client.entries.extend(asked.seq + 1);

  std::string text;
  if (too_large)
    return refuse(
        turn, client, asked.seq, Refusal::kTooLarge,
        "the payload is over the limit of " + std::to_string(turn.state.settings.max_payload) + " bytes");
  // What a client says it has sent before counts until it says that this was all.
  const bool again = asked.resend && !client.told_all_open;
  const auto refuse_it = [&](Refusal reason) {
    if (again && reason != Refusal::kInvalid) text += "; it was sent before, and may have been executed then";
    refuse(turn, client, asked.seq, reason, std::move(text));
  };
  if (const Refusal reason = resolve(turn, client, asked, again, levels, text); reason != Refusal::kNone)
    return refuse_it(reason);
  const bool spent = from_us(static_cast<int64_t>(asked.deadline_us)) <= charge;
  if (!spent)
    if (const Refusal reason = overloaded(turn, levels, asked.payload.size(), again, text);
        reason != Refusal::kNone)
      return refuse_it(reason);

  const RequestHandle id = accept(turn, client_id, asked, levels, charge);
  checkpoint_add(turn, turn.state.requests[id], Progress::kNew);
  if (spent)
    return reply(turn, id,
                 {.status = wire::Status::kExpired, .text = "the deadline passed on the way to the broker"});
  dispatch_or_queue(turn, id, levels.front().copies, false);
}

}  // namespace

void admit(Turn& turn, LinkId from, wire::Submit& submit, bool payload_skipped) {
  const ClientId client_id = turn.state.client_of(from);
  CHECK(client_id);
  Client& client = turn.state.clients[client_id];
  forget_below(turn, client, submit.low_water);
  const Duration charge = client.transit.excess(turn.now, submit.sent_us);
  LevelSpecs levels;
  for (wire::Request& asked : submit.requests)
    admit_one(turn, client_id, asked, payload_skipped, charge, levels);
  // Once a link: to look through all that a client has open takes long.
  if (submit.all_open && !std::exchange(client.told_all_open, true)) drop_unconfirmed(turn, client_id);
  checkpoint_mark(turn, client_id);
}

}  // namespace redoubt::broker
