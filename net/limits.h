// The bounds of turns, links and dialling.
#pragma once

#include <chrono>
#include <cstddef>

#include "core/time.h"
#include "wire/limits.h"

namespace redoubt::net {

// A turn ends after so many handlers, or so many bytes: what it produced is written then, so that the peers
// work on it while the next is read. Larger turns make the stages of a pipeline wait for each other.
inline constexpr int kHandlersATurn = 64;
inline constexpr size_t kBytesATurn = 40 * 1024;  // also what one read takes in, but for large payloads
// Where a turn found no more than one thing ready, every so many turns look for more: it costs a system call.
inline constexpr unsigned kLookEvery = 16;

// How long a thread under steady load asks for news before it sleeps: the default, and what may be asked for.
// With 200 us a single client's 64 outstanding requests are answered faster still, but on a machine with
// fewer processors than threads those who ask keep the others from them: a take-over takes 10 ms longer.
inline constexpr Duration kBusyPoll = std::chrono::microseconds(100);
inline constexpr Duration kMostBusyPoll = std::chrono::seconds(1);

// Bytes of signs of life and votes that wait at a link for its socket; beyond it the next are dropped.
inline constexpr size_t kSendFirstLimit = 64 * 1024;

// One answer of the name service, and one try to connect.
inline constexpr Duration kResolveLimit = std::chrono::seconds(1);
inline constexpr Duration kConnectLimit = std::chrono::seconds(1);
// Pauses between two rounds of tries double from the first to the longest; chance takes off up to half. The
// second try comes soon: a process that dies can still take a connection and drop it, and only a refusal
// tells that it is gone.
inline constexpr Duration kFirstDialPause = std::chrono::milliseconds(2);
inline constexpr Duration kLongestDialPause = std::chrono::milliseconds(200);
inline constexpr size_t kMostEndpoints = 8;  // of one name; more are not tried

static_assert(kBusyPoll <= kMostBusyPoll);
static_assert(kSendFirstLimit + wire::kMaxEnvelope < wire::kWriteLimit,
              "signs of life alone must not close a link");
static_assert(kFirstDialPause < kLongestDialPause);

}  // namespace redoubt::net
