// Sizes and addresses as people write them on command lines and in files. Durations are in
// core/duration_text.h: distributions need them too. Nothing here resolves a name.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/duration_text.h"
#include "core/result.h"

namespace redoubt {

// A number of bytes that is written with a unit; a type of its own so that a flag for one is not a flag for a
// count.
struct ByteSize {
  uint64_t bytes = 0;
  auto operator<=>(const ByteSize&) const = default;
};

// `64`, `16KiB`, `1MiB`, `2GiB`, `1TiB`.
Result<ByteSize> parse_size(std::string_view text);

// Exact, with the largest unit that divides it.
std::string format_size(ByteSize size);

// Where to listen or connect; the host of an IPv6 address has no brackets. Port 0 means: take a free one.
struct Address {
  std::string host;
  uint16_t port = 0;
  auto operator<=>(const Address&) const = default;
};

// `host:port` or `[::1]:port`.
Result<Address> parse_address(std::string_view text);
std::string format_address(const Address& address);

}  // namespace redoubt
