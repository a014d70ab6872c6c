// Every bound of the proxy. Full means: no longer read, turned away, or refused as a command.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/time.h"

namespace redoubt::lab {

inline constexpr size_t kMostRoutes = 256;
inline constexpr size_t kMostConnections = 1024;          // of one route
inline constexpr size_t kHeldLimit = size_t{1} << 20;     // bytes in one direction of one connection
inline constexpr size_t kHeldArrivals = size_t{1} << 16;  // reads that they came in
inline constexpr size_t kGarbageBytes = 256;              // one burst
inline constexpr size_t kLongestCommand = 1024;

inline constexpr Duration kLongestDelay = std::chrono::minutes(1);
inline constexpr uint64_t kHighestRate = uint64_t{1} << 40;  // bytes a second

// Bytes that go at a rate leave in portions that take this long: finer costs wake-ups, coarser is a stutter.
inline constexpr Duration kPortion = std::chrono::milliseconds(10);

static_assert(kGarbageBytes <= kHeldLimit);

}  // namespace redoubt::lab
