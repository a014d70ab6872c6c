// The parts that plans are made of: times kept for backups, allowances, what was measured lately, and the
// settings of a service. What comes of them is in scenarios/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/plan/allowance.h"
#include "broker/plan/slots.h"
#include "broker/service_policy.h"
#include "core/random.h"
#include "core/recent_times.h"

namespace redoubt::broker {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr Time kStart{1000s};

TEST(Slots, TimesOfOnePairDoNotOverlap) {
  Slots slots;
  slots.take({1, kStart + 10ms, kStart + 20ms});
  slots.take({1, kStart + 30ms, kStart + 40ms});

  EXPECT_EQ(slots.earliest(1, kStart, 10ms), kStart);
  EXPECT_EQ(slots.earliest(1, kStart + 1ms, 10ms), kStart + 20ms);
  EXPECT_EQ(slots.earliest(1, kStart + 12ms, 11ms), kStart + 40ms);
  EXPECT_EQ(slots.earliest(2, kStart + 12ms, 11ms), kStart + 12ms);
}

TEST(Slots, WhatIsFreedCanBeTakenAgain) {
  Slots slots;
  const Slot slot{1, kStart, kStart + 10ms};
  slots.take(slot);
  slots.take({1, kStart + 20ms, kStart + 30ms});

  slots.free(slot);
  slots.free(slot);

  EXPECT_EQ(slots.earliest(1, kStart, 10ms), kStart);
  EXPECT_EQ(slots.size(), 1u);
}

TEST(Allowance, OneInTenIsOneInTen) {
  Allowance allowance;
  int spent = 0;

  for (int request = 0; request < 10000; ++request) {
    allowance.earn(0.1);
    spent += allowance.spend() ? 1 : 0;
  }

  EXPECT_EQ(spent, 1000);
}

TEST(Allowance, LittleIsSavedUp) {
  Allowance allowance;
  for (int request = 0; request < 100000; ++request) allowance.earn(0.1);

  int burst = 0;
  while (allowance.spend()) ++burst;

  EXPECT_EQ(burst, 20);
}

TEST(Allowance, NoShareIsNoCopy) {
  Allowance allowance;
  for (int request = 0; request < 1000; ++request) allowance.earn(0);

  EXPECT_FALSE(allowance.spend());
}

TEST(RecentTimes, PercentilesAreWithinABucket) {
  RecentTimes times(100000);
  for (int i = 1; i <= 1000; ++i) times.record(i * 100us);

  EXPECT_NEAR(to_seconds(times.quantile(0.5)), 0.05, 0.0025);
  EXPECT_NEAR(to_seconds(times.quantile(0.99)), 0.099, 0.005);
  EXPECT_NEAR(times.share_within(25ms, 1), 0.25, 0.012);
}

TEST(RecentTimes, ThePastFades) {
  RecentTimes times(64);
  for (int i = 0; i < 1000; ++i) times.record(1s);
  for (int i = 0; i < 320; ++i) times.record(1ms);

  EXPECT_LT(times.quantile(0.9), 2ms);
}

TEST(RecentTimes, WhatWasStoppedCountsForWhatItShows) {
  // Of two that are equally fast one is stopped when the other has ended: the mean of those that end is half.
  Random random(3);
  RecentTimes times(1e6);
  for (int i = 0; i < 100000; ++i) {
    const double first = random.exponential(0.01), second = random.exponential(0.01);
    const auto least =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(first, second)));
    times.record(least);
    times.record_stopped(least);
  }

  EXPECT_NEAR(times.share_within(10ms, 1), 1 - std::exp(-1), 0.02);
  EXPECT_NEAR(to_seconds(times.mean_within(10ms)), 0.01 * (1 - std::exp(-1)), 0.0003);
  EXPECT_NEAR(to_seconds(times.mean()), 0.01, 0.0005);
}

TEST(RecentTimes, KnowsNothingAtFirstAndAnythingAfterwards) {
  RecentTimes times;
  EXPECT_EQ(times.quantile(0.9), Duration::zero());
  EXPECT_EQ(times.share_within(1s, 0.5), 0.5);

  times.record(0s);
  times.record(1000h);

  EXPECT_EQ(times.quantile(0.4), 1us);
  EXPECT_GT(times.quantile(1), 10h);
}

TEST(ServicePolicy, IsReadInFull) {
  const auto named = parse_policy(
      "decode(redundancy=hedge, copies=3,disposal=two-phase:0.25,hedge-percentile=0.95, hedge-least=2ms,"
      "hedge-most=20ms,extra-share=0.2,all-extra-share=1.5)");

  ASSERT_TRUE(named) << named.error();
  EXPECT_EQ(named->service, "decode");
  const ServicePolicy& policy = named->policy;
  EXPECT_EQ(policy.policy, (wire::Policy{wire::Redundancy::kHedge, wire::Disposal::kTwoPhase, 250}));
  EXPECT_EQ(policy.copies, 3u);
  EXPECT_EQ(policy.hedge_percentile, 0.95);
  EXPECT_EQ(policy.hedge_least, 2ms);
  EXPECT_EQ(policy.hedge_most, 20ms);
  EXPECT_EQ(policy.extra_share, 0.2);
  EXPECT_EQ(policy.all_extra_share, 1.5);
}

TEST(ServicePolicy, LeavesTheRestAsItIs) {
  const auto named = parse_policy("*(disposal=expire)");

  ASSERT_TRUE(named) << named.error();
  EXPECT_EQ(named->policy.policy, (wire::Policy{wire::Redundancy::kPerLevel, wire::Disposal::kExpire, 0}));
  EXPECT_EQ(named->policy.copies, 1u);
  EXPECT_FALSE(named->policy.extra_share);
}

TEST(ServicePolicy, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"decode", "is no policy"},
      {"(copies=2)", "is no policy"},
      {"decode(copies=2", "is no policy"},
      {"decode(copies)", "has no value"},
      {"decode()", "a setting is empty"},
      {"decode(copies=2,)", "a setting is empty"},
      {"decode(,copies=2)", "a setting is empty"},
      {"decode(=2)", "a setting is empty"},
      {"decode(copies=2,disposal=expire, copies=3)", "copies stands there twice"},
      {"decode(copies=0)", "from 1 to 64"},
      {"decode(copies=65)", "from 1 to 64"},
      {"decode(redundancy=triple)", "no redundancy"},
      {"decode(redundancy=default)", "no redundancy"},
      {"decode(disposal=two-phase:2)", "not a share"},
      {"decode(disposal=two-phase:nan)", "not a share"},
      {"decode(disposal=sometimes)", "no disposal"},
      {"decode(hedge-least=0s)", "above zero"},
      {"decode(hedge-least=2s,hedge-most=1s)", "above hedge-most"},
      {"decode(hedge-percentile=1)", "not a number from"},
      {"decode(extra-share=-1)", "not a number from"},
      {"decode(colour=red)", "no such key"},
  };
  for (const auto& [text, part] : wrong) {
    const auto named = parse_policy(text);
    ASSERT_FALSE(named) << text;
    EXPECT_THAT(named.error(), HasSubstr(part));
  }
}

}  // namespace
}  // namespace redoubt::broker
