// RecentTimes: how long something took lately: a histogram of durations whose past fades, for percentiles and
// shares. Buckets grow with the value, sixteen for every doubling, so that an answer is off by less than 5 %;
// from 1 µs to about 19 hours. What was stopped before its end counts for what it shows: that it takes longer
// (E. L. Kaplan and P. Meier, Nonparametric Estimation from Incomplete Observations, JASA 53, 1958). Memory
// is taken with the first value: 9 KiB. Pure; not thread-safe.
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

  void record(Duration value) { add(value, &Bucket::ended); }
  // It was stopped after so long.
  void record_stopped(Duration after) { add(after, &Bucket::stopped); }

  // How many values it rests on, those that have faded counted in part.
  double weight() const { return total_; }

  // The time that a share `p` (0 to 1) did not exceed: the upper end of its bucket; the longest there is
  // where what was stopped leaves that open. Zero when nothing is known.
  Duration quantile(double p) const {
    if (total_ <= 0) return Duration::zero();
    const auto found = std::lower_bound(sums().begin(), sums().end(), p - 1e-6,
                                        [](const Sum& sum, double share) { return sum.share < share; });
    return end_of(std::min(static_cast<size_t>(found - sums().begin()), kBuckets - 1));
  }

  // The share that took at most so long; `when_unknown` if nothing is known.
  double share_within(Duration limit, double when_unknown) const {
    if (total_ <= 0) return when_unknown;
    const Sum* sum = sum_within(limit);
    return sum ? sum->share : 0;
  }

  // The mean of what they took where whoever takes longer than the limit is stopped then. Zero when nothing
  // is known.
  Duration mean_within(Duration limit) const {
    if (total_ <= 0) return Duration::zero();
    const Sum* sum = sum_within(limit);
    const double below = sum ? sum->seconds : 0, above = 1 - (sum ? sum->share : 0);
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(below + above * to_seconds(std::max(limit, Duration::zero()))));
  }
  // Where the longest were all stopped, they count as if they had ended then.
  Duration mean() const { return total_ > 0 ? mean_within((sums(), longest_)) : Duration::zero(); }

 private:
  static constexpr size_t kPerDoubling = 16, kDoublings = 36;
  static constexpr size_t kBuckets = kPerDoubling * kDoublings + 1;
  static constexpr float kForgotten = 1.0F / 64;

  struct Bucket {
    float ended = 0, stopped = 0;
  };
  // Of a bucket and all below: the share that ends there, and what those take together.
  struct Sum {
    float share = 0, seconds = 0;
  };

  void add(Duration value, float Bucket::*what) {
    if (buckets_.empty()) buckets_.resize(kBuckets);
    buckets_[bucket_of(value)].*what += 1;
    total_ += 1;
    // Sums are worked out again when there is a good deal more to sum.
    if (++unsummed_ > total_ / 16) summed_ = false;
    if (total_ < window_) return;
    total_ = 0;
    for (Bucket& bucket : buckets_) {
      for (float* count : {&bucket.ended, &bucket.stopped}) {
        *count = *count < kForgotten ? 0 : *count / 2;
        total_ += *count;
      }
    }
    summed_ = false;
  }

  static size_t bucket_of(Duration value) {
    const double us = static_cast<double>(value.count()) / 1000;
    if (us <= 1) return 0;
    const double place = std::ceil(std::log2(us) * kPerDoubling - 1e-9);
    return std::min(static_cast<size_t>(place), kBuckets - 1);
  }
  static Duration end_of(size_t bucket) {
    return Duration(std::llround(std::exp2(static_cast<double>(bucket) / kPerDoubling) * 1000));
  }

  // Of all buckets that end within the limit.
  const Sum* sum_within(Duration limit) const {
    if (limit < std::chrono::microseconds(1)) return nullptr;
    const size_t bucket = bucket_of(limit);
    if (end_of(bucket) <= limit) return &sums()[bucket];
    return bucket == 0 ? nullptr : &sums()[bucket - 1];
  }

  const std::vector<Sum>& sums() const {
    if (summed_) return sums_;
    sums_.resize(kBuckets);
    double left = 1, at_risk = total_, seconds = 0;
    longest_ = Duration::zero();
    for (size_t i = 0; i < kBuckets; ++i) {
      const Bucket& bucket = buckets_[i];
      if (bucket.ended > 0) {
        // What rounding has lost of the sum must not be divided by.
        const double ends = left * (bucket.ended / std::max<double>(at_risk, bucket.ended));
        seconds += ends * to_seconds(end_of(i));
        left -= ends;
      }
      if (bucket.ended + bucket.stopped > 0) longest_ = end_of(i);
      at_risk -= bucket.ended + bucket.stopped;
      sums_[i] = {static_cast<float>(1 - left), static_cast<float>(seconds)};
    }
    unsummed_ = 0;
    summed_ = true;
    return sums_;
  }

  float window_;
  std::vector<Bucket> buckets_;
  double total_ = 0;
  mutable double unsummed_ = 0;  // values since the sums were worked out
  mutable bool summed_ = false;
  mutable std::vector<Sum> sums_;
  mutable Duration longest_{};  // the longest there is
};

}  // namespace redoubt
