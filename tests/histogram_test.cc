// Percentiles from buckets: exact where values are small, to three digits elsewhere, in bounded memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/histogram.h"
#include "core/random.h"

namespace redoubt {
namespace {

TEST(Histogram, EmptyHasNothingToSay) {
  const Histogram histogram;

  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
  histogram.each_bucket([](uint64_t, uint64_t, uint64_t) { FAIL(); });
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 1000; ++value) histogram.record(value);

  EXPECT_EQ(histogram.quantile(0), 1u);
  EXPECT_EQ(histogram.quantile(0.5), 500u);
  EXPECT_EQ(histogram.quantile(0.999), 999u);
  EXPECT_EQ(histogram.quantile(1), 1000u);
  EXPECT_EQ(histogram.max(), 1000u);
  EXPECT_EQ(histogram.sum(), 500500u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 500.5);
}

TEST(Histogram, QuantilesAreWithinAThousandthOfTheSortedValues) {
  Histogram histogram;
  Random random(7);
  std::vector<uint64_t> values;
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<uint64_t>(random.exponential(5e6)));
  for (const uint64_t value : values) histogram.record(value);
  std::sort(values.begin(), values.end());

  for (const double p : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const auto exact = static_cast<double>(values[static_cast<size_t>(p * 20000) - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(p)), exact, exact / 1000) << p;
  }
}

TEST(Histogram, BucketsCoverEveryValueWithoutOverlap) {
  Histogram histogram;
  const std::vector<uint64_t> values{0,    2047, 2048,      2049,
                                     4095, 4096, 123456789, std::numeric_limits<uint64_t>::max()};
  for (const uint64_t value : values) histogram.record(value);

  uint64_t seen = 0, above = 0;
  histogram.each_bucket([&](uint64_t low, uint64_t high, uint64_t count) {
    EXPECT_LE(low, high);
    EXPECT_TRUE(seen == 0 || low > above);
    const auto inside =
        std::count_if(values.begin(), values.end(), [&](uint64_t v) { return v >= low && v <= high; });
    EXPECT_EQ(static_cast<uint64_t>(inside), count);
    seen += count;
    above = high;
  });

  EXPECT_EQ(seen, values.size());
}

TEST(Histogram, MergedIsAsIfAllHadBeenRecordedInOne) {
  Histogram small, large, both;
  for (const uint64_t value : {1u, 5u, 9u}) small.record(value), both.record(value);
  for (const uint64_t value : {100000u, 2000000u}) large.record(value, 3), both.record(value, 3);

  small.merge(large);

  EXPECT_EQ(small.count(), both.count());
  EXPECT_EQ(small.sum(), both.sum());
  EXPECT_EQ(small.max(), both.max());
  EXPECT_EQ(small.quantile(0.5), both.quantile(0.5));
}

TEST(Histogram, ClearForgets) {
  Histogram histogram;
  histogram.record(77);

  histogram.clear();

  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(1), 0u);
}

}  // namespace
}  // namespace redoubt
