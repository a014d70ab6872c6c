// Every step of the protocol, by the file that holds it. A step checks with named refusals, asserts what now
// holds, then changes the state and appends effects. `now` is the turn's clock reading.
#pragma once

#include <memory>

#include "broker/effect.h"
#include "broker/group/table.h"
#include "broker/state.h"

namespace redoubt::broker {

// What is left of a budget, as it travels: never negative.
inline uint64_t left_us(Duration left) {
  return left > Duration::zero() ? static_cast<uint64_t>(to_us(left)) : 0;
}

// What every step works on.
struct Turn {
  State& state;
  Time now;
  Effects& effects;
};

// How a request ends.
struct Outcome {
  wire::Status status = wire::Status::kOk;
  wire::Refusal reason = wire::Refusal::kNone;
  std::string text{};
  bool running = false;
  Payload payload{};
};

// ---- flow/: the life of a request, in the order in which it happens.

// admit.cc: requests come in, from a client or again from one that sent them before.
void admit(Turn& turn, LinkId from, wire::Submit& submit, bool payload_skipped);

// checkpoint.cc: every change of what outlives this manager goes to the standbys, in order.
enum class Progress : uint8_t { kNew, kLevel, kAttempt };
void checkpoint_add(Turn& turn, Request& request, Progress progress);
// The request has ended as the record says.
void checkpoint_remove(Turn& turn, Request& request, const Record& record);
// The client's low-water mark, if standbys do not know it yet.
void checkpoint_mark(Turn& turn, ClientId client);
// These of the client's requests are gone and their ids unknown; and everything of it is.
void checkpoint_gone(Turn& turn, ClientId client, const std::vector<uint64_t>& requests);
void checkpoint_forget(Turn& turn, ClientId client);
void forget_digest(State& state, Request& request);
// A request as it is, for a follower that does not know it.
void fill_add(const State& state, const Request& request, Time now, wire::Add& add);
// Whether as many standbys as the settings ask for have acknowledged this change.
bool is_confirmed(const State& state, uint64_t seq);
// An acknowledgement was asked for and nobody is there to give it.
bool is_unprotected(const State& state);

// dispatch.cc: once the request's last change is confirmed, copies of it go out by its plan, or it waits in
// its service's queue. `front`: it waited before.
void dispatch_or_queue(Turn& turn, RequestHandle id, uint32_t wanted, bool front);
// One of its paths waits until then.
void wait_for_standbys(Turn& turn, RequestHandle id);
// Acknowledgements have come.
void dispatch_confirmed(Turn& turn);
// Another copy of a request that has waited before: false when it must wait again, which is the caller's.
bool dispatch_again(Turn& turn, RequestHandle id);
// A copy of the request at its level goes there. `path`: the one that begins with it, from 1.
void send_copy(Turn& turn, RequestHandle id, Target target, uint32_t path = 0);
// The next copy of one of a request's paths (numbered from 1) goes to the replica that was chosen for it.
void walk_path(Turn& turn, RequestHandle id, uint32_t number);
// The same of a path whose request has been answered.
void walk_on(Turn& turn, StrollId id, const Payload& input);
// A request whose turn it is goes out, or waits for its standbys, or ends as too late. False when nobody can
// take it now.
bool go_out(Turn& turn, RequestHandle id, uint32_t wanted, bool returned);

// serve_queues.cc: those who wait for services that have been stirred (State::stir), at the end of a step.
void serve_queues(Turn& turn);
// A queued request is looked at again when the plan that let it wait says so.
void look_again(Turn& turn, RequestHandle id);

// dispatch_further.cc: copies beyond the first.
// The time of a request's further copy has come.
void dispatch_further(Turn& turn, RequestHandle id);
// Another copy would better its chances (auto): the next worker that finds nothing to do may have it.
void be_hungry(Turn& turn, RequestHandle id);
// Requests whose copy takes longer than most do, and would be in time with another one, get it before those
// that wait get theirs.
void rescue(Turn& turn, ServiceId service);
// Workers that have nothing to do get extra copies, where they are worth most. Where an execution stops at
// once when it is told to, they cost nobody anything, and only a cap on all of them counts.
void feed(Turn& turn, ServiceId service);
// Extra copies that the request's policy lets it have, of so many; what it has not it goes without. And back,
// what has found no replica.
uint32_t allowed(State& state, const Request& request, uint32_t extra);
void give_back(State& state, const Request& request, uint32_t extra);

// first_completion.cc: a copy has ended. Only a success wins.
void copy_started(Turn& turn, LinkId from, const wire::Started& started);
void copy_done(Turn& turn, LinkId from, wire::Done& done, bool payload_skipped);
// An execution at the request's level failed or was lost.
void count_attempt(Turn& turn, Request& request, std::string failure);
// A copy of the request's level has gone without a result and its place is free. Is there another hope?
void copy_gone(Turn& turn, RequestHandle id, wire::Fate fate);

// halt_siblings.cc: what the disposal says about the copies that are no longer needed.
void halt_siblings(Turn& turn, Request& request, CopyId except);
// Its client wants it no more: all go, whatever the disposal.
void halt_all(Turn& turn, Request& request);
// Halts whose time has come leave, those for one replica together.
void send_halts(Turn& turn);

// next_level.cc: the winner's result becomes the next level's input.
void next_level(Turn& turn, RequestHandle id, Payload result);

// next_on_path.cc: requests that go by fixed paths; each goes on by itself.
// The copy that was under way on a path has ended.
void path_done(Turn& turn, RequestHandle id, const Copy& copy, const std::string& replica_name,
               wire::Done& done);
// A path's copy has gone without a result. True if another path is still alive, and that is that; else the
// request goes on like any other whose copies are gone.
bool path_broken(Turn& turn, Request& request, uint32_t number);
// A copy of a path whose request has been answered has ended.
void stroll_done(Turn& turn, const Copy& copy, wire::Done& done);
// The standbys have acknowledged what some paths wait for.
void walk_waiting_paths(Turn& turn, RequestHandle id);

// reply.cc: the request ends; its client hears of it, and a small record of the outcome stays until the
// client's low-water mark passes it.
void reply(Turn& turn, RequestHandle id, Outcome outcome);
// The request ends without anybody being told, and its id becomes unknown. Standbys are the caller's.
void abandon(Turn& turn, Client& client, ClientEntry& entry);
// An outcome for a sequence number that never became a request here.
void refuse(Turn& turn, Client& client, uint64_t seq, wire::Refusal reason, std::string text);
// The recorded outcome once more.
void reply_again(Turn& turn, const Client& client, uint64_t seq);
// The client has settled everything below.
void forget_below(Turn& turn, Client& client, uint64_t low_water);

// ---- faults/ and joining.

// client_lost.cc
void client_up(Turn& turn, LinkId link, const wire::Hello& hello, Time arrived);
void client_lost(Turn& turn, LinkId link);
void client_cancels(Turn& turn, LinkId link, const wire::Cancel& cancel);
void forget_lingering(Turn& turn);

// replica_lost.cc
void replica_up(Turn& turn, const ReplicaUp& event);
void replica_lost(Turn& turn, ReplicaId id, const std::string& why);
void replica_leaving(Turn& turn, ReplicaId id);

// silence.cc: heartbeats to replicas, and replicas that say nothing.
void heard_from(Turn& turn, ReplicaId id);
void heartbeats(Turn& turn);
void forgive_silence(Turn& turn, Duration stood_still);

// settling.cc: just after a broker's start, clients may return before the replicas they know of.
// The service, if a replica ever offered it or this client may wait for one that does. `again`: it has sent
// the request before.
const ServiceId* offered_or_awaited(Turn& turn, const Client& client, const std::string& name, bool again);
// The time is over: what still waits for a service that nobody offers is refused.
void settle(Turn& turn);

// standby_lost.cc: followers of the checkpoint stream come, acknowledge, fall behind and go.
void follower_up(Turn& turn, LinkId link, BrokerNumber number, std::string name);
// What the one too many from outside the group is told.
std::string too_many_learners();
void follower_heard(Turn& turn, LinkId link, const wire::Pulse& pulse);
void follower_lost(Turn& turn, LinkId link, const std::string& why);
void drop_slow_followers(Turn& turn);
Time followers_due(const State& state);

// collect.cc: a follower gets everything that is here, a piece at a time.
void collect_more(Turn& turn, Follower& follower);

// manager_lost.cc: what this manager has from the one before it.
// Everything of the table is here from now on; nothing is sent before recover().
void inherit(Turn& turn, Table& table, bool stale);
// And back: what a manager leaves when it steps down.
std::unique_ptr<Table> bequeath(State& state, Time now);
// A replica tells what it holds: it is adopted, or wanted no more.
void replica_holds(Turn& turn, LinkId link, const wire::Holding& holding);
// All replicas have told, or their time is over: what nobody holds is sent again.
void recover(Turn& turn);
// From when on: replicas that have registered are waited for, and one that has.
Time recovering_from(const State& state);
// Its client has sent an inherited request again.
void confirm_inherited(Turn& turn, const Client& client, RequestHandle id);
// The client has sent everything that it still waits for: what else is here of it is wanted no more.
void drop_unconfirmed(Turn& turn, ClientId client);

// deadline_passed.cc
void deadlines_passed(Turn& turn);

}  // namespace redoubt::broker
