// Histogram: how often each value was seen, to three significant digits: what percentiles are read from.
// Buckets grow with the value (1,024 for every doubling), so that it is never off by more than 0.1 % and
// never above 440 KiB however much is recorded; memory follows the largest value seen. The unit is the
// owner's. Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redoubt {

class Histogram {
 public:
  void record(uint64_t value, uint64_t times = 1) {
    const size_t index = index_of(value);
    if (index >= buckets_.size()) grow(index);
    buckets_[index] += times;
    count_ += times;
    sum_ += value * times;
    max_ = std::max(max_, value);
  }

  // As if everything the other has seen had been recorded here.
  void merge(const Histogram& other);
  // Forgets everything, keeps the memory.
  void clear();

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }

  // The value that a share `p` (0 to 1) of what was recorded does not exceed; 0 when nothing was.
  uint64_t quantile(double p) const;

  // Calls visit(lowest, highest, count) for every bucket that is not empty, upward.
  template <class Visit>
  void each_bucket(Visit visit) const {
    for (size_t index = 0; index < buckets_.size(); ++index)
      if (buckets_[index] != 0) visit(lowest_of(index), highest_of(index), buckets_[index]);
  }

 private:
  // Below 2,048 every value has a bucket of its own; from there on, 1,024 buckets for each further bit.
  static constexpr int kExactBits = 11;
  static constexpr uint64_t kExact = uint64_t{1} << kExactBits;
  static constexpr uint64_t kPerBit = kExact / 2;

  static size_t index_of(uint64_t value) {
    if (value < kExact) return value;
    const auto shift = static_cast<uint64_t>(std::bit_width(value) - kExactBits);
    return kPerBit * shift + (value >> shift);
  }
  static uint64_t lowest_of(size_t index) {
    if (index < kExact) return index;
    const uint64_t shift = index / kPerBit - 1;
    return (index - kPerBit * shift) << shift;
  }
  static uint64_t highest_of(size_t index) {
    if (index < kExact) return index;
    return lowest_of(index) + ((uint64_t{1} << (index / kPerBit - 1)) - 1);
  }

  void grow(size_t index);

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace redoubt
