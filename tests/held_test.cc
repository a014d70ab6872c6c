// When held bytes may go on: delay and rate, told the time.
#include "lab/proxy/held.h"

#include <gmock/gmock.h>

#include "lab/proxy/limits.h"

namespace redoubt::lab {
namespace {

using namespace std::chrono_literals;
using Kind = Treatment::Kind;

constexpr Time kStart{1h};
constexpr Treatment kPass{.kind = Kind::kPass};

// Lets go on what is due at `now`; returns it.
std::string take_due(Held& held, const Treatment& treatment, Time now) {
  std::string taken;
  while (const size_t due = held.due(treatment, now)) {
    taken += held.first(due);
    held.gone(due, treatment, now);
  }
  return taken;
}

TEST(HeldTest, DelayedBytesGoOnInTheSpacingInWhichTheyCame) {
  const Treatment delay{.kind = Kind::kDelay, .delay = 10ms};
  Held held;

  held.add("ab", kStart);
  held.add("c", kStart + 4ms);

  EXPECT_EQ(take_due(held, delay, kStart + 9ms), "");
  EXPECT_EQ(held.next_due(delay), kStart + 10ms);
  EXPECT_EQ(take_due(held, delay, kStart + 10ms), "ab");
  EXPECT_EQ(held.next_due(delay), kStart + 14ms);
  EXPECT_EQ(take_due(held, delay, kStart + 20ms), "c");
  EXPECT_EQ(held.next_due(delay), kNever);
}

TEST(HeldTest, AShorterDelayCountsFromTheArrivalOfWhatIsHeld) {
  Held held;
  held.add("a", kStart);

  const Treatment shorter{.kind = Kind::kDelay, .delay = 1ms};

  EXPECT_EQ(held.next_due(shorter), kStart + 1ms);
  EXPECT_EQ(take_due(held, kPass, kStart), "a");
}

TEST(HeldTest, AWritePartDoneLeavesTheRestDue) {
  const Treatment delay{.kind = Kind::kDelay, .delay = 1ms};
  Held held;
  held.add("abc", kStart);
  held.add("d", kStart + 5ms);

  held.gone(2, delay, kStart + 1ms);

  EXPECT_EQ(take_due(held, delay, kStart + 1ms), "c");
  EXPECT_EQ(take_due(held, delay, kStart + 6ms), "d");
}

TEST(HeldTest, StalledAndDroppedBytesAreNeverDue) {
  Held held;
  held.add("abc", kStart);

  for (const Kind kind : {Kind::kStall, Kind::kDrop}) {
    EXPECT_EQ(held.due({.kind = kind}, kStart + 1h), 0u);
    EXPECT_EQ(held.next_due({.kind = kind}), kNever);
  }
}

// What goes in a second at this rate, with a timer that always rings 3 ms late.
size_t gone_in_a_second(uint64_t rate, size_t given) {
  const Treatment treatment{.kind = Kind::kRate, .rate = rate};
  Held held;
  held.add(std::string(given, 'x'), kStart);
  size_t gone = 0;
  for (Time now = kStart; now < kStart + 1s && !held.empty(); now = held.next_due(treatment) + 3ms)
    gone += take_due(held, treatment, now).size();
  return gone;
}

TEST(HeldTest, ARateIsKeptThoughTimersAreLate) {
  EXPECT_NEAR(static_cast<double>(gone_in_a_second(1000, 5000)), 1000, 30);
  EXPECT_NEAR(static_cast<double>(gone_in_a_second(100'000, 500'000)), 100'000, 3000);
  EXPECT_NEAR(static_cast<double>(gone_in_a_second(7, 100)), 7, 1);
}

TEST(HeldTest, ARestDoesNotSaveUpARate) {
  const Treatment rate{.kind = Kind::kRate, .rate = 1000};
  Held held;
  held.add("x", kStart);
  EXPECT_EQ(take_due(held, rate, kStart), "x");

  held.add(std::string(500, 'y'), kStart + 10s);

  EXPECT_LE(take_due(held, rate, kStart + 10s).size(), 20u);
}

TEST(HeldTest, IsFullAtItsLimitsOfBytesAndOfReads) {
  Held bytes, reads;
  bytes.add(std::string(kHeldLimit - 1, 'x'), kStart);
  for (size_t i = 0; i + 1 < kHeldArrivals; ++i) reads.add("x", kStart);

  EXPECT_EQ(bytes.room(), 1u);
  EXPECT_GT(reads.room(), 0u);
  bytes.add("x", kStart);
  reads.add("x", kStart);
  EXPECT_EQ(bytes.room(), 0u);
  EXPECT_EQ(reads.room(), 0u);

  bytes.gone(kHeldLimit / 2 + 10, kPass, kStart);
  bytes.add("abc", kStart);
  EXPECT_EQ(bytes.size(), kHeldLimit / 2 - 10 + 3);
  EXPECT_TRUE(bytes.first(bytes.size()).ends_with("xabc"));
}

}  // namespace
}  // namespace redoubt::lab
