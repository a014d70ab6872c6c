// The replica's core when a manager is gone: whose copies count, and what becomes of those that have none.
// Time is made up; nothing waits.
#include "failover_fixture.h"

namespace redoubt::replica {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class ReplicaOrphansTest : public ReplicaFailoverTest {};

TEST_F(ReplicaOrphansTest, AStandbysWelcomeOutlawsNobodysCopies) {
  build({.brokers = 2});
  connect();
  connect(kSecond, {9, 1}, false);

  arrive(1);

  EXPECT_THAT(started(), ElementsAre(1));
  EXPECT_EQ(replica_->counters().stale, 0U);
  EXPECT_EQ(sent<wire::Holding>().size(), 1U);  // to the first alone
}

TEST_F(ReplicaOrphansTest, AnAnnounceThatRulesOutlawsEarlierCopies) {
  build_group();

  announce(kSecond, kSecondEpoch);
  arrive(1);

  EXPECT_THAT(started(), IsEmpty());
  EXPECT_EQ(replica_->counters().stale, 1U);
}

TEST_F(ReplicaOrphansTest, AnAnnounceThatDoesNotRuleOutlawsNobodysCopies) {
  build_group();

  announce(kSecond, kSecondEpoch, false);
  arrive(1);

  EXPECT_THAT(started(), ElementsAre(1));
}

TEST_F(ReplicaOrphansTest, ACopyOutlawsEarlierOnesToo) {
  build_group();
  wire::Copy newer = copy(1);
  newer.epoch = kSecondEpoch;

  step(CopyArrived{kSecond, newer});
  arrive(2);

  EXPECT_THAT(started(), ElementsAre(1));
  EXPECT_EQ(replica_->counters().stale, 1U);
}

TEST_F(ReplicaOrphansTest, AManagerOfAnEarlierEpochIsOfferedNothing) {
  build({.brokers = 3});
  connect(kSecond, kSecondEpoch);
  effects_.clear();

  connect(kLink, kFirstEpoch);
  connect(kThird, kFirstEpoch, false);
  announce(kThird, kFirstEpoch);

  EXPECT_EQ(all<Warn>().size(), 2U);
  EXPECT_THAT(sent<wire::Holding>(), IsEmpty());
}

TEST_F(ReplicaOrphansTest, OrphansRunInTheirTurnAndRunOn) {
  build_group({.workers = 1});
  arrive(1);
  arrive(2);

  step(LinkLost{kLink});
  live_on(10ms);
  end(0);

  EXPECT_THAT(all<StopCopy>(), IsEmpty());
  EXPECT_THAT(started(), ElementsAre(1, 2));
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaOrphansTest, OrphansTakePlacesInTheQueue) {
  build_group({.workers = 1, .queue_limit = 1});
  arrive(1);
  arrive(2);
  step(LinkLost{kLink});
  announce(kSecond, kSecondEpoch);
  wire::Copy third = copy(3);
  third.epoch = kSecondEpoch;

  step(CopyArrived{kSecond, third});

  ASSERT_EQ(sent<wire::Done>().size(), 1U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, wire::Fate::kHaltedQueued);
}

TEST_F(ReplicaOrphansTest, ACopyThatWasHaltedIsNotKeptAsAnOrphan) {
  build_group();
  arrive(1);
  halt({1});

  step(LinkLost{kLink});
  announce(kSecond, kSecondEpoch);
  end(0);

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_THAT(held_by(kSecond), IsEmpty());
  EXPECT_EQ(replica_->counters().unwanted, 1U);
}

TEST_F(ReplicaOrphansTest, AQueuedOrphanIsForgottenWhenItsTimeIsOver) {
  build_group();
  arrive(1, 10s);
  arrive(2, 100ms);
  step(LinkLost{kLink});

  live_on(101ms);
  announce(kSecond, kSecondEpoch);

  EXPECT_EQ(replica_->queued(), 0U);
  EXPECT_EQ(held_by(kSecond).size(), 1U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaOrphansTest, ARunningOrphanIsStoppedAtItsDeadline) {
  build_group();
  arrive(1, 100ms);
  step(LinkLost{kLink});

  live_on(101ms);
  announce(kSecond, kSecondEpoch);

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_THAT(held_by(kSecond), IsEmpty());
}

TEST_F(ReplicaOrphansTest, NoOrphanOutlivesTheOrphanTime) {
  build_group({.workers = 2});
  for (const uint64_t id : {1U, 2U, 3U}) arrive(id, 1h);
  step(LinkLost{kLink});
  live_on(1ms);
  end(0);  // and the third starts
  wire::Copy fourth = copy(4, 1h);
  step(CopyArrived{kSecond, fourth});

  live_on(kOrphanTime - 2ms);
  EXPECT_THAT(all<StopCopy>(), IsEmpty());
  step(LinkLost{kSecond});
  live_on(2ms);
  connect({1, 2}, kSecondEpoch);

  EXPECT_EQ(all<StopCopy>().size(), 2U);
  EXPECT_EQ(held_by({1, 2}).size(), 1U);
  EXPECT_EQ(held_by({1, 2}).count(4), 1U);
}

TEST_F(ReplicaOrphansTest, OnlySoManyFinishedOnesAreKeptAndTheOldestGo) {
  build_group({.workers = 2, .queue_limit = 1});
  uint64_t next = 1;
  for (int round = 0; round < 2; ++round) {
    const LinkId link{0, static_cast<uint32_t>(round + 2)};
    step(LinkLost{{0, link.generation - 1}});
    connect(link, kFirstEpoch, false);
    for (int i = 0; i < 2; ++i) step(CopyArrived{link, copy(next++)});
  }
  EXPECT_THAT(started(), ElementsAre(1, 2));
  step(LinkLost{{0, 3}});

  for (size_t i = 0; i < 3; ++i) end(i);
  connect({0, 4}, kFirstEpoch, false);
  step(CopyArrived{{0, 4}, copy(5)});
  step(LinkLost{{0, 4}});
  end(3);
  announce(kSecond, kSecondEpoch);

  EXPECT_THAT(held_by(kSecond), ElementsAre(testing::Key(2), testing::Key(3), testing::Key(5)));
}

TEST_F(ReplicaOrphansTest, OnlySoManyBytesOfResultsAreKeptAndTheOldestGo) {
  build({.workers = 4, .brokers = 2});
  step(LinkUp{kLink});
  step(WelcomeArrived{
      kLink,
      {.version = wire::kVersionMax, .name = "b", .epoch = kFirstEpoch, .max_payload = 2 * kMaxKeptBytes}});
  connect(kSecond, kFirstEpoch, false);
  for (const uint64_t id : {1U, 2U, 3U, 4U}) arrive(id);
  step(LinkLost{kLink});

  end_with(0, kMaxKeptBytes / 2);
  end_with(1, kMaxKeptBytes / 2);
  end_with(2, 1);
  end_with(3, kMaxKeptBytes + 1);
  announce(kSecond, kSecondEpoch);

  EXPECT_THAT(held_by(kSecond), ElementsAre(testing::Key(2), testing::Key(3)));
}

TEST_F(ReplicaOrphansTest, AStoppingReplicaDropsItsOrphans) {
  build_group({.workers = 1});
  arrive(1, 1h);
  arrive(2, 1h);
  step(LinkLost{kLink});

  step(StopAsked{});
  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_EQ(replica_->queued(), 0U);
  end(0, Outcome::kFailed, "stopped");
  live_on(kFarewellLimit);

  EXPECT_EQ(all<Finished>().size(), 1U);
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaOrphansTest, AManagerThatIsLostWhileTheReplicaStopsIsNotMourned) {
  build_group();
  arrive(1, 1h);
  step(StopAsked{});
  EXPECT_THAT(all<StopCopy>(), IsEmpty());

  step(LinkLost{kLink});

  EXPECT_EQ(all<StopCopy>().size(), 1U);
}

}  // namespace
}  // namespace redoubt::replica
