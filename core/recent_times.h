// RecentTimes: how long something took lately: a histogram of durations whose past fades, for percentiles and
// shares. Buckets grow with the value, sixteen for every doubling, so that an answer is off by less than 5 %;
// from 1 µs to about 19 hours. Memory is taken with the first value: 2.3 KiB. Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/time.h"

namespace redoubt {

class RecentTimes {
 public:
  // When so many values weigh in full, all that is known is halved.
  explicit RecentTimes(float window = 1024) : window_(window) {}

  void record(Duration value) {
    if (buckets_.empty()) buckets_.resize(kBuckets);
    buckets_[bucket_of(value)] += 1;
    total_ += 1;
    if (total_ < window_) return;
    total_ = 0;
    for (float& bucket : buckets_) total_ += bucket /= 2;
  }

  // How many values it rests on, those that have faded counted in part.
  double weight() const { return total_; }

  // The time that a share `p` (0 to 1) did not exceed: the upper end of its bucket. Zero when nothing is
  // known.
  Duration quantile(double p) const {
    double left = p * total_;
    for (size_t i = 0; i < buckets_.size(); ++i)
      if (buckets_[i] > 0 && (left -= buckets_[i]) <= 1e-6) return end_of(i);
    return total_ > 0 ? end_of(kBuckets - 1) : Duration::zero();
  }

  // The share that took at most so long, by the buckets' upper ends; `when_unknown` if nothing is known.
  double share_within(Duration limit, double when_unknown) const {
    if (total_ <= 0) return when_unknown;
    double below = 0;
    for (size_t i = 0; i < buckets_.size() && end_of(i) <= limit; ++i) below += buckets_[i];
    return below / total_;
  }

  // Calls visit(end, share) for what was seen, upward.
  template <class Visit>
  void each(Visit visit) const {
    for (size_t i = 0; i < buckets_.size(); ++i)
      if (buckets_[i] > 0) visit(end_of(i), buckets_[i] / total_);
  }

 private:
  static constexpr size_t kPerDoubling = 16, kDoublings = 36;
  static constexpr size_t kBuckets = kPerDoubling * kDoublings + 1;

  static size_t bucket_of(Duration value) {
    const double us = static_cast<double>(value.count()) / 1000;
    if (us <= 1) return 0;
    const double place = std::ceil(std::log2(us) * kPerDoubling - 1e-9);
    return std::min(static_cast<size_t>(place), kBuckets - 1);
  }
  static Duration end_of(size_t bucket) {
    return Duration(std::llround(std::exp2(static_cast<double>(bucket) / kPerDoubling) * 1000));
  }

  float window_;
  std::vector<float> buckets_;
  double total_ = 0;
};

}  // namespace redoubt
