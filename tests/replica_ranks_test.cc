// Copies that end early for others' sake: those of the discipline two-phase, and extra ones, which give way.
#include "replica_fixture.h"

namespace redoubt::replica {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::Fate;

class ReplicaRanks : public ReplicaTest {
 protected:
  void arrive_phased(uint64_t id, Duration phase, Duration limit) {
    wire::Copy made = copy(id);
    made.phase_us = static_cast<uint64_t>(to_us(phase));
    made.limits_wait = true;
    made.wait_us = static_cast<uint64_t>(to_us(limit));
    step(CopyArrived{kLink, std::move(made)});
  }
  void arrive_extra(uint64_t id) {
    wire::Copy made = copy(id);
    made.extra = true;
    step(CopyArrived{kLink, std::move(made)});
  }
  // Copy and fate of what has ended, in order.
  std::vector<std::pair<uint64_t, Fate>> ended() const {
    std::vector<std::pair<uint64_t, Fate>> found;
    for (const wire::Done& done : sent<wire::Done>()) found.emplace_back(done.copy, done.fate);
    return found;
  }
};

TEST_F(ReplicaRanks, AHaltInTheFirstPhaseTakesEffectAtItsEnd) {
  build({});
  connect();
  arrive(1);
  arrive_phased(2, 40ms, 100ms);

  pass(10ms);
  halt({2});
  EXPECT_THAT(ended(), IsEmpty());
  live_on(29ms);
  EXPECT_THAT(ended(), IsEmpty());
  live_on(1ms);

  EXPECT_THAT(ended(), ElementsAre(std::pair(2U, Fate::kHaltedQueued)));
}

TEST_F(ReplicaRanks, AHaltBehindTheFirstPhaseIsNotHeard) {
  build({});
  connect();
  arrive(1);
  arrive_phased(2, 40ms, 100ms);

  live_on(41ms);
  halt({2});
  live_on(58ms);
  EXPECT_THAT(ended(), IsEmpty());
  live_on(1ms);

  EXPECT_THAT(ended(), ElementsAre(std::pair(2U, Fate::kExpired)));
}

TEST_F(ReplicaRanks, WhatRunsInTwoPhasesRunsOn) {
  build({});
  connect();
  arrive_phased(1, 40ms, 100ms);

  halt({1});
  live_on(300ms);

  EXPECT_THAT(all<StopCopy>(), IsEmpty());
  EXPECT_THAT(ended(), IsEmpty());
}

TEST_F(ReplicaRanks, ACondemnedCopyMayStillStartInItsFirstPhase) {
  build({});
  connect();
  arrive(1);
  arrive_phased(2, 40ms, 100ms);
  halt({2});

  pass(20ms);
  end(0);
  live_on(100ms);

  EXPECT_THAT(started(), ElementsAre(1, 2));
  EXPECT_EQ(replica_->running(), 1U);
}

TEST_F(ReplicaRanks, AnExtraCopyRunsOnAnIdleWorker) {
  build({});
  connect();

  arrive_extra(1);
  end(0);

  EXPECT_THAT(ended(), ElementsAre(std::pair(1U, Fate::kOk)));
}

TEST_F(ReplicaRanks, AnExtraCopyIsGivenBackWhereNobodyIsIdle) {
  build({});
  connect();
  arrive(1);

  arrive_extra(2);

  EXPECT_THAT(ended(), ElementsAre(std::pair(2U, Fate::kHaltedQueued)));
}

TEST_F(ReplicaRanks, AnExtraCopyGivesWayAtOnce) {
  build({.workers = 2});
  connect();
  arrive_extra(1);
  arrive_extra(2);

  arrive(3);

  ASSERT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_EQ(all<StopCopy>().at(0).copy, all<StartCopy>().at(1).copy);
  end(1, Outcome::kFailed, "stopped");
  EXPECT_THAT(ended(), ElementsAre(std::pair(2U, Fate::kHaltedRunning)));
  EXPECT_THAT(started(), ElementsAre(1, 2, 3));
}

TEST_F(ReplicaRanks, EveryCopyThatWaitsStopsOneExtraCopy) {
  build({.workers = 2});
  connect();
  arrive_extra(1);
  arrive_extra(2);

  arrive(3);
  arrive(4);
  arrive(5);

  EXPECT_EQ(all<StopCopy>().size(), 2U);
  EXPECT_EQ(replica_->queued(), 3U);
}

TEST_F(ReplicaRanks, AHaltedExtraCopyIsNotStoppedTwice) {
  build({});
  connect();
  arrive_extra(1);

  halt({1});
  arrive(2);

  EXPECT_EQ(all<StopCopy>().size(), 1U);
}

TEST_F(ReplicaRanks, ExtraCopiesEndWithTheirManagersLink) {
  build({});
  connect();
  arrive_extra(1);

  step(LinkLost{kLink});

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  end(0, Outcome::kFailed, "stopped");
  EXPECT_EQ(replica_->running(), 0U);
}

}  // namespace
}  // namespace redoubt::replica
