// The bounds of a client. Full means refuse or drop a hint, never grow.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/time.h"
#include "wire/limits.h"

namespace redoubt::client {

// ---- Requests.

// Numbers between the low-water mark and the newest. As many calls of other threads may be on their way.
inline constexpr uint64_t kMaxUnsettled = uint64_t{1} << 18;
// Of so many of the newest numbers it is known which have been answered; an answer to an older one counts as
// unexpected.
inline constexpr uint64_t kRemembered = uint64_t{1} << 20;
// Commands and outcomes whose memory is kept for the next ones after a burst.
inline constexpr size_t kKeptAfterBurst = 4096;

// ---- Frames.

// What a request takes in a Submit's envelope, and what each of its levels does beside the service's name:
// bytes, from above.
inline constexpr size_t kRequestEnvelope = 80;
inline constexpr size_t kLevelEnvelope = 24;
// Of one Submit, unless one request alone is larger: bytes of its envelope, estimated from above, and of
// payloads.
inline constexpr size_t kMaxFrameEnvelope = 256 * 1024;
inline constexpr size_t kMaxFramePayload = size_t{4} << 20;
// Bytes given to a link beyond what its socket takes at once; the session keeps the rest, and looks again
// after the pause.
inline constexpr size_t kSendAhead = size_t{16} << 20;
inline constexpr Duration kHeldBackPause = std::chrono::milliseconds(1);
inline constexpr size_t kMaxWaitingCancels = 65536;  // hints to be sent; more are dropped

// When an acknowledgement travels alone: so many settled replies, bytes of results that the broker holds for
// us, or so much later.
inline constexpr uint64_t kAcknowledgeCount = 64;
inline constexpr uint64_t kAcknowledgeBytes = 64 * 1024;
inline constexpr Duration kAcknowledgeDelay = std::chrono::milliseconds(20);

// ---- Brokers.

// From the connection to the broker's Welcome.
inline constexpr Duration kHandshakeLimit = std::chrono::seconds(1);
// Questions about status that wait for an answer.
inline constexpr size_t kMostQuestions = 1024;

static_assert(kRemembered >= kMaxUnsettled, "the answer to an open request must be known as one");
static_assert(std::has_single_bit(kRemembered), "the bits double until they are so many");
static_assert(kAcknowledgeCount < kMaxUnsettled, "what is settled must not fill a broker's window");
static_assert(kMaxFrameEnvelope + kRequestEnvelope +
                      wire::kMaxLevels * (wire::kMaxNameBytes + kLevelEnvelope) <
                  wire::kMaxEnvelope,
              "a frame must fit into an envelope");
static_assert(kMaxFrameEnvelope + kMaxFramePayload <= kSendAhead,
              "a full frame must fit into what is sent ahead");
static_assert(kSendAhead + wire::kDefaultMaxPayload + wire::kMaxEnvelope + kMaxWaitingCancels * 12 <
                  wire::kWriteLimit,
              "what is sent ahead, with one usual payload over it and all cancels, must not close the link");

}  // namespace redoubt::client
