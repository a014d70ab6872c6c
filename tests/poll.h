// The only way in which a test waits: looks again and again, with a limit, instead of hoping that a pause is
// long enough.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace redoubt::test {

// True as soon as it holds; false if it still does not after ten seconds.
inline bool eventually(const std::function<bool()>& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace redoubt::test
