// Every bound of a replica. Full means refuse or close, never grow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/time.h"
#include "core/transit.h"
#include "wire/limits.h"

namespace redoubt::replica {

inline constexpr uint32_t kDefaultQueueLimit = 1024;  // copies that wait for a worker
inline constexpr uint32_t kMaxQueueLimit = 1'000'000;
inline constexpr uint32_t kMaxBrokers = 64;  // addresses in --brokers

// From the connection to the broker's Welcome.
inline constexpr Duration kHandshakeLimit = std::chrono::seconds(5);
// The measure of a stall before a broker has told its heartbeat.
inline constexpr Duration kFirstHeartbeat = std::chrono::milliseconds(50);
// What a broker may ask for: below it the heartbeats would be the load.
inline constexpr Duration kShortestHeartbeat = std::chrono::milliseconds(1);
// A broker is asked for an echo at least once in this time, however busy its link.
inline constexpr Duration kEchoEvery = std::chrono::seconds(10);
// How long a stopping replica waits for a broker to say that nothing more is under way.
inline constexpr Duration kFarewellLimit = std::chrono::seconds(1);
// And for its last answers to leave.
inline constexpr Duration kDrainLimit = std::chrono::seconds(5);

// How long a copy without a manager lives, waiting to be adopted.
inline constexpr Duration kOrphanTime = std::chrono::seconds(5);
// Bytes of results and texts that are kept for adoption; the copies are as many as can be queued and running.
inline constexpr size_t kMaxKeptBytes = 64 << 20;

// A command that was asked to stop (SIGTERM) is killed after this.
inline constexpr Duration kKillAfter = std::chrono::seconds(1);
// Of what a command says on stderr: the end, for the text of its failure.
inline constexpr size_t kStderrKept = 2048;
// A long-lived command that dies is started again at once, then after longer and longer pauses.
inline constexpr Duration kFirstRestartPause = std::chrono::milliseconds(10);
inline constexpr Duration kLongestRestartPause = std::chrono::seconds(1);

static_assert(kStderrKept + 512 < wire::kMaxTextBytes, "what a command said must fit into a failure's text");
static_assert(kMaxKeptBytes >= wire::kDefaultMaxPayload + wire::kMaxTextBytes, "one usual result must fit");
static_assert(2 * to_us(kEchoEvery) / Transit::kDriftDivisor * 20 < int64_t{Transit::kSureUs},
              "between two echoes clocks drift apart by little of what makes a link doubtful");
static_assert(kDefaultQueueLimit <= kMaxQueueLimit);

}  // namespace redoubt::replica
