// The replica's core and its brokers: greeting, epochs, heartbeats, silence, farewell. Time is made up;
// nothing waits.
#include <algorithm>

#include "replica_fixture.h"

namespace redoubt::replica {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::Fate;

class ReplicaLinksTest : public ReplicaTest {};

TEST_F(ReplicaLinksTest, GreetsAndRegistersAndIsReadyAtTheFirstDummy) {
  build({.cluster = "c", .incarnation = 9, .services = {"decode", "detect"}, .workers = 3, .queue_limit = 5});

  connect();

  const wire::Hello hello = sent<wire::Hello>().at(0);
  EXPECT_EQ(hello.role, wire::Role::kReplica);
  EXPECT_EQ(hello.cluster, "c");
  EXPECT_EQ(hello.incarnation, 9U);
  EXPECT_EQ(hello.link_generation, 1U);
  const wire::Register registration = sent<wire::Register>().at(0);
  EXPECT_THAT(registration.services, ElementsAre("decode", "detect"));
  EXPECT_EQ(registration.workers, 3U);
  EXPECT_EQ(registration.queue_limit, 5U);
  EXPECT_EQ(all<Admit>().at(0).max_payload, 1000U);
  EXPECT_EQ(all<Registered>().size(), 1U);
}

TEST_F(ReplicaLinksTest, CopiesOfAnEarlierEpochAreDroppedAndCounted) {
  build({.brokers = 2});
  connect();
  connect({1, 1}, {2, 0});

  arrive(1);

  EXPECT_THAT(started(), IsEmpty());
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
  EXPECT_EQ(replica_->counters().stale, 1U);
}

TEST_F(ReplicaLinksTest, ALostLinkLeavesTheCopiesOfOthersAlone) {
  build({.brokers = 2});
  connect();
  connect({1, 1});
  arrive(1);
  step(CopyArrived{{1, 1}, copy(1)});

  step(LinkLost{kLink});
  end(0);
  end(1);

  ASSERT_EQ(all<Send>().back().link, (LinkId{1, 1}));
  ASSERT_EQ(sent<wire::Done>().size(), 1U);
}

TEST_F(ReplicaLinksTest, WhatComesLateOnALostLinkIsIgnored) {
  build({});
  connect();
  step(LinkLost{kLink});
  connect({0, 2});

  arrive(1);
  halt({1});

  EXPECT_THAT(started(), IsEmpty());
}

TEST_F(ReplicaLinksTest, AHeartbeatIsSentOnlyWhenNothingElseWas) {
  build({});
  connect();

  live_on(40ms);
  arrive(1);
  end(0);
  live_on(40ms);
  EXPECT_THAT(sent<wire::Dummy>(), IsEmpty());
  live_on(15ms);

  ASSERT_EQ(sent<wire::Dummy>().size(), 1U);
  EXPECT_FALSE(sent<wire::Dummy>().at(0).answer);
}

TEST_F(ReplicaLinksTest, AQuestionIsAnsweredAtOnceWithTheTimeItWasSent) {
  build({});
  connect();

  step(DummyArrived{kLink, {.answer = true, .sent_us = 4711}});

  ASSERT_EQ(sent<wire::Dummy>().size(), 1U);
  EXPECT_EQ(sent<wire::Dummy>().at(0).echo_us, 4711);
  EXPECT_FALSE(sent<wire::Dummy>().at(0).answer);
}

// A broker a quarter of a millisecond away whose clock began at another time.
class ReplicaEchoTest : public ReplicaTest {
 protected:
  static constexpr Duration kWay = 250us;

  int64_t their_us() const { return to_us(now_ - 30min); }

  // What the replica sent has arrived and what answers it has come back.
  void exchange() {
    std::vector<wire::Dummy> dummies = sent<wire::Dummy>();
    effects_.clear();
    for (const wire::Dummy& dummy : dummies) {
      heard_us_ = dummy.sent_us;
      if (!dummy.answer) continue;
      ++asked_;
      live_on(2 * kWay);
      step(DummyArrived{kLink, {.sent_us = their_us() - to_us(kWay), .echo_us = heard_us_}});
    }
  }

  void welcome(Duration heartbeat, Duration lay = 0s) {
    step(LinkUp{kLink});
    now_ += 2 * kWay;
    const int64_t sent_us = their_us() - to_us(kWay);
    now_ += lay;
    step(WelcomeArrived{kLink,
                        {.version = wire::kVersionMax,
                         .name = "b",
                         .epoch = {1, 0},
                         .max_payload = 1000,
                         .heartbeat_us = static_cast<uint64_t>(to_us(heartbeat)),
                         .dead_after_us = static_cast<uint64_t>(to_us(10 * heartbeat)),
                         .sent_us = sent_us,
                         .rules = true}});
  }

  // Copies with 50 ms left, one after the other; how many of them were called expired.
  uint64_t expired_of(uint64_t copies, Duration apart) {
    uint64_t expired = 0;
    for (uint64_t id = 1; id <= copies; ++id) {
      live_on(apart);
      wire::Copy one = copy(++copies_, 50ms);
      one.sent_us = their_us() - to_us(kWay);
      effects_.erase(std::remove_if(effects_.begin(), effects_.end(),
                                    [](const Effect& effect) {
                                      const auto* send = std::get_if<Send>(&effect);
                                      return !send || !std::holds_alternative<wire::Dummy>(send->message);
                                    }),
                     effects_.end());
      step(CopyArrived{kLink, std::move(one)});
      if (!started().empty()) end(0);
      for (const wire::Done& done : sent<wire::Done>()) expired += done.fate == Fate::kExpired ? 1 : 0;
      exchange();
    }
    return expired;
  }

  int64_t heard_us_ = 0;
  uint64_t copies_ = 0, asked_ = 0;
};

TEST_F(ReplicaEchoTest, OnALinkThatIsNeverQuietNoCopyIsCalledExpiredBeforeItsTime) {
  build({});
  welcome(50ms);

  EXPECT_EQ(expired_of(100'000, 20ms), 0U) << "in 2000 seconds";

  EXPECT_GE(asked_, 100U);
  EXPECT_LE(asked_, 400U);
}

TEST_F(ReplicaEchoTest, HeartbeatsThatAreFarApartMakeNoCopyOlder) {
  build({});
  welcome(200ms);

  for (int beat = 0; beat < 10'000; ++beat) {
    live_on(199ms);
    exchange();
    // What it echoes is as old as the last sign of life.
    step(DummyArrived{kLink, {.answer = true, .sent_us = their_us() - to_us(kWay), .echo_us = heard_us_}});
    exchange();
  }

  EXPECT_EQ(expired_of(1, 1ms), 0U) << "after 2000 seconds";
}

TEST_F(ReplicaEchoTest, WhoseHandshakeLayUnreadAsksAtOnceHowFastTheWayIs) {
  build({});
  welcome(50ms, 3s);
  EXPECT_EQ(asked_, 0U);
  exchange();
  EXPECT_EQ(asked_, 1U);

  EXPECT_EQ(expired_of(10, 20ms), 0U);
}

TEST_F(ReplicaEchoTest, AnEchoThatCameTooLateIsAskedForAgainAfterAHeartbeat) {
  build({});
  welcome(50ms, 3s);
  const wire::Dummy question = sent<wire::Dummy>().at(0);
  effects_.clear();
  live_on(400ms);  // the broker stood still
  step(DummyArrived{kLink, {.sent_us = their_us() - to_us(kWay), .echo_us = question.sent_us}});
  live_on(50ms);
  exchange();

  EXPECT_GE(asked_, 1U);
  EXPECT_EQ(expired_of(10, 20ms), 0U);
}

TEST_F(ReplicaLinksTest, ASilentBrokerIsLeft) {
  build({});
  connect();
  arrive(1, 1h);
  arrive(2, 1h);

  live_on(501ms);

  ASSERT_EQ(all<CloseLink>().size(), 1U);
  EXPECT_EQ(all<CloseLink>().at(0).reason, wire::CloseReason::kSilent);
  EXPECT_EQ(replica_->queued(), 1U);
  EXPECT_THAT(all<StopCopy>(), IsEmpty());
}

TEST_F(ReplicaLinksTest, AnythingHeardKeepsTheLink) {
  build({});
  connect();

  for (int i = 0; i < 5; ++i) {
    live_on(400ms);
    step(DummyArrived{kLink, {.sent_us = to_us(now_)}});
  }

  EXPECT_THAT(all<CloseLink>(), IsEmpty());
}

TEST_F(ReplicaLinksTest, AfterItsOwnStallItSuspectsItselfAndNotTheBroker) {
  build({});
  connect();

  pass(10s);
  EXPECT_THAT(all<CloseLink>(), IsEmpty());
  live_on(501ms);

  EXPECT_EQ(all<CloseLink>().size(), 1U);
}

TEST_F(ReplicaLinksTest, ABrokerThatDoesNotWelcomeIsLeft) {
  build({});
  step(LinkUp{kLink});

  live_on(kHandshakeLimit);

  ASSERT_EQ(all<CloseLink>().size(), 1U);
  EXPECT_EQ(all<CloseLink>().at(0).reason, wire::CloseReason::kHandshakeTime);
}

TEST_F(ReplicaLinksTest, MessagesOutOfOrderCloseTheLink) {
  for (const Event& event : {Event(CopyArrived{kLink, copy(1)}), Event(HaltArrived{kLink, {}}),
                             Event(DummyArrived{kLink, {}}), Event(AnnounceArrived{kLink, {}}),
                             Event(AdoptArrived{kLink, {}}), Event(StrayArrived{kLink, "submit"})}) {
    build({});
    effects_.clear();
    step(LinkUp{kLink});

    step(event);

    ASSERT_EQ(all<CloseLink>().size(), 1U);
    EXPECT_EQ(all<CloseLink>().at(0).reason, wire::CloseReason::kOutOfOrder);
  }
}

TEST_F(ReplicaLinksTest, AStrangeVersionClosesTheLink) {
  build({});
  step(LinkUp{kLink});

  step(WelcomeArrived{kLink, {.version = 99, .name = "b", .epoch = {}}});

  EXPECT_EQ(all<CloseLink>().at(0).reason, wire::CloseReason::kVersion);
}

TEST_F(ReplicaLinksTest, StoppingGivesBackWhatIsQueuedAndFinishesWhatRuns) {
  build({});
  connect();
  arrive(1);
  arrive(2);

  step(StopAsked{});
  arrive(3);
  EXPECT_THAT(all<Finished>(), IsEmpty());
  end(0);
  EXPECT_THAT(all<Finished>(), IsEmpty());
  step(DummyArrived{kLink, {.sent_us = to_us(now_), .echo_us = to_us(now_)}});

  EXPECT_EQ(sent<wire::Leaving>().size(), 1U);
  ASSERT_EQ(sent<wire::Done>().size(), 3U);
  EXPECT_EQ(sent<wire::Done>().at(0).fate, Fate::kHaltedQueued);
  EXPECT_EQ(sent<wire::Done>().at(1).fate, Fate::kHaltedQueued);
  EXPECT_EQ(sent<wire::Done>().at(2).fate, Fate::kOk);
  EXPECT_EQ(all<Finished>().size(), 1U);
}

TEST_F(ReplicaLinksTest, ABrokerThatNeverAnswersTheFarewellIsNotWaitedForLong) {
  build({});
  connect();

  step(StopAsked{});
  live_on(kFarewellLimit);

  EXPECT_EQ(all<Finished>().size(), 1U);
}

}  // namespace
}  // namespace redoubt::replica
