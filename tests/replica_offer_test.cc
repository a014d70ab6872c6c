// The replica's core when a manager takes over: what it is offered, and when. Time is made up; nothing waits.
#include "failover_fixture.h"

namespace redoubt::replica {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

class ReplicaOfferTest : public ReplicaFailoverTest {};

TEST_F(ReplicaOfferTest, ANewManagerHearsWhatIsHeldRightAfterTheRegistration) {
  build({.services = {"decode", "detect"}, .brokers = 2});
  connect();
  wire::Copy running = copy(1);
  running.service = 1;
  running.level = 3;
  running.attempt = 2;
  step(CopyArrived{kLink, running});
  arrive(2);
  step(LinkLost{kLink});
  effects_.clear();

  connect(kSecond, kSecondEpoch);

  std::vector<std::string> kinds;
  for (const Send& send : all<Send>())
    kinds.push_back(
        wire::name_of(std::visit([](const auto& one) { return wire::Message(one); }, send.message)));
  EXPECT_THAT(kinds, ElementsAre("hello", "register", "holding"));
  const wire::Held held = held_by(kSecond).at(1);
  EXPECT_EQ(held.request, (wire::RequestId{7, 1}));
  EXPECT_EQ(held.service, 1U);
  EXPECT_EQ(held.level, 3U);
  EXPECT_EQ(held.attempt, 2U);
  EXPECT_TRUE(held.running);
  EXPECT_FALSE(held_by(kSecond).at(2).running);
}

TEST_F(ReplicaOfferTest, AManagerHearsOnceThatNothingIsHeld) {
  build_group();

  announce(kSecond, kSecondEpoch);
  announce(kSecond, kSecondEpoch);

  ASSERT_EQ(sent<wire::Holding>().size(), 1U);
  EXPECT_THAT(sent<wire::Holding>().at(0).held, IsEmpty());
  EXPECT_FALSE(sent<wire::Holding>().at(0).more);
}

// As a group that was made anew, which a replica of the old one still follows: it would swallow all copies.
TEST_F(ReplicaOfferTest, AManagerWhoseEpochIsOverIsToldOnceToSendNothing) {
  build_group();
  announce(kSecond, kSecondEpoch);
  effects_.clear();

  announce(kThird, kFirstEpoch);
  announce(kThird, kFirstEpoch);

  ASSERT_EQ(sent<wire::Leaving>().size(), 1U);
  EXPECT_EQ(all<Send>().at(0).link, kThird);
  EXPECT_EQ(all<Warn>().size(), 2U);
  EXPECT_FALSE(replica_->leaving());
}

TEST_F(ReplicaOfferTest, ABrokerThatWasToldToSendNothingGetsANewLinkWhenItRulesRightly) {
  build_group();
  announce(kSecond, kSecondEpoch);
  announce(kThird, kFirstEpoch);
  effects_.clear();

  announce(kThird, kThirdEpoch);
  const bool closed = !all<CloseLink>().empty() && all<CloseLink>().at(0).link == kThird;
  constexpr LinkId kAgain{2, 2};
  connect(kAgain, kThirdEpoch);
  step(CopyArrived{kAgain, copy(1)});

  EXPECT_TRUE(closed);
  EXPECT_EQ(sent<wire::Holding>().size(), 1U);
}

TEST_F(ReplicaOfferTest, MoreThanAFrameHoldsIsSaidInSeveral) {
  build_group({.workers = 1, .queue_limit = 3 * wire::kMaxHeld});
  for (uint64_t id = 1; id <= 2 * wire::kMaxHeld + 1; ++id) arrive(id);

  announce(kSecond, kSecondEpoch);

  const auto frames = sent<wire::Holding>();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].held.size(), wire::kMaxHeld);
  EXPECT_EQ(frames[1].held.size(), wire::kMaxHeld);
  EXPECT_EQ(frames[2].held.size(), 1U);
  EXPECT_THAT((std::vector{frames[0].more, frames[1].more, frames[2].more}), ElementsAre(true, true, false));
}

TEST_F(ReplicaOfferTest, AFullFrameThatIsTheLastSaysSo) {
  build_group({.workers = 1, .queue_limit = wire::kMaxHeld});
  for (uint64_t id = 1; id <= wire::kMaxHeld; ++id) arrive(id);

  announce(kSecond, kSecondEpoch);

  ASSERT_EQ(sent<wire::Holding>().size(), 1U);
  EXPECT_FALSE(sent<wire::Holding>().at(0).more);
}

TEST_F(ReplicaOfferTest, CopiesOfASilentManagerWhoseLinkStandsAreOfferedAndNoLongerItsOwn) {
  build_group({.workers = 1});
  arrive(1);
  arrive(2);

  announce(kSecond, kSecondEpoch);
  halt({1, 2});
  end(0);

  EXPECT_EQ(held_by(kSecond).size(), 2U);
  EXPECT_THAT(all<CloseLink>(), IsEmpty());
  EXPECT_THAT(all<StopCopy>(), IsEmpty());
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
  EXPECT_THAT(started(), ElementsAre(1, 2));
}

TEST_F(ReplicaOfferTest, CopiesOfABrokersOwnEarlierRuleAreOfferedToIt) {
  build_group({.workers = 2});
  arrive(1);

  announce(kLink, kThirdEpoch);
  wire::Copy same_number = copy(1);
  same_number.epoch = kThirdEpoch;
  step(CopyArrived{kLink, same_number});

  EXPECT_EQ(held_by(kLink).size(), 1U);
  EXPECT_THAT(started(), ElementsAre(1, 1));
  EXPECT_EQ(replica_->counters().duplicates, 0U);
}

TEST_F(ReplicaOfferTest, AManagerThatRulesNoMoreLosesItsCopies) {
  build_group();
  arrive(1);

  announce(kLink, kFirstEpoch, false);
  end(0);
  announce(kSecond, kSecondEpoch);

  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
  EXPECT_TRUE(held_by(kSecond).at(1).running);
}

TEST_F(ReplicaOfferTest, AfterABrokenLinkTheSameManagerIsOfferedItsCopies) {
  build_group();
  arrive(1);

  step(LinkLost{kLink});
  connect({0, 2});
  adopt({{handle(1, {0, 2}), 8}}, {0, 2}, kFirstEpoch);
  end(0);

  EXPECT_THAT(done_on({0, 2}), ElementsAre(Field(&wire::Done::copy, 8U)));
}

TEST_F(ReplicaOfferTest, DiscardingDropsTheCopiesOfAManagerWhoseLinkStands) {
  build_group({.workers = 1, .on_failover = OnFailover::kDiscard});
  arrive(1);
  arrive(2);

  announce(kSecond, kSecondEpoch);
  end(0);

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_EQ(replica_->queued() + replica_->running(), 0U);
  ASSERT_EQ(sent<wire::Holding>().size(), 1U);
  EXPECT_THAT(sent<wire::Holding>().at(0).held, IsEmpty());
  EXPECT_THAT(sent<wire::Done>(), IsEmpty());
}

TEST_F(ReplicaOfferTest, DiscardingDropsTheCopiesOfALostLink) {
  build_group({.workers = 1, .on_failover = OnFailover::kDiscard});
  arrive(1);
  arrive(2);

  step(LinkLost{kLink});
  end(0);
  announce(kSecond, kSecondEpoch);

  EXPECT_EQ(all<StopCopy>().size(), 1U);
  EXPECT_THAT(started(), ElementsAre(1));
  EXPECT_THAT(held_by(kSecond), IsEmpty());
}

TEST_F(ReplicaOfferTest, ACopyOfARequestThatIsHeldAlreadyIsACopyLikeAnyOther) {
  build_group({.workers = 2});
  arrive(1);
  announce(kSecond, kSecondEpoch);
  wire::Copy again = copy(1);
  again.epoch = kSecondEpoch;

  step(CopyArrived{kSecond, again});
  end(1);

  EXPECT_THAT(started(), ElementsAre(1, 1));
  EXPECT_EQ(done_on(kSecond).size(), 1U);
}

}  // namespace
}  // namespace redoubt::replica
