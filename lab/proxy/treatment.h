// What a route does to the bytes that go in one direction. A value; the newest replaces the one before.
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"

namespace redoubt::lab {

// Forward: from who connects to the target.
enum class Direction : uint8_t { kForward, kBackward };
inline constexpr Direction kDirections[] = {Direction::kForward, Direction::kBackward};

struct Treatment {
  enum class Kind : uint8_t {
    kPass,
    kDelay,  // everything, the end of the stream too, goes on this much later
    kStall,  // held up, and goes on once the treatment is another
    kDrop,   // swallowed for good; the end of the stream is not told either
    kRate,   // goes on no faster than this
  };

  Kind kind = Kind::kPass;
  Duration delay{};   // of kDelay
  uint64_t rate = 0;  // of kRate: bytes a second
  bool operator==(const Treatment&) const = default;
};

// As the command says it: `delay 5ms`.
std::string to_text(const Treatment& treatment);

}  // namespace redoubt::lab
