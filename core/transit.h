// Transit: how much longer than usual a frame was under way on one link. Budgets travel as what is left of
// them together with the sender's steady time; two hosts' steady clocks differ by an unknown constant, so
// only what a frame took beyond the fastest one seen can be known, and that is charged: a copy that lay five
// seconds in a stopped process's socket arrives five seconds older, not fresh. Pure; one object a link and
// direction.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"

namespace redoubt {

class Transit {
 public:
  // What a frame sent at `sent_us` (the sender's clock) and received at `received` (ours) took beyond the
  // fastest.
  Duration excess(Time received, int64_t sent_us) {
    const int64_t received_us = to_us(received);
    // Unsigned subtraction: a peer may send any number, and wrapping is defined where overflow is not.
    const auto took =
        static_cast<int64_t>(static_cast<uint64_t>(received_us) - static_cast<uint64_t>(sent_us));
    if (!known_) {
      known_ = true;
      fastest_us_ = took;
      aged_us_ = received_us;
      return Duration::zero();
    }
    age(received_us);
    fastest_us_ = std::min(fastest_us_, took);
    const int64_t usual = is_sure() ? fastest_us_ : std::min(least_us_, took);
    const uint64_t excess = static_cast<uint64_t>(took) - static_cast<uint64_t>(usual);
    return from_us(excess > kMostUs ? static_cast<int64_t>(kMostUs) : static_cast<int64_t>(excess));
  }

  // Whoever sent a frame at `their_us` had read what we sent at `own_us`. No frame can have been faster than
  // that leaves room for; if all that have come were much slower, they have waited for the same thing (a
  // handshake that lay in a stopped process's socket), and what follows is measured by this bound instead.
  void bound(int64_t own_us, int64_t their_us) {
    const auto least = static_cast<int64_t>(static_cast<uint64_t>(own_us) - static_cast<uint64_t>(their_us));
    if (!bounded_ || least > least_us_) least_us_ = least;
    bounded_ = true;
  }

  // False where that leaves too much room. The bound ages, as clocks drift: whoever sets one sets it again
  // and again, by an echo of a moment ago, or each frame would be charged that room one day.
  bool is_sure() const {
    return !bounded_ || least_us_ >= fastest_us_ ||
           static_cast<uint64_t>(fastest_us_) - static_cast<uint64_t>(least_us_) <= kSureUs;
  }

  // Clocks drift apart by at most this much: without ageing, a link's fastest frame would one day be
  // impossible to reach again and every frame would be charged.
  static constexpr int64_t kDriftDivisor = 10000;  // 100 parts per million
  // Round trips of a LAN are shorter, stops that matter longer.
  static constexpr uint64_t kSureUs = 100'000;

 private:
  static constexpr uint64_t kMostUs = uint64_t{1} << 50;

  void age(int64_t received_us) {
    const int64_t step = (received_us - aged_us_) / kDriftDivisor;
    if (step <= 0) return;
    fastest_us_ = static_cast<int64_t>(static_cast<uint64_t>(fastest_us_) + static_cast<uint64_t>(step));
    least_us_ = static_cast<int64_t>(static_cast<uint64_t>(least_us_) - static_cast<uint64_t>(step));
    aged_us_ += step * kDriftDivisor;  // what is over counts next time
  }

  bool known_ = false;
  int64_t fastest_us_ = 0;
  bool bounded_ = false;
  int64_t least_us_ = 0;
  int64_t aged_us_ = 0;
};

}  // namespace redoubt
