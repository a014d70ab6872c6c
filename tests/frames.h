// Frames for tests of the codec: made by the encoder or by hand, and received as net/link.cc does.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "wire/codec.h"

namespace redoubt::testing {

// The bytes waiting in an outbox, in one piece.
inline std::string written(const wire::Outbox& out) {
  std::vector<iovec> pieces(out.bytes() / 64 + 1000);
  pieces.resize(out.gather(pieces));
  std::string bytes;
  for (const iovec& piece : pieces) bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  return bytes;
}

template <class T>
std::string frame_of(const T& message) {
  wire::ChunkPool pool;
  wire::Outbox out(pool);
  wire::encode(message, out);
  return written(out);
}

struct Received {
  std::vector<wire::Message> messages;
  std::vector<bool> skipped;  // payload_skipped() of each
  wire::Decoded last = wire::Decoded::kNeedMore;
  bool operator==(const Received&) const = default;
};

// Hands the bytes to the decoder in reads of next_size() bytes each. As a link does, a read goes into
// direct() first if there is such a place; what is fed is gone afterwards.
template <class NextSize>
Received receive(wire::Decoder& decoder, std::string_view bytes, NextSize next_size) {
  Received received;
  wire::Message inbox;
  while (!bytes.empty() && received.last != wire::Decoded::kBad) {
    std::string_view read = bytes.substr(0, std::max<size_t>(1, next_size()));
    bytes.remove_prefix(read.size());
    const std::span<char> direct = decoder.direct();
    const size_t placed = std::min(read.size(), direct.size());
    if (placed > 0) {
      std::memcpy(direct.data(), read.data(), placed);
      decoder.received_direct(placed);
      read.remove_prefix(placed);
    }
    const std::string buffer(read);
    decoder.feed(buffer);
    while ((received.last = decoder.next(inbox)) == wire::Decoded::kMessage) {
      received.messages.push_back(inbox);
      received.skipped.push_back(decoder.payload_skipped());
    }
  }
  return received;
}

inline Received receive(wire::Decoder& decoder, std::string_view bytes) {
  return receive(decoder, bytes, [&] { return bytes.size(); });
}

}  // namespace redoubt::testing
