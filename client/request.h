// What a caller asks and is told: the values of the client library. Installed as <redoubt/request.h>, a part
// of <redoubt/client.h>. Plain values without protobuf or sockets; copies are independent, payload bytes are
// shared.
#pragma once

#include <redoubt/payload.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redoubt {

// One step of a request: a service, and how many replicas are to run it at the same time. The first success
// counts.
struct Level {
  std::string service{};  // 1 to 255 bytes
  // 1 to 64; fewer run when fewer replicas are there. 0: what the brokers' settings say of the service, 1
  // when they say nothing.
  uint32_t copies = 0;
  bool operator==(const Level&) const = default;
};

// How copies of a request are arranged. ARCHITECTURE.md tells each in full.
enum class Redundancy : uint8_t {
  kDefault,   // what the brokers' settings say of a level's service; kPerLevel when they say nothing
  kSingle,    // one copy; another only after a failure
  kPerLevel,  // as many as each level's `copies`; the first success goes to the next level
  kPaths,     // so many paths of distinct replicas, one of each level, each walked to its end
  kBackup,    // one copy, and a second one later, in a time kept free for it on another replica
  kSpare,     // one copy; what is lost with its replica runs on a replica kept for that (--spare)
  kHedge,     // one copy, and another one when that takes longer than is usual
  kAuto       // the manager chooses for every request, from what it measures
};

// What happens to the copies that are no longer needed.
enum class Disposal : uint8_t {
  kDefault,       // what the brokers' settings say of a level's service; kOnCompletion when they say nothing
  kNone,          // they run to their end
  kExpire,        // they go when the deadline or the wait limit passes
  kTwoPhase,      // those that wait go after the first phase if one has succeeded in it; else as kExpire
  kOnCompletion,  // they go when one of them has succeeded
  kOnStart,       // they go when one of them has started
};

struct Request {
  // Run one after the other: the result of one is the payload of the next. 1 to 16.
  std::vector<Level> levels{};
  Payload payload{};
  // From the call to its outcome, whatever happens in between. Above zero; more than a year counts as a year.
  std::chrono::nanoseconds deadline = std::chrono::seconds(5);
  // On the time spent waiting in queues, summed over the levels. Zero: no limit.
  std::chrono::nanoseconds wait_limit = std::chrono::nanoseconds::zero();
  Redundancy redundancy = Redundancy::kDefault;
  Disposal disposal = Disposal::kDefault;
  // kTwoPhase: the first phase as a share of what is left of the wait limit (of the deadline, if there is
  // none) when a copy is sent. Above 0, at most 1.
  double first_phase = 0.5;
  // How much depends on it: kBackup gives a higher class a backup more often, and earlier. Above 0, below 1.
  double service_class = 0.5;
  // What one level takes, if the caller knows; zero: as the brokers measure it.
  std::chrono::nanoseconds service_time = std::chrono::nanoseconds::zero();
};

// How a request ended.
enum class Status : uint8_t {
  kOk,         // `payload` is the result of the last level
  kFailed,     // the service failed, as often as it may; `text` is what it said
  kRefused,    // not executed, and never will be; `reason` and `text` say why
  kExpired,    // the deadline or the wait limit passed; `text` says where
  kCancelled,  // by the caller, or because the client was closed
  kNoBroker,   // the deadline passed and no broker was ever reached; `text` says what was tried
};

// Why a request was not served.
enum class Refusal : uint8_t {
  kNone,
  kQueueFull,    // the broker's queue is at its limit
  kRate,         // over the broker's admission rate
  kNoReplica,    // a service that no replica ever offered
  kTooLarge,     // the payload is over the broker's limit
  kClientLimit,  // too many of this client's requests are open
  kInvalid,      // no level, too many levels or copies, a name too long
  kStopping,     // the broker is shutting down
  kResultGone,   // completed before it was sent again, and its result is no longer held
  kTooLate,      // it could no longer finish within its deadline
};

// How one level went.
struct LevelTiming {
  std::string service, replica;  // the replica whose result counted
  uint32_t copies = 0;           // copies that were sent out
  std::chrono::nanoseconds wait{}, service_time{};
};

struct Reply {
  Status status = Status::kOk;
  Refusal reason = Refusal::kNone;
  std::string text;  // what happened, for a person; empty when it went well
  Payload payload;
  uint32_t level = 0;     // where it ended, from 0
  bool running = false;   // an expiry hit a running copy; else it was waiting in a queue
  bool answered = false;  // a broker said so; else the client itself did
  uint64_t seq = 0;       // with the client's incarnation, the request's id; 0: it was never given one
  std::chrono::nanoseconds wait{};                 // in queues, summed over the levels
  std::chrono::nanoseconds latency{};              // from the call to here
  std::chrono::steady_clock::time_point finished;  // to the accuracy of the turn in which the reply was read
  std::vector<LevelTiming> levels;                 // those that were completed

  bool ok() const { return status == Status::kOk; }
};

// The words for people, logs and JSON: `no_broker`, `queue_full`, `on-completion`.
const char* name_of(Status status);
const char* name_of(Refusal reason);
const char* name_of(Redundancy redundancy);
const char* name_of(Disposal disposal);

}  // namespace redoubt
