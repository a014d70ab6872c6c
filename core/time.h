// The project's only notion of time: the steady clock, to the nanosecond, handed in by whoever calls a core.
// Nothing here reads a clock; wall clocks are never compared between hosts. Installed as <redoubt/time.h>.
#pragma once

#include <chrono>
#include <cstdint>

namespace redoubt {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;

inline constexpr Time kNever = Time::max();

// What travels is whole microseconds: finer is lost in any network's noise.
constexpr int64_t to_us(Duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}
constexpr int64_t to_us(Time t) { return to_us(t.time_since_epoch()); }
constexpr Duration from_us(int64_t us) { return std::chrono::microseconds(us); }
constexpr double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// `at + by` that stays at kNever instead of overflowing: deadlines may be as far off as a user likes.
constexpr Time later(Time at, Duration by) { return by > kNever - at ? kNever : at + by; }

}  // namespace redoubt
