// Durations as people write them: `400us`, `50ms`, `1.5s`. What is read is never negative and at most a year,
// so that sums of a few durations cannot overflow.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"

namespace redoubt {

inline constexpr Duration kLongestDuration = std::chrono::hours(24 * 365);

// A number and one of ns, us, ms, s, min, h; a plain `0` needs no unit.
Result<Duration> parse_duration(std::string_view text);

// Exact: parse_duration() of it gives the same duration.
std::string format_duration(Duration duration);

// To the nearest nanosecond, kept between zero and kLongestDuration; not a number counts as the longest.
Duration duration_from_seconds(double seconds);

}  // namespace redoubt
