// BusyPoll: how long a thread that has nothing to do goes on asking before it lets the kernel put it to
// sleep. To sleep and be woken costs tens of microseconds, more than most answers take. Asking on for a while
// is quicker, at the price of a processor that seems busy. It pays only where turns are short: one that waits
// long gains nothing, and one that works long hardly notices the sleep and had better leave the processor to
// whoever it waits for. What the last turns took decides. Pure. Not thread-safe.
#pragma once

#include <algorithm>

#include "core/time.h"
#include "net/limits.h"

namespace redoubt::net {

// What programs with such a flag say of it; its default and its most are in limits.h.
inline constexpr const char* kBusyPollHelp =
    "under steady load ask for news for so long before sleeping: quicker, but the processor seems busy; 0s: "
    "never";

class BusyPoll {
 public:
  // Zero: never.
  explicit BusyPoll(Duration most) : most_(most) {}

  bool is_off() const { return most_ == Duration::zero(); }

  // A turn's wait begins. Returns how long it may ask.
  Duration limit(Time now) {
    // A long one counts as a few times the limit: a thread that has been idle for an hour must find out
    // within some dozen turns that it no longer is.
    expected_ += (std::min(now - began_, 8 * most_) - expected_) / 8;
    began_ = now;
    return expected_ <= most_ ? most_ : Duration::zero();
  }

 private:
  const Duration most_;
  Time began_;           // of the last turn
  Duration expected_{};  // of a turn, smoothed
};

}  // namespace redoubt::net
