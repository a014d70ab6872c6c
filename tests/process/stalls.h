// Stalls: how long this machine keeps whoever wants to run waiting for a processor. A test that judges
// milliseconds adds it to its tolerance, so that it judges the program and not its neighbours.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "../poll.h"

namespace redoubt::test {

class Stalls {
 public:
  Stalls() : thread_([this] { watch(); }) {}
  ~Stalls() {
    ends_ = true;
    thread_.join();
  }
  Stalls(const Stalls&) = delete;
  Stalls& operator=(const Stalls&) = delete;

  // The longest so far, in seconds.
  double longest() const { return longest_; }

 private:
  void watch() {
    using std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kStep(1);
    while (!ends_) {
      const auto from = steady_clock::now();
      let_pass(kStep);
      const std::chrono::duration<double> over = steady_clock::now() - from - kStep;
      longest_ = std::max(longest_.load(), over.count());
    }
  }

  std::atomic<double> longest_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace redoubt::test
