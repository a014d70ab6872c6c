// Interrupts: SIGINT and SIGTERM as something that is waited for, on one thread, instead of something that
// strikes any.
#pragma once

#include <csignal>
#include <ctime>

#include "core/time.h"

namespace redoubt::tool {

// To be made before any other thread: they inherit that the signals are blocked.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  // Waits for one; false if none came in that time.
  bool wait(Duration limit) const {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
    const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((limit - seconds).count())};
    return sigtimedwait(&set_, nullptr, &time) > 0;
  }

 private:
  sigset_t set_{};
};

}  // namespace redoubt::tool
