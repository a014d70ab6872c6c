// World: virtual time. Things happen in the order of their times, and of their making where times are equal:
// the same seed gives the same story. Nothing waits for a real clock.
#pragma once

#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/time.h"

namespace redoubt::sim {

class World {
 public:
  explicit World(uint64_t seed) : random(seed) {}

  Time now() const { return now_; }
  void at(Time time, std::function<void()> what) {
    events_.push({std::max(time, now_), ++made_, std::move(what)});
  }
  void after(Duration pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }

  // Until then, or until nothing is left or somebody has said stop.
  void run_until(Time end) {
    while (!stopped_ && !events_.empty() && events_.top().time <= end) {
      now_ = events_.top().time;
      // The queue's top is const, and its action is to be called once: it may be moved out of.
      const auto what = std::move(const_cast<Event&>(events_.top()).what);
      events_.pop();
      ++steps_;
      what();
    }
    if (!stopped_) now_ = end;
  }
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  uint64_t steps() const { return steps_; }

  // Between the two, on a logarithmic scale: short ones are as likely as long ones.
  Duration between(Duration least, Duration most) {
    const double low = std::log(to_seconds(least)), high = std::log(to_seconds(most));
    return from_us(static_cast<int64_t>(std::exp(low + random.unit() * (high - low)) * 1e6));
  }

  Random random;

 private:
  struct Event {
    Time time;
    uint64_t made;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : made > other.made;
    }
  };

  std::priority_queue<Event> events_;
  Time now_ = Time{} + std::chrono::hours(1);
  uint64_t made_ = 0, steps_ = 0;
  bool stopped_ = false;
};

}  // namespace redoubt::sim
