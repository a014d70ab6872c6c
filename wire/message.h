// Every message that travels, as a plain value: what cores and shells see. How it is written is the codec's.
// The field comments that matter stand in proto/; here are the words' meanings. Durations are what is left at
// the moment the frame is made.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/payload.h"
#include "core/short_vector.h"
#include "wire/terms.h"

namespace redoubt::wire {

struct Hello {
  uint32_t version_min = 0, version_max = 0;
  Role role = Role::kUnknown;
  std::string name, cluster;
  uint64_t incarnation = 0;
  uint64_t link_generation = 0;
  int64_t sent_us = 0;
  bool operator==(const Hello&) const = default;
};

struct Welcome {
  uint32_t version = 0;
  std::string name;
  Epoch epoch;
  uint64_t max_payload = 0;
  uint64_t heartbeat_us = 0, dead_after_us = 0;
  int64_t sent_us = 0;
  bool rules = false;  // it is the manager, of this epoch; else the epoch is the highest it knows
  bool operator==(const Welcome&) const = default;
};

// What a broker has become, to clients and replicas whose links stand already.
struct Announce {
  Epoch epoch;
  bool rules = false;
  int64_t sent_us = 0;
  bool operator==(const Announce&) const = default;
};

struct Goodbye {
  CloseReason reason = CloseReason::kNone;
  std::string text;
  bool operator==(const Goodbye&) const = default;
};

struct Dummy {
  bool answer = false;
  int64_t sent_us = 0, echo_us = 0;
  bool operator==(const Dummy&) const = default;
};

struct Level {
  std::string service;
  uint32_t copies = 0;  // 0: as the manager's settings say
  Policy policy{};
  bool operator==(const Level&) const = default;
};
using Levels = ShortVector<Level, 2>;

struct Request {
  uint64_t seq = 0;
  Levels levels;
  uint64_t deadline_us = 0;
  uint64_t wait_limit_us = 0;    // 0: none
  uint32_t service_class = 0;    // in thousandths; 0: the usual
  uint64_t service_time_us = 0;  // what a level takes; 0: as measured
  bool resend = false;
  Payload payload;
  bool operator==(const Request&) const = default;
};

struct Submit {
  uint64_t low_water = 0;
  int64_t sent_us = 0;
  std::vector<Request> requests;
  bool all_open = false;  // with this frame every open request of the client has been sent on this link
  bool operator==(const Submit&) const = default;
};

struct Cancel {
  uint64_t low_water = 0;
  std::vector<uint64_t> seqs;
  bool operator==(const Cancel&) const = default;
};

struct Acknowledge {
  uint64_t low_water = 0;
  bool operator==(const Acknowledge&) const = default;
};

struct LevelReport {
  std::string service, replica;
  uint32_t copies = 0;
  uint64_t wait_us = 0, service_us = 0;
  bool operator==(const LevelReport&) const = default;
};
using LevelReports = ShortVector<LevelReport, 1>;

struct Reply {
  uint64_t seq = 0;
  Status status = Status::kOk;
  Refusal reason = Refusal::kNone;
  std::string text;
  uint32_t level = 0;
  bool running = false;
  uint64_t wait_us = 0;
  LevelReports levels;
  Payload payload;
  bool operator==(const Reply&) const = default;
};

struct Register {
  std::vector<std::string> services;
  uint32_t workers = 1;
  uint32_t queue_limit = 0;
  bool spare = false;  // it wants only what another replica has lost
  bool operator==(const Register&) const = default;
};

struct Copy {
  uint64_t copy = 0;
  Epoch epoch;
  uint32_t service = 0;
  uint32_t level = 0;
  RequestId request;
  uint32_t attempt = 0;
  uint64_t deadline_us = 0;
  uint64_t wait_us = 0;
  bool limits_wait = false;
  bool tell_start = false;
  bool extra = false;     // it takes only a worker that has nothing to do, and gives way to others
  uint64_t phase_us = 0;  // two-phase: a halt counts until so long after its arrival, and takes effect then
  int64_t sent_us = 0;
  Payload payload;
  bool operator==(const Copy&) const = default;
};

struct Halt {
  std::vector<uint64_t> copies;
  bool at_once = false;  // whatever their disposal
  bool operator==(const Halt&) const = default;
};

struct Load {
  uint32_t queued = 0, running = 0;
  bool operator==(const Load&) const = default;
};

struct Started {
  uint64_t copy = 0;
  Epoch epoch;
  Load load;
  bool operator==(const Started&) const = default;
};

struct Done {
  uint64_t copy = 0;
  Epoch epoch;
  uint32_t level = 0;
  Fate fate = Fate::kOk;
  std::string text;
  uint64_t wait_ns = 0, service_ns = 0;
  bool started_expired = false;
  Load load;
  Payload payload;
  bool operator==(const Done&) const = default;
};

// A stopping replica: finishes what runs, gives back what is queued, wants no more.
struct Leaving {
  bool operator==(const Leaving&) const = default;
};

// A copy that a replica still has from an earlier manager (or an earlier link), offered to the new one.
struct Held {
  uint64_t handle = 0;  // the replica's own name for it
  RequestId request;
  uint32_t level = 0;
  uint32_t service = 0;  // position in its Register.services
  uint32_t attempt = 0;
  bool running = false;  // or finished; else it waits in the replica's queue
  bool operator==(const Held&) const = default;
};

// All that a replica holds from earlier times, said once to every broker that begins to rule.
struct Holding {
  std::vector<Held> held;
  bool more = false;  // another frame follows
  bool operator==(const Holding&) const = default;
};

struct Adopted {
  uint64_t handle = 0;
  uint64_t copy = 0;  // its number from now on
  bool operator==(const Adopted&) const = default;
};

// The manager's answer to a Holding: these copies are its own now, those are wanted no more.
struct Adopt {
  Epoch epoch;
  std::vector<Adopted> adopted;
  std::vector<uint64_t> dropped;
  bool operator==(const Adopt&) const = default;
};

// ---- Between brokers.

// Which brokers hold all that the manager has: `members` has bit i for broker i + 1. Newer: later epoch, then
// higher version.
struct SyncSet {
  Epoch epoch;
  uint64_t version = 0;
  uint64_t members = 0;
  bool operator==(const SyncSet&) const = default;
};

// How far a checkpointed state is: of which manager, and its number of changes. Epoch 0: there is none.
struct Position {
  Epoch epoch;
  uint64_t seq = 0;
  auto operator<=>(const Position&) const = default;
};

enum class Kind : uint8_t { kVoter, kWitness, kLearner };

// Who a broker is to other brokers: after the Hello, and after the Welcome.
struct Enlist {
  uint32_t broker = 0;  // its place in the group, from 1; 0: not in it
  Kind kind = Kind::kVoter;
  uint64_t group = 0;  // hash of its list
  uint64_t incarnation = 0;
  std::string name, address;
  // What all brokers of a group must have alike, too: whoever votes waits as long as the manager's lease
  // lasts.
  bool any_survivor = false;  // --quorum one
  uint64_t demote_after_us = 0;
  bool operator==(const Enlist&) const = default;
};

// What a broker tells every other at least once a heartbeat; from a standby to the manager it is the
// acknowledgement of the checkpoint stream.
struct Pulse {
  Epoch known;                       // the highest epoch it has promised to or obeyed
  bool rules = false;                // it rules, of epoch `known`, and its lease stands
  bool blank = false;                // it has no memory of its votes
  bool answer = false;               // answer at once
  Position position;                 // how far its state is
  uint64_t hash = 0;                 // of that state
  uint64_t received = 0;             // bytes of the checkpoint stream since its begin (wire/stream.h)
  SyncSet set;                       // the newest in-sync set it has written down
  std::vector<uint64_t> succession;  // from the manager: brokers in the order in which they ask for votes
  int64_t sent_us = 0, echo_us = 0;
  bool obeys = false;  // the one it is sent to is its manager: the echo prolongs that one's lease
  bool operator==(const Pulse&) const = default;
};

struct VoteAsk {
  Epoch epoch;
  bool trial = false;  // would you? Binds nobody.
  bool stale = false;  // nobody who was in sync is left
  SyncSet set;         // the newest the candidate knows
  Position position;
  int64_t sent_us = 0;
  bool operator==(const VoteAsk&) const = default;
};

struct Vote {
  Epoch epoch;
  bool trial = false, granted = false;
  Epoch known;          // the highest it knows: a candidate that was refused asks above it
  int64_t echo_us = 0;  // when the question was sent, by the asker's clock: from then the vote is a lease
  bool operator==(const Vote&) const = default;
};

// The manager leaves and this one is to follow; its own state is final.
struct HandOver {
  Epoch epoch;
  uint64_t seq = 0;
  uint32_t successor = 0;
  bool operator==(const HandOver&) const = default;
};

// COL: begin and end of everything that the manager holds, in Adds, Removes and Marks of sequence number 0.
struct Collect {
  Epoch epoch;
  bool end = false;
  uint64_t seq = 0;    // at the end: the state is that after this change
  uint64_t count = 0;  // live requests
  uint64_t hash = 0;
  bool operator==(const Collect&) const = default;
};

// ADD: a request, or how far it is.
struct Add {
  Epoch epoch;
  uint64_t seq = 0;
  RequestId request;
  bool progress = false;      // the request is known: levels, limits and disposal are left out
  bool same_payload = false;  // and so is its payload
  Levels levels;
  uint64_t deadline_us = 0;
  uint64_t wait_limit_us = 0;
  uint32_t service_class = 0;
  uint64_t service_time_us = 0;
  uint32_t level = 0;
  uint64_t waited_us = 0;
  uint32_t attempts = 0;
  uint64_t low_water = 0;  // of its client
  int64_t sent_us = 0;
  uint64_t order = 0;  // when it was admitted, among the manager's others
  Payload payload;
  bool operator==(const Add&) const = default;
};

// REM: a request has ended; its outcome stays until the client's low-water mark passes it.
struct Remove {
  Epoch epoch;
  uint64_t seq = 0;
  RequestId request;
  Status status = Status::kOk;
  Refusal reason = Refusal::kNone;
  bool body_dropped = false;
  uint64_t low_water = 0;
  Payload payload;  // the result, or the text of what happened
  bool operator==(const Remove&) const = default;
};

// A client and its low-water mark.
struct Mark {
  Epoch epoch;
  uint64_t seq = 0;
  uint64_t client = 0;
  uint64_t generation = 0;
  uint64_t low_water = 0;
  std::string name;
  bool operator==(const Mark&) const = default;
};

// CAD: a client's link is gone, and these of its requests with it; or all that is known of it.
struct ClientGone {
  Epoch epoch;
  uint64_t seq = 0;
  uint64_t client = 0;
  uint64_t generation = 0;
  bool all = false;
  std::vector<uint64_t> requests;
  bool operator==(const ClientGone&) const = default;
};

struct StatusQuery {
  bool operator==(const StatusQuery&) const = default;
};

struct StatusReply {
  Payload payload;  // JSON
  bool operator==(const StatusReply&) const = default;
};

using Message =
    std::variant<std::monostate, Hello, Welcome, Goodbye, Dummy, Submit, Cancel, Acknowledge, Reply, Register,
                 Copy, Halt, Started, Done, Leaving, StatusQuery, StatusReply, Announce, Holding, Adopt,
                 Enlist, Pulse, VoteAsk, Vote, HandOver, Collect, Add, Remove, Mark, ClientGone>;

// The words for people, logs, metrics and JSON: `queue_full`, `halted_running`, …
const char* name_of(Kind kind);
// The message's kind: `hello`, `copy`, …
const char* name_of(const Message& message);

}  // namespace redoubt::wire
