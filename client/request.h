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
  uint32_t copies = 1;    // 1 to 64; fewer run when fewer replicas are there
  bool operator==(const Level&) const = default;
};

// What happens to the copies that are no longer needed.
enum class Disposal : uint8_t {
  kNone,          // they run to their end
  kExpire,        // they go when the deadline or the wait limit passes
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
  Disposal disposal = Disposal::kOnCompletion;
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
const char* name_of(Disposal disposal);

}  // namespace redoubt
