// GapMeter: the longest time without any completed reply while requests were outstanding, over all clients of
// a bench. Shared by their threads, and touched once a turn rather than once a reply.
#pragma once

#include <algorithm>
#include <atomic>

#include "core/time.h"

namespace redoubt::tool {

class GapMeter {
 public:
  // A client that had nothing outstanding has something now: if it is the only one, silence counts from here.
  void busy(Time now) {
    if (busy_.fetch_add(1) == 0) raise(last_, now.time_since_epoch().count());
  }
  // It has nothing outstanding any more.
  void idle() { busy_.fetch_sub(1); }

  // A completed reply.
  void reply(Time now) {
    const Duration::rep at = now.time_since_epoch().count();
    const Duration::rep before = raise(last_, at);
    if (at > before) raise(longest_, at - before);
  }

  // A request ended without one: it was quiet at least until now.
  void silence(Time now) {
    const Duration::rep quiet = now.time_since_epoch().count() - last_.load(std::memory_order_relaxed);
    if (quiet > 0) raise(longest_, quiet);
  }

  Duration longest() const { return Duration(longest_.load()); }

 private:
  // Never lowers it: the threads' clock readings come slightly out of order. Returns what was there.
  static Duration::rep raise(std::atomic<Duration::rep>& to, Duration::rep value) {
    Duration::rep before = to.load(std::memory_order_relaxed);
    while (before < value && !to.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
    return before;
  }

  std::atomic<Duration::rep> last_{0}, longest_{0};
  std::atomic<int> busy_{0};
};

}  // namespace redoubt::tool
