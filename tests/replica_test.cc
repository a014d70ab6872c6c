// The replica's core: which copy runs when, and how it ends. Time is made up; nothing waits.
#include "replica/replica.h"

#include "replica_fixture.h"

namespace redoubt::replica {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::Fate;

TEST_F(ReplicaTest, RunsCopiesInTheOrderOfArrival) {
  build({});
  connect();

  for (const uint64_t id : {1U, 2U, 3U}) arrive(id);
  end(0);
  end(1);
  end(2);

  EXPECT_THAT(started(), ElementsAre(1, 2, 3));
  EXPECT_EQ(sent<wire::Done>().size(), 3U);
  EXPECT_EQ(sent<wire::Done>().at(0).payload.view(), "out");
  EXPECT_EQ(sent<wire::Done>().at(0).load.queued, 2U);
  EXPECT_EQ(sent<wire::Done>().at(2).load.queued + sent<wire::Done>().at(2).load.running, 0U);
}

TEST_F(ReplicaTest, RunsAsManyAtOnceAsThereAreWorkers) {
  build({.workers = 2});
  connect();

  for (const uint64_t id : {1U, 2U, 3U}) arrive(id);

  EXPECT_THAT(started(), ElementsAre(1, 2));
  EXPECT_EQ(replica_->queued(), 1U);
}

TEST_F(ReplicaTest, AFullQueueIsAnsweredAtOnce) {
  build({.queue_limit = 1});
  connect();

  for (const uint64_t id : {1U, 2U, 3U}) arrive(id);

  ASSERT_EQ(sent<wire::Done>().size(), 1U);
  EXPECT_EQ(sent<wire::Done>().at(0).copy, 3U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kHaltedQueued);
}

TEST_F(ReplicaTest, AQueuedCopyExpiresByItselfAtItsDeadline) {
  build({});
  connect();
  arrive(1);
  arrive(2, 30ms);

  live_on(40ms);
  end(0);

  ASSERT_EQ(sent<wire::Done>().size(), 2U);
  EXPECT_EQ(sent<wire::Done>().at(0).copy, 2U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kExpired);
  EXPECT_EQ(sent<wire::Done>().at(0).wait_ns, 30'000'000U);
  EXPECT_THAT(started(), ElementsAre(1));
}

TEST_F(ReplicaTest, AWaitLimitExpiresBeforeTheDeadline) {
  build({});
  connect();
  arrive(1);
  wire::Copy limited = copy(2);
  limited.limits_wait = true;
  limited.wait_us = 20'000;

  step(CopyArrived{kLink, limited});
  live_on(25ms);

  ASSERT_EQ(sent<wire::Done>().size(), 1U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kExpired);
}

TEST_F(ReplicaTest, ACopyThatLayFiveSecondsInASocketIsNotStarted) {
  build({});
  connect();
  const wire::Copy old = copy(1, 1s);

  now_ += 5s;
  step(CopyArrived{kLink, old});

  EXPECT_THAT(started(), IsEmpty());
  ASSERT_EQ(sent<wire::Done>().size(), 1U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kExpired);
  EXPECT_NEAR(static_cast<double>(sent<wire::Done>().at(0).wait_ns), 5e9, 1e6);
}

TEST_F(ReplicaTest, WhatAFrameTookBeyondTheUsualIsChargedAgainstBothBudgets) {
  build({});
  connect();
  wire::Copy slow = copy(1, 100ms);
  slow.limits_wait = true;
  slow.wait_us = 60'000;

  now_ += 20ms;
  step(CopyArrived{kLink, slow});

  const StartCopy start = all<StartCopy>().at(0);
  EXPECT_NEAR(to_seconds(start.deadline - now_), 0.080, 0.0001);
  EXPECT_NEAR(to_seconds(start.start_before - now_), 0.040, 0.0001);
  end(0);
  EXPECT_NEAR(static_cast<double>(sent<wire::Done>().at(0).wait_ns), 20e6, 1e5);
}

TEST_F(ReplicaTest, AfterAPauseNothingThatIsOverStarts) {
  build({});
  connect();
  arrive(1, 10s);
  arrive(2, 1s);
  arrive(3, 10s);

  now_ += 5s;  // stopped and continued: no deadline was kept
  end(0);

  EXPECT_THAT(started(), ElementsAre(1, 3));
  EXPECT_EQ(sent<wire::Done>().at(0).copy, 2U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kExpired);
}

TEST_F(ReplicaTest, ACopyThatItsWorkerFoundExpiredIsReportedSo) {
  build({});
  connect();
  arrive(1);

  end(0, Outcome::kExpired);

  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kExpired);
  EXPECT_FALSE(sent<wire::Done>().at(0).started_expired);
}

TEST_F(ReplicaTest, AStartAfterTheDeadlineIsMeasuredHonestly) {
  build({});
  connect();
  arrive(1, 10ms);

  now_ += 20ms;
  end(0);

  EXPECT_TRUE(sent<wire::Done>().at(0).started_expired);
}

TEST_F(ReplicaTest, AHaltedQueuedCopyGoesAtOnce) {
  build({});
  connect();
  for (const uint64_t id : {1U, 2U, 3U}) arrive(id);

  halt({2});
  end(0);

  EXPECT_EQ(sent<wire::Done>().at(0).copy, 2U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kHaltedQueued);
  EXPECT_THAT(started(), ElementsAre(1, 3));
}

TEST_F(ReplicaTest, AHaltedRunningCopyIsAskedToStopOnceAndAnsweredWhenItEnds) {
  build({});
  connect();
  arrive(1);

  halt({1});
  halt({1, 1});
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
  end(0, Outcome::kFailed, "halted");

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  ASSERT_EQ(sent<wire::Done>().size(), 1U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kHaltedRunning);
}

TEST_F(ReplicaTest, ASuccessInSpiteOfAHaltIsASuccess) {
  build({});
  connect();
  arrive(1);

  halt({1});
  end(0);

  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kOk);
}

TEST_F(ReplicaTest, HaltsOfUnknownAndFinishedCopiesAreIgnored) {
  build({});
  connect();
  arrive(1);
  end(0);

  halt({1, 99});

  EXPECT_EQ(sent<wire::Done>().size(), 1U);
  EXPECT_THAT(all<StopCopy>(), IsEmpty());
  EXPECT_THAT(all<CloseLink>(), IsEmpty());
}

TEST_F(ReplicaTest, ASecondArrivalOfTheSameCopyIsIgnored) {
  build({.workers = 2});
  connect();
  arrive(1);

  arrive(1);

  EXPECT_THAT(started(), ElementsAre(1));
  EXPECT_EQ(replica_->counters().duplicates, 1U);
}

TEST_F(ReplicaTest, AnUnknownServiceIsAFailure) {
  build({});
  connect();
  wire::Copy foreign = copy(1);
  foreign.service = 1;

  step(CopyArrived{kLink, foreign});

  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kFailed);
}

TEST_F(ReplicaTest, ASkippedPayloadIsAFailure) {
  build({});
  connect();

  step(CopyArrived{kLink, copy(1), true});

  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kFailed);
  EXPECT_EQ(sent<wire::Done>().at(0).text, "the payload is over the limit of 1000 bytes");
}

TEST_F(ReplicaTest, AResultOverTheLimitIsAFailure) {
  build({});
  connect();
  arrive(1);
  CopyEnded ended;
  ended.copy = all<StartCopy>().at(0).copy;
  ended.result = Payload(std::string(1001, 'x'));
  ended.started_at = ended.ended_at = now_;

  step(std::move(ended));

  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kFailed);
  EXPECT_EQ(sent<wire::Done>().at(0).text, "result of 1001 bytes, the limit is 1000");
  EXPECT_TRUE(sent<wire::Done>().at(0).payload.empty());
}

TEST_F(ReplicaTest, TextsAreCutToTheLimitBetweenCharacters) {
  build({});
  connect();
  arrive(1);

  end(0, Outcome::kFailed, std::string(wire::kMaxTextBytes - 1, 'x') + "\xc3\xa4");

  EXPECT_EQ(sent<wire::Done>().at(0).text, std::string(wire::kMaxTextBytes - 1, 'x'));
}

TEST_F(ReplicaTest, OnlyWhoAsksIsToldOfTheStart) {
  build({.workers = 2});
  connect();
  wire::Copy told = copy(1);
  told.tell_start = true;

  step(CopyArrived{kLink, told});
  arrive(2);
  step(CopyStarted{all<StartCopy>().at(0).copy});

  EXPECT_TRUE(all<StartCopy>().at(0).tell_start);
  EXPECT_FALSE(all<StartCopy>().at(1).tell_start);
  ASSERT_EQ(sent<wire::Started>().size(), 1U);
  EXPECT_EQ(sent<wire::Started>().at(0).copy, 1U);
  EXPECT_EQ(sent<wire::Started>().at(0).load.running, 2U);
}

TEST_F(ReplicaTest, AWorkerOnVacationLooksAgainWhenItReturns) {
  build({.vacation = Distribution(Distribution::Const{10ms})});
  connect();
  live_on(4ms);

  arrive(1);
  EXPECT_THAT(started(), IsEmpty());
  live_on(7ms);

  EXPECT_THAT(started(), ElementsAre(1));
}

TEST_F(ReplicaTest, HoldsNoMoreThanItsLimitsUnderAnyMixOfEvents) {
  build({.workers = 3, .queue_limit = 8, .seed = 1});
  connect();
  Random random(1);
  std::vector<CopyHandle> out;
  uint64_t answered = 0;

  for (uint64_t id = 1; id <= 20'000; ++id) {
    effects_.clear();
    now_ += from_us(static_cast<int64_t>(random.below(400)));
    if (id % 100 == 0) step(DummyArrived{kLink, {.sent_us = to_us(now_)}});
    step(CopyArrived{kLink, copy(id, from_us(static_cast<int64_t>(random.below(3000))))});
    if (random.chance(0.2)) step(HaltArrived{kLink, {{id - random.below(5), id}}});
    for (const StartCopy& start : all<StartCopy>()) out.push_back(start.copy);
    if (!out.empty() && random.chance(0.8)) {
      const size_t which = random.below(out.size());
      CopyEnded ended;
      ended.copy = out[which];
      ended.started_at = ended.ended_at = now_;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
      const size_t before = all<StartCopy>().size();
      step(std::move(ended));
      const auto starts = all<StartCopy>();
      for (size_t i = before; i < starts.size(); ++i) out.push_back(starts[i].copy);
    }
    answered += sent<wire::Done>().size();
    ASSERT_LE(replica_->queued(), 8U);
    ASSERT_LE(replica_->running(), 3U);
    ASSERT_EQ(replica_->running(), out.size());
    ASSERT_EQ(answered + replica_->queued() + replica_->running(), id);
  }
}

}  // namespace
}  // namespace redoubt::replica
