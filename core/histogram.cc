// Counting values in buckets; see histogram.h.
#include "core/histogram.h"

#include <cmath>

namespace redoubt {

// By whole doublings: values that creep upward must not move the buckets each time.
void Histogram::grow(size_t index) { buckets_.resize((index / kPerBit + 1) * kPerBit); }

void Histogram::merge(const Histogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t index = 0; index < other.buckets_.size(); ++index) buckets_[index] += other.buckets_[index];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() {
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = sum_ = max_ = 0;
}

uint64_t Histogram::quantile(double p) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(p, 0.0, 1.0) * static_cast<double>(count_);
  // A shave below the share: 0.999 * 1000 must be the 999th value in spite of rounding.
  const uint64_t wanted = std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(share - 1e-6)), 1, count_);
  uint64_t seen = 0;
  for (size_t index = 0; index < buckets_.size(); ++index) {
    seen += buckets_[index];
    if (seen >= wanted) return std::min(highest_of(index), max_);
  }
  return max_;
}

}  // namespace redoubt
