// How large a message of the checkpoint stream is to both its ends: the manager adds up what it sends, a
// standby what it receives and tells in its Pulse, and the difference is what is under way. A reckoning that
// both make from the message alone, not the size of its frame. Pure.
#pragma once

#include <cstdint>

#include "wire/message.h"

namespace redoubt::wire {

inline constexpr uint64_t kStreamMessageBytes = 64;  // of any, besides what differs widely between them

inline uint64_t stream_bytes(const Add& message) { return kStreamMessageBytes + message.payload.size(); }
inline uint64_t stream_bytes(const Remove& message) { return kStreamMessageBytes + message.payload.size(); }
inline uint64_t stream_bytes(const Mark& message) { return kStreamMessageBytes + message.name.size(); }
inline uint64_t stream_bytes(const ClientGone& message) {
  return kStreamMessageBytes + sizeof(uint64_t) * message.requests.size();
}

}  // namespace redoubt::wire
