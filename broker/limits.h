// Every bound of the broker's state. Full means refuse, drop the oldest or close a link; nothing grows
// instead.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/time.h"
#include "wire/limits.h"

namespace redoubt::broker {

inline constexpr uint32_t kMaxReplicas = 4096;
inline constexpr uint32_t kMaxServices = 4096;   // names ever offered; a name stays known for good
inline constexpr uint32_t kMaxSessions = 20000;  // of clients, with those that are gone and linger
inline constexpr uint32_t kDefaultMaxClients = 10000;
inline constexpr uint32_t kMaxAttempts = 1000;
inline constexpr uint32_t kMaxQueueLimit = 10'000'000;
inline constexpr uint32_t kMaxThreshold = 8192;      // copies outstanding at one replica
inline constexpr uint32_t kMaxTimeoutsAStep = 1024;  // the rest in the next step: a turn must end

// What --max-payload may be raised to: two such must be able to wait at a link.
inline constexpr uint64_t kMostMaxPayload = uint64_t{128} << 20;

// A client's requests from its oldest unsettled one on; and entries of all clients' windows together.
inline constexpr uint64_t kClientWindow = uint64_t{1} << 18;
inline constexpr uint64_t kWindowsInAll = uint64_t{1} << 23;
// Bytes of results kept for possible re-sends: of one client, of all together, and as much again for small
// ones.
inline constexpr uint64_t kRetainedBytes = uint64_t{16} << 20;
inline constexpr uint64_t kRetainedInAll = uint64_t{512} << 20;
inline constexpr uint64_t kSmallResult = 4096;

// Bytes that wait to be read, at the links of all clients together, and at those of all replicas and brokers:
// as much as --held-limit, but at least this. Beyond it those go that leave the most unread, until a part of
// it is free: one over this.
inline constexpr uint64_t kUnreadInAll = uint64_t{528} << 20;
inline constexpr uint64_t kUnreadFreed = 16;
// How often that of replicas and brokers is looked at in detail, where it may be too much.
inline constexpr Duration kLookAtUnread = std::chrono::milliseconds(100);

// Payload bytes outstanding at a replica from which it gets no more: what it has not read waits at its link.
inline constexpr uint64_t kReplicaBytes = uint64_t{128} << 20;

// Loads are compared in copies a worker, in these parts of one; what doubt about a replica adds to its load.
inline constexpr uint64_t kLoadUnit = 1024;
inline constexpr double kFailureLoad = 4;   // for one that fails everything
inline constexpr double kUnprovenLoad = 1;  // for one that has completed nothing yet
inline constexpr double kOddLoad = 8;       // for auto, of one that is slow or fails: behind all others

inline constexpr uint32_t kUsualClass = 500;  // of a request that names none, in thousandths

// How long a client that has lost its link may return and still find its running requests and their results.
inline constexpr Duration kLinger = std::chrono::seconds(5);
// After its start a broker knows no service yet, and clients of an earlier broker may return before the
// replicas do: for so long their requests wait. Longer than the longest pause between two tries of a peer,
// and one try.
inline constexpr Duration kSettling = std::chrono::seconds(2);
inline constexpr uint32_t kMaxAwaited = 256;  // names of services that only clients have told
// A process that stood still has read what lay in its sockets by then.
inline constexpr Duration kWaking = std::chrono::milliseconds(20);
// A link that has not said who it is.
inline constexpr Duration kHandshakeLimit = std::chrono::seconds(2);

// ---- Standbys.

inline constexpr uint32_t kMaxVoters = 9;      // brokers of a group
inline constexpr uint32_t kMaxFollowers = 12;  // brokers that take in the checkpoint stream
inline constexpr uint32_t kMaxLearners =
    kMaxFollowers - (kMaxVoters - 1);  // of those, from outside the group
// Bytes of the stream that a follower has not acknowledged: beyond it the follower is given up. While it
// collects, the walk stops at a smaller number, so that pulses and changes do not queue up behind it.
inline constexpr uint64_t kFollowerBytes = uint64_t{64} << 20;  // or two of the largest payloads
inline constexpr uint64_t kCollectBytes = uint64_t{1} << 20;
inline constexpr uint32_t kCollectedAStep = 512;      // requests and records that one step of the walk sends
inline constexpr uint32_t kLookedAtAStep = 1u << 17;  // sequence numbers it looks at for them
inline constexpr size_t kMaxHaltsKept = 256;          // of one replica, until their time
// A further copy of a request that standbys do not have yet, and a request that auto lets wait or thinks of
// rescuing, is looked at again after this at the earliest.
inline constexpr Duration kLookAgain = std::chrono::milliseconds(1);
inline constexpr uint32_t kMaxHungry = 1024;     // requests of a service that would like another copy
inline constexpr uint32_t kHungryLookedAt = 32;  // of those, at once
// A new manager waits so long for replicas to say what they hold before it sends requests again.
inline constexpr Duration kRecovering = std::chrono::milliseconds(20);
inline constexpr uint32_t kSentAgainAStep = 1024;  // inherited requests a step sends: a turn must end
// A manager that leaves waits so long for its successor to rule.
inline constexpr Duration kHandOverLimit = std::chrono::seconds(2);
inline constexpr uint32_t kMaxStrangers = 4096;  // links in handshake
inline constexpr uint32_t kMaxRefused = 64;      // peers whose refusal is remembered

static_assert(kMaxAwaited < kMaxServices, "clients must not use up the names that replicas need");
static_assert(2 * (kMostMaxPayload + wire::kMaxEnvelope) < wire::kWriteLimit &&
              kFollowerBytes <= wire::kWriteLimit);
static_assert(kUnreadInAll >= 2 * wire::kWriteLimit,
              "who alone reads nothing meets the limit of its own link, and others still have as much");
static_assert(kReplicaBytes + kMostMaxPayload + wire::kMaxEnvelope < wire::kWriteLimit);
static_assert(kMostMaxPayload <= wire::kMaxMaxPayload);
static_assert(kMaxVoters + kMaxLearners <= wire::kMaxGroup, "every broker has a number");
static_assert(kDefaultMaxClients <= kMaxSessions);
static_assert(kMaxThreshold >= 2 * wire::kMaxWorkers, "a threshold below twice the workers lets them idle");

}  // namespace redoubt::broker
