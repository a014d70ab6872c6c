// The replica's core and a manager's answer to an offer. Time is made up; nothing waits.
#include "failover_fixture.h"

namespace redoubt::replica {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using wire::Fate;

class ReplicaAdoptTest : public ReplicaFailoverTest {};

TEST_F(ReplicaAdoptTest, AnAdoptedCopyAnswersWithItsNewNumberAndEpoch) {
  build_group({.workers = 1});
  wire::Copy upper = copy(1);
  upper.level = 2;
  step(CopyArrived{kLink, upper});
  arrive(2);
  announce(kSecond, kSecondEpoch);

  adopt({{handle(1), 51}, {handle(2), 52}});
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
  end(0);
  end(1);

  EXPECT_THAT(done_on(kLink), IsEmpty());
  EXPECT_THAT(done_on(kSecond),
              ElementsAre(AllOf(Field(&wire::Done::copy, 51U), Field(&wire::Done::epoch, kSecondEpoch),
                                Field(&wire::Done::level, 2U), Field(&wire::Done::fate, Fate::kOk)),
                          Field(&wire::Done::copy, 52U)));
}

TEST_F(ReplicaAdoptTest, WhatFinishedBeforeItsAdoptionIsAnsweredAtOnceWithWhatItWas) {
  build_group({.workers = 2});
  arrive(1);
  arrive(2);
  step(LinkLost{kLink});
  step(LinkUp{{0, 2}});  // and what was known of the old link is gone
  now_ += 30ms;
  end(0);
  end(1, Outcome::kFailed, "no such frame");
  now_ += 30ms;
  announce(kSecond, kSecondEpoch);

  adopt({{handle(1), 51}, {handle(2), 52}});

  const auto done = done_on(kSecond);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].copy, 51U);
  EXPECT_EQ(done[0].epoch, kSecondEpoch);
  EXPECT_EQ(done[0].payload.view(), "out");
  EXPECT_EQ(done[0].wait_ns, 30'000'000U);
  EXPECT_EQ(done[1].fate, Fate::kFailed);
  EXPECT_EQ(done[1].text, "no such frame");
}

TEST_F(ReplicaAdoptTest, AResultThatTheNewManagerCannotTakeIsAFailure) {
  build({.workers = 2, .brokers = 2});
  step(LinkUp{kLink});
  step(WelcomeArrived{
      kLink, {.version = wire::kVersionMax, .name = "b", .epoch = kFirstEpoch, .max_payload = 5000}});
  connect(kSecond, kFirstEpoch, false);
  arrive(1);
  arrive(2);
  announce(kSecond, kSecondEpoch);
  end_with(0, 1001);

  adopt({{handle(1), 51}, {handle(2), 52}});
  end_with(1, 1001);

  const auto done = done_on(kSecond);
  ASSERT_EQ(done.size(), 2U);
  for (const wire::Done& one : done) {
    EXPECT_EQ(one.fate, Fate::kFailed);
    EXPECT_EQ(one.text, "result of 1001 bytes, the limit is 1000");
    EXPECT_TRUE(one.payload.empty());
  }
}

TEST_F(ReplicaAdoptTest, AHaltOfTheNewManagerReachesWhatItAdopted) {
  build_group({.workers = 1});
  arrive(1);
  arrive(2);
  announce(kSecond, kSecondEpoch);
  adopt({{handle(1), 51}, {handle(2), 52}});

  step(HaltArrived{kSecond, {{51, 52}}});
  end(0, Outcome::kFailed, "halted");

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_THAT(
      done_on(kSecond),
      ElementsAre(AllOf(Field(&wire::Done::copy, 52U), Field(&wire::Done::fate, Fate::kHaltedQueued)),
                  AllOf(Field(&wire::Done::copy, 51U), Field(&wire::Done::fate, Fate::kHaltedRunning))));
}

TEST_F(ReplicaAdoptTest, AnAdoptedCopyLivesUntilItsOwnTimeIsOver) {
  build_group({.workers = 1});
  arrive(1, 1h);
  arrive(2, 20s);
  announce(kSecond, kSecondEpoch);
  adopt({{handle(1), 51}, {handle(2), 52}});

  for (int i = 0; i < 100; ++i) {
    live_on(200ms);
    step(DummyArrived{kSecond, {.sent_us = to_us(now_)}});
  }

  EXPECT_THAT(all<StopCopy>(), IsEmpty());
  EXPECT_THAT(done_on(kSecond),
              ElementsAre(AllOf(Field(&wire::Done::copy, 52U), Field(&wire::Done::fate, Fate::kExpired))));
  EXPECT_GE(done_on(kSecond).at(0).wait_ns, 19'000'000'000U);
}

TEST_F(ReplicaAdoptTest, AStartThatNobodyHeardOfIsToldAtTheAdoption) {
  build_group();
  wire::Copy told = copy(1);
  told.tell_start = true;
  step(CopyArrived{kLink, told});
  announce(kSecond, kSecondEpoch);

  step(CopyStarted{all<StartCopy>().at(0).copy});
  EXPECT_THAT(sent<wire::Started>(), IsEmpty());
  adopt({{handle(1), 51}});

  ASSERT_EQ(sent<wire::Started>().size(), 1U);
  EXPECT_EQ(sent<wire::Started>().at(0).copy, 51U);
  EXPECT_EQ(sent<wire::Started>().at(0).epoch, kSecondEpoch);
}

TEST_F(ReplicaAdoptTest, WhatIsDroppedGoesWithoutAnAnswer) {
  build_group({.workers = 2});
  for (const uint64_t id : {1U, 2U, 3U}) arrive(id);
  step(LinkLost{kLink});
  end(0);  // and the third starts
  step(CopyArrived{kThird, copy(4)});
  announce(kSecond, kSecondEpoch);

  drop({handle(1), handle(2), handle(4), 12345});
  end(1);

  EXPECT_THAT(all<StopCopy>(), ElementsAre(Field(&StopCopy::copy, CopyHandle::of(handle(2)))));
  EXPECT_EQ(replica_->queued(), 0U);
  EXPECT_EQ(replica_->running(), 1U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaAdoptTest, AnAdoptOfAnotherEpochOrLinkIsIgnoredAndCounted) {
  build_group();
  arrive(1);
  announce(kSecond, kSecondEpoch);

  adopt({{handle(1), 51}}, kSecond, kFirstEpoch);
  adopt({{handle(1), 51}}, kSecond, kThirdEpoch);
  adopt({{handle(1), 51}}, kLink, kFirstEpoch);
  adopt({{handle(1), 51}}, kThird, kSecondEpoch);
  end(0);

  EXPECT_EQ(replica_->counters().adopts, 4U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaAdoptTest, AnAdoptOfAManagerWhoseRuleIsOverIsIgnoredAndCounted) {
  build_group();
  arrive(1);
  announce(kSecond, kSecondEpoch);
  const uint64_t first = handle(1);
  wire::Copy newer = copy(9);
  newer.epoch = kThirdEpoch;

  step(CopyArrived{kThird, newer});
  adopt({{first, 51}});
  EXPECT_EQ(replica_->counters().adopts, 1U);
  announce(kThird, kThirdEpoch);
  announce(kThird, kThirdEpoch, false);
  adopt({{first, 61}}, kThird, kThirdEpoch);
  end(0);

  EXPECT_EQ(replica_->counters().adopts, 2U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaAdoptTest, WhatWasGivenUpBeforeAnOfferIsUnknownToIt) {
  build_group();
  arrive(1, 100ms);
  announce(kSecond, kSecondEpoch);
  const uint64_t first = handle(1);
  live_on(200ms);

  announce(kThird, kThirdEpoch);
  adopt({{first, 61}}, kThird, kThirdEpoch);

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaAdoptTest, AnAdoptOfWhatWasNeverOfferedIsSkipped) {
  build_group({.workers = 2});
  announce(kSecond, kSecondEpoch);
  wire::Copy own = copy(1);
  own.epoch = kSecondEpoch;
  step(CopyArrived{kSecond, own});

  adopt({{all<StartCopy>().at(0).copy.number(), 51}, {~uint64_t{0}, 52}, {0, 53}});
  drop({all<StartCopy>().at(0).copy.number(), ~uint64_t{0}, 0});
  end(0);

  EXPECT_THAT(done_on(kSecond), ElementsAre(Field(&wire::Done::copy, 1U)));
}

TEST_F(ReplicaAdoptTest, AManagerThatAdoptsWhatWasGivenUpMeanwhileHearsThatItIsGone) {
  build_group({.workers = 1});
  wire::Copy running = copy(1, 1h);
  running.level = 2;
  step(CopyArrived{kLink, running});
  arrive(2, 1s);
  arrive(3, 1h);
  announce(kSecond, kSecondEpoch);
  for (int i = 0; i < 60; ++i) {
    live_on(100ms);
    step(DummyArrived{kSecond, {.sent_us = to_us(now_)}});
  }

  adopt({{handle(1), 51}, {handle(2), 52}, {handle(3), 53}});
  adopt({{handle(1), 54}});

  EXPECT_THAT(
      done_on(kSecond),
      ElementsAre(AllOf(Field(&wire::Done::copy, 51U), Field(&wire::Done::level, 2U),
                        Field(&wire::Done::fate, Fate::kHaltedRunning)),
                  AllOf(Field(&wire::Done::copy, 52U), Field(&wire::Done::fate, Fate::kExpired)),
                  AllOf(Field(&wire::Done::copy, 53U), Field(&wire::Done::fate, Fate::kHaltedQueued))));
}

TEST_F(ReplicaAdoptTest, ANumberThatIsTakenClosesTheLink) {
  build_group({.workers = 3});
  arrive(1);
  arrive(2);
  announce(kSecond, kSecondEpoch);
  wire::Copy own = copy(51);
  own.epoch = kSecondEpoch;
  step(CopyArrived{kSecond, own});

  adopt({{handle(1), 51}});

  EXPECT_THAT(all<CloseLink>(),
              ElementsAre(AllOf(Field(&CloseLink::link, kSecond),
                                Field(&CloseLink::reason, wire::CloseReason::kOutOfOrder))));
}

TEST_F(ReplicaAdoptTest, ANumberThatIsGivenTwiceClosesTheLinkAndAdoptsNothing) {
  build_group({.workers = 2});
  arrive(1);
  arrive(2);
  announce(kSecond, kSecondEpoch);
  end(0);

  adopt({{handle(1), 51}, {handle(2), 51}});

  EXPECT_EQ(all<CloseLink>().size(), 1U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaAdoptTest, TheSameNumberOfTwoBrokersMeansTwoCopies) {
  build_group({.workers = 2});
  arrive(1);
  announce(kSecond, kSecondEpoch);
  wire::Copy own = copy(2);
  own.copy = 8;
  own.epoch = kSecondEpoch;
  step(CopyArrived{kSecond, own});

  adopt({{handle(1), 1}});
  halt({1, 8});
  step(HaltArrived{kSecond, {{1}}});

  EXPECT_THAT(all<StopCopy>(), ElementsAre(Field(&StopCopy::copy, all<StartCopy>().at(0).copy)));
}

TEST_F(ReplicaAdoptTest, ASecondTakeOverIsOfferedWhatTheFirstDidNotAdoptAndWhatItDid) {
  build_group({.workers = 3});
  for (const uint64_t id : {1U, 2U, 3U}) arrive(id);
  announce(kSecond, kSecondEpoch);
  const uint64_t second = handle(2);
  adopt({{handle(1), 51}});
  end(2);

  announce(kThird, kThirdEpoch);
  adopt({{second, 52}});
  adopt({{handle(1, kThird), 61}, {handle(2, kThird), 62}, {handle(3, kThird), 63}}, kThird, kThirdEpoch);
  end(0);
  end(1);

  EXPECT_EQ(replica_->counters().adopts, 1U);
  EXPECT_THAT(done_on(kSecond), IsEmpty());
  EXPECT_THAT(done_on(kThird),
              ElementsAre(Field(&wire::Done::copy, 63U), Field(&wire::Done::copy, 61U),
                          AllOf(Field(&wire::Done::copy, 62U), Field(&wire::Done::epoch, kThirdEpoch))));
}

TEST_F(ReplicaAdoptTest, AnOfferEndsWithItsLinkAndItsTimeRunsOn) {
  build_group();
  arrive(1, 1h);
  announce(kSecond, kSecondEpoch);
  const uint64_t first = handle(1);
  live_on(400ms);

  step(LinkLost{kSecond});
  connect({1, 2}, kSecondEpoch);
  adopt({{first, 51}});
  EXPECT_EQ(handle(1, {1, 2}), first);
  for (int i = 0; i < 46; ++i) {
    live_on(100ms);
    step(DummyArrived{{1, 2}, {.sent_us = to_us(now_)}});
  }

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

}  // namespace
}  // namespace redoubt::replica
