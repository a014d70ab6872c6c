// Every step of the protocol, by the file that holds it. A step checks with named refusals, asserts what now
// holds, then changes the state and appends effects. `now` is the turn's clock reading.
#pragma once

#include "broker/effect.h"
#include "broker/state.h"

namespace redoubt::broker {

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

// checkpoint.cc: the request, or its progress, becomes part of the state that standbys hold; and leaves it.
void checkpoint_add(Turn& turn, Request& request);
void checkpoint_remove(Turn& turn, Request& request);

// dispatch.cc: copies of a request go out by its plan, or it waits in its service's queue. `front`: it waited
// before.
void dispatch_or_queue(Turn& turn, RequestHandle id, uint32_t wanted, bool front);
// Another copy of a request that has waited before: false when it must wait again, which is the caller's.
bool dispatch_again(Turn& turn, RequestHandle id);
// A replica may have become free: those who wait longest go first.
void serve_queues(Turn& turn, ReplicaId replica);

// first_completion.cc: a copy has ended. Only a success wins.
void copy_started(Turn& turn, LinkId from, const wire::Started& started);
void copy_done(Turn& turn, LinkId from, wire::Done& done, bool payload_skipped);
// An execution at the request's level failed or was lost.
void count_attempt(Turn& turn, Request& request, std::string failure);
// A copy of the request's level has gone without a result and its place is free. Is there another hope?
void copy_gone(Turn& turn, RequestHandle id, wire::Fate fate);

// halt_siblings.cc: what the disposal says about the copies that are no longer needed.
void halt_siblings(Turn& turn, Request& request, CopyId except);

// next_level.cc: the winner's result becomes the next level's input.
void next_level(Turn& turn, RequestHandle id, Payload result);

// reply.cc: the request ends; its client hears of it, and a small record of the outcome stays until the
// client's low-water mark passes it.
void reply(Turn& turn, RequestHandle id, Outcome outcome);
// An outcome for a sequence number that never became a request here.
void refuse(Turn& turn, Client& client, uint64_t seq, wire::Refusal reason, std::string text);
// The recorded outcome once more.
void reply_again(Turn& turn, const Client& client, uint64_t seq);
// The client has settled everything below.
void forget_below(Turn& turn, Client& client, uint64_t low_water);

// ---- faults/ and joining.

// client_lost.cc
void client_up(Turn& turn, LinkId link, const wire::Hello& hello);
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
void forgive_silence(Turn& turn);

// settling.cc: just after a broker's start, clients may return before the replicas they know of.
// The service, if a replica ever offered it or this client may wait for one that does.
const ServiceId* offered_or_awaited(Turn& turn, const Client& client, const std::string& name);
// The time is over: what still waits for a service that nobody offers is refused.
void settle(Turn& turn);

// deadline_passed.cc
void deadlines_passed(Turn& turn);

}  // namespace redoubt::broker
