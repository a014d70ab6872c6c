// The terms that messages are made of: who rules, which request, how it is to be served, how things end.
// Their numbers on the wire stand in proto/; their names in texts, in names.cc and policy_text.h.
#pragma once

#include <compare>
#include <cstdint>

namespace redoubt::wire {

// Number of a manager's rule. Two managers can never share one.
struct Epoch {
  uint64_t number = 0;
  uint32_t broker = 0;
  auto operator<=>(const Epoch&) const = default;
};

// Names of clients' requests, the same for every copy and every re-send.
struct RequestId {
  uint64_t client = 0;  // the client's incarnation
  uint64_t seq = 0;
  auto operator<=>(const RequestId&) const = default;
};

enum class Role : uint8_t { kUnknown, kClient, kReplica, kBroker };

// How a request ended.
enum class Status : uint8_t { kOk, kFailed, kRefused, kExpired, kCancelled };

// Why a request was not served.
enum class Refusal : uint8_t {
  kNone,
  kQueueFull,    // the manager's queue is at its limit
  kRate,         // over --admit-rate
  kNoReplica,    // a service that no replica ever offered
  kTooLarge,     // payload over the limit
  kClientLimit,  // too many requests of this client unsettled
  kInvalid,      // no level, too many levels or copies, a name too long
  kStopping,     // the broker is shutting down
  kResultGone,   // a re-send of a request that completed, whose result is no longer held
  kTooLate,      // it can no longer finish within its deadline
};

// How copies of a request are arranged (ARCHITECTURE.md, plan). The first of each of these is what the
// manager's settings say of the service.
enum class Redundancy : uint8_t { kDefault, kSingle, kPerLevel, kPaths, kBackup, kSpare, kHedge, kAuto };

// What happens to the copies that are no longer needed (ARCHITECTURE.md, disposal).
enum class Disposal : uint8_t { kDefault, kNone, kExpire, kTwoPhase, kOnCompletion, kOnStart };

// How a level is served. What a client leaves open the manager fills in.
struct Policy {
  Redundancy redundancy = Redundancy::kDefault;
  Disposal disposal = Disposal::kDefault;
  uint16_t first_phase = 0;  // two-phase: its first interval, in thousandths of what is left of the limit
  bool operator==(const Policy&) const = default;
};

// How one copy ended at its replica.
enum class Fate : uint8_t { kOk, kFailed, kExpired, kHaltedQueued, kHaltedRunning };

// Why a link is closed on purpose.
enum class CloseReason : uint8_t {
  kNone,
  kVersion,        // no protocol version in common
  kCluster,        // another cluster
  kRole,           // this role has no business here
  kDuplicateName,  // a link with this identity and a higher generation is open
  kUnknownMessage,
  kUnknownField,
  kMalformed,
  kOversize,
  kOutOfOrder,  // a message that has no place here and now
  kHandshakeTime,
  kTooManyClients,
  kSlow,  // our write buffer to this peer is full
  kSilent,
  kReplaced,  // a newer link of the same peer has taken over
  kStopping,
  kGroup,  // another list of brokers, or a number that is not in it
};

// As every output and error says them.
const char* name_of(Role role);
const char* name_of(Status status);
const char* name_of(Refusal reason);
const char* name_of(Redundancy redundancy);
const char* name_of(Disposal disposal);
const char* name_of(Fate fate);
const char* name_of(CloseReason reason);

}  // namespace redoubt::wire
