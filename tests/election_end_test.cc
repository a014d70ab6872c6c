// How a rule ends: by a higher number, or by hand-over. How one begins: election_test.cc.
#include "tests/election_fixture.h"

namespace redoubt::broker {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// ---- The end of a rule

TEST_F(ElectionTest, AHigherNumberDeposesEvenIfItIsOnlyPromised) {
  build_manager();

  say(3, {.known = {3, 3}});

  EXPECT_FALSE(election_->rules());
}

TEST_F(ElectionTest, ARivalsPromiseOfTheSameNumberDeposesNobody) {
  build_manager();

  say(3, {.known = {2, 3}});

  EXPECT_TRUE(election_->rules()) << "it may be a vote for one that lost against this manager";
}

TEST_F(ElectionTest, ADeposedManagerFollowsTheOneThatRules) {
  build_manager();

  say(3, {.known = {3, 3}, .rules = true, .set = {{3, 3}, 1, only(3)}});

  EXPECT_FALSE(election_->rules());
  EXPECT_EQ(election_->manager(), 3u);
  EXPECT_EQ(all<Persist>().back().memory.promised, (wire::Epoch{3, 3}));
}

TEST_F(ElectionTest, ASuccessorThatHasEverythingStandsAtOnce) {
  build_follower();

  hand_over(kWhole.seq, 1);

  ASSERT_TRUE(stands()) << "in the same turn";
  EXPECT_EQ(election_->manager(), kNoBroker);
}

TEST_F(ElectionTest, ASuccessorThatLacksTheLastChangeDoesNotHurry) {
  build_follower();

  hand_over(kWhole.seq + 1, 1);
  pass(milliseconds(249));

  EXPECT_FALSE(stands());
}

TEST_F(ElectionTest, TheOthersLeaveTheSuccessorHalfOfDeadAfter) {
  build_follower();

  hand_over(kWhole.seq, 3);
  ask(question({2, 3}, true));
  EXPECT_THAT(answers(), ElementsAre(true));
  pass(milliseconds(249));
  EXPECT_FALSE(stands());
  pass(milliseconds(1));

  EXPECT_TRUE(stands()) << "it has not made use of it";
}

TEST_F(ElectionTest, AnotherEpochsHandOverIsIgnored) {
  build_follower();

  election_->handed_over(turn(), 2, {.epoch = {1, 1}, .seq = kWhole.seq, .successor = 1});
  election_->handed_over(turn(), 3, {.epoch = kEarlier, .seq = kWhole.seq, .successor = 1});

  EXPECT_EQ(election_->manager(), 2u);
  EXPECT_FALSE(stands());
}

TEST_F(ElectionTest, AManagerThatLeavesTellsEverybodyAndStandsNoMoreButVotes) {
  build_manager();
  effects_.clear();

  election_->abdicate(turn(), 3, 12);
  ASSERT_EQ(all<SendHandOver>().size(), 1u);
  EXPECT_EQ(all<SendHandOver>()[0].hand_over, (wire::HandOver{{2, 1}, 12, 3}));
  EXPECT_FALSE(election_->rules());
  pass(seconds(5));
  EXPECT_FALSE(stands());
  wire::VoteAsk successor = question({3, 3}, true);
  successor.set = {{2, 1}, 2, only(1) | only(3)};
  successor.position = {{2, 1}, 12};
  successor.trial = false;
  ask(successor);
  reach_disk();
  EXPECT_THAT(answers(), ElementsAre(true));
  pass(seconds(5));

  EXPECT_FALSE(stands()) << "not even if the successor makes nothing of it";
}

TEST_F(ElectionTest, ALeaseThatAVoteGaveEndsWithTheHandOver) {
  build_follower();
  die(2);
  come(2, wire::Kind::kVoter, 2);
  ask(question({2, 3}));
  reach_disk();

  election_->handed_over(turn(), 3, {.epoch = {2, 3}, .seq = 11, .successor = 2});
  ask(question({3, 2}, true));

  EXPECT_THAT(answers(), ElementsAre(true, true));
}

}  // namespace
}  // namespace redoubt::broker
