// The only way in which a test waits: looks again and again, with a limit, instead of hoping that a pause is
// long enough.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace redoubt::test {

// True as soon as it holds; false if it still does not after the limit.
inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::nanoseconds within = std::chrono::seconds(10)) {
  const auto limit = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// For a test that is about time itself: how long a peer is stopped, how long load lasts. Never to wait for
// something to happen.
inline void let_pass(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

}  // namespace redoubt::test
