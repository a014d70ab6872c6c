// LeakyBucket: how many requests a second may be admitted, and how many at once beyond that. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"

namespace redoubt::broker {

class LeakyBucket {
 public:
  // `rate` requests a second, 0 for no limit; the bucket holds `burst` of them.
  LeakyBucket(double rate, uint32_t burst) : rate_(rate), burst_(burst > 0 ? burst : 1) {}

  // Whether one more request may come in now; if so it is counted.
  bool admit(Time now) {
    if (rate_ <= 0) return true;
    level_ = std::max(0.0, level_ - to_seconds(now - drained_) * rate_);
    drained_ = now;
    if (level_ + 1 > burst_) return false;
    level_ += 1;
    return true;
  }

 private:
  double rate_, burst_;
  double level_ = 0;
  Time drained_{};
};

}  // namespace redoubt::broker
