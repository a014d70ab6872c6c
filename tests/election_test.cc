// How a broker comes to rule, and what its vote is worth. Who may be voted for: election_trust_test.cc. How
// long the one that rules may act: election_lease_test.cc. How its rule ends: election_end_test.cc.
#include "tests/election_fixture.h"

namespace redoubt::broker {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// ---- The way to office

TEST_F(ElectionTest, ACandidateAsksOnTrialThenWritesItsPromiseThenAsksForTheVoteThenRules) {
  build_follower();

  die(2);
  tick();
  ASSERT_EQ(asked_of(3).size(), 1u);
  EXPECT_TRUE(asked_of(3)[0].trial);
  EXPECT_EQ(asked_of(3)[0].epoch, (wire::Epoch{2, 1}));
  EXPECT_THAT(all<Persist>(), IsEmpty()) << "a trial binds nobody";

  vote(3, true);
  ASSERT_EQ(asked_of(3).size(), 2u);
  EXPECT_FALSE(asked_of(3)[1].trial);
  ASSERT_EQ(all<Persist>().size(), 1u);
  EXPECT_EQ(all<Persist>()[0].memory.promised, (wire::Epoch{2, 1}));

  vote(3, true);
  EXPECT_FALSE(election_->rules()) << "its own vote is not on disk yet";
  reach_disk();
  EXPECT_TRUE(election_->rules());
  EXPECT_EQ(election_->epoch(), (wire::Epoch{2, 1}));
  EXPECT_FALSE(election_->stale());
  EXPECT_FALSE(election_->founds());
}

TEST_F(ElectionTest, OneThatEverybodyRefusesAsksAgainAfterAPause) {
  build_follower();
  die(2);
  come(2, wire::Kind::kVoter, 2);
  tick();

  vote(2, false);
  vote(3, false);
  tick();
  EXPECT_EQ(asked_of(3).size(), 1u) << "rivals would meet again and again";
  pass(milliseconds(60));  // a turn and a heartbeat at most

  EXPECT_EQ(asked_of(3).size(), 2u);
  EXPECT_THAT(all<Persist>(), IsEmpty());
}

TEST_F(ElectionTest, WhoIsNotThereIsNoHope) {
  build_follower();
  die(2);
  tick();

  vote(3, false);
  pass(milliseconds(60));

  EXPECT_EQ(asked_of(3).size(), 2u) << "the only one that could have voted has refused";
}

TEST_F(ElectionTest, OneThatIsNotAnsweredAsksAgainAfterDeadAfter) {
  build_follower();
  die(2);
  tick();

  pass(milliseconds(499));
  EXPECT_EQ(asked_of(3).size(), 1u);
  pass(milliseconds(61));

  EXPECT_EQ(asked_of(3).size(), 2u);
}

TEST_F(ElectionTest, VotesThatTookLongerThanALeaseAreAskedForAgain) {
  build_follower();
  die(2);
  tick();
  vote(3, true);
  reach_disk();
  const wire::VoteAsk first = asked_of(3).back();

  pass(milliseconds(301));
  const wire::Vote late{
      .epoch = first.epoch, .granted = true, .known = first.epoch, .echo_us = first.sent_us};
  election_->voted(turn(), 3, late);
  EXPECT_FALSE(election_->rules()) << "it would have no lease";
  EXPECT_EQ(asked_of(3).back().sent_us, to_us(now_));
  election_->voted(turn(), 3, late);
  EXPECT_EQ(asked_of(3).size(), 3u) << "an answer to the first question is none to the second";
  vote(3, true);
  commit({3});

  EXPECT_TRUE(election_->acts(now_));
}

TEST_F(ElectionTest, OneThatRulesActsOnlyWhenAMajorityHasWrittenDownItsSet) {
  build_follower();
  die(2);
  tick();
  vote(3, true);
  vote(3, true);
  reach_disk();
  ASSERT_TRUE(election_->rules());

  const wire::Pulse first = told(3).back();
  EXPECT_TRUE(first.rules);
  EXPECT_EQ(first.set, (wire::SyncSet{{2, 1}, 1, only(1)})) << "to be written there while it is written here";
  EXPECT_FALSE(election_->acts(now_));
  say(3, {.known = {2, 1}, .set = first.set});
  EXPECT_FALSE(election_->acts(now_)) << "its own copy is not on disk";
  reach_disk();

  EXPECT_TRUE(election_->acts(now_));
}

TEST_F(ElectionTest, ADeadBrokerThatIsDialledAgainAndAgainDoesNotHurryAVoter) {
  build_follower();
  die(2);
  ask(question({2, 3}));
  const auto refused_again = [&](Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds(100)) {
      pass(milliseconds(100));
      election_->unreachable(turn(), 2, true);
    }
  };

  refused_again(milliseconds(1900));
  EXPECT_FALSE(stands()) << "its vote is on the way to disk";
  reach_disk();
  refused_again(milliseconds(400));

  EXPECT_FALSE(stands()) << "the asker has its time";
}

TEST_F(ElectionTest, WhoseVoteIsOnTheWayToDiskGivesNoRivalHope) {
  build_follower();
  die(2);
  tick();
  vote(3, true);

  ask(question({3, 3}, true));

  EXPECT_THAT(answers(), ElementsAre(false));
}

TEST_F(ElectionTest, AWriteMayTakeAnyTime) {
  build_follower();
  die(2);
  tick();
  vote(3, true);
  vote(3, true);

  pass(seconds(20));
  EXPECT_EQ(asked_of(3).size(), 2u) << "asked on trial, and for the vote";
  reach_disk();
  vote(3, true);

  EXPECT_TRUE(election_->rules());
}

TEST_F(ElectionTest, ANewcomerIsAskedAsWell) {
  build_follower();
  die(2);
  tick();

  come(2, wire::Kind::kVoter, 2);

  EXPECT_THAT(asked_of(2), ElementsAre(asked_of(3).back()));
}

TEST_F(ElectionTest, OneThatIsBehindInTheSuccessionLeavesTheFirstItsTurn) {
  build_follower();
  say(2, {.known = kEarlier, .rules = true, .set = kEverybody, .succession = {3, 1}});

  die(2);
  pass(milliseconds(9));
  EXPECT_FALSE(stands());
  pass(milliseconds(1));

  EXPECT_TRUE(stands());
}

TEST_F(ElectionTest, ACandidateThatHearsAManagerFollowsIt) {
  build_follower();
  die(2);
  tick();

  say(3, {.known = {2, 3}, .rules = true, .set = {{2, 3}, 1, only(3)}});
  vote(3, true);

  EXPECT_EQ(election_->manager(), 3u);
  EXPECT_EQ(asked_of(3).size(), 1u) << "a grant that comes late makes nobody a manager";
}

TEST_F(ElectionTest, ACandidateAsksAboveTheHighestNumberThatItWasToldInARefusal) {
  build_follower();
  die(2);
  come(2, wire::Kind::kVoter, 2);
  tick();
  fall_silent(3);

  vote(2, false);
  election_->voted(
      turn(), 3, {.epoch = {2, 1}, .trial = true, .granted = false, .known = {7, 3}, .echo_us = to_us(now_)});
  pass(milliseconds(60));

  EXPECT_EQ(asked_of(3).back().epoch, (wire::Epoch{8, 1}));
}

// ---- The vote

TEST_F(ElectionTest, AVoteLeavesOnlyWhenItIsOnDisk) {
  build_follower();
  die(2);

  ask(question({2, 3}));
  EXPECT_THAT(answers(), IsEmpty());
  ASSERT_EQ(all<Persist>().size(), 1u);
  EXPECT_EQ(all<Persist>()[0].memory.promised, (wire::Epoch{2, 3}));
  reach_disk();

  EXPECT_THAT(answers(), ElementsAre(true));
}

TEST_F(ElectionTest, AVoteThatALaterOneHasOvertakenOnTheWayToDiskIsNotGiven) {
  build_follower();
  die(2);
  ask(question({2, 3}));

  ask(question({3, 3}));
  reach_disk();

  ASSERT_EQ(all<SendVote>().size(), 1u);
  EXPECT_EQ(all<SendVote>()[0].vote.epoch, (wire::Epoch{3, 3}));
}

TEST_F(ElectionTest, ATrialIsAnsweredAtOnceAndBindsNobody) {
  build_follower();
  die(2);

  ask(question({2, 3}, true));

  EXPECT_THAT(answers(), ElementsAre(true));
  EXPECT_THAT(all<Persist>(), IsEmpty());
  EXPECT_EQ(election_->memory(), kRemembers);
}

TEST_F(ElectionTest, ASecondAskerOfANumberIsRefusedEvenWhenTheFirstOnesLeaseIsOver) {
  build_follower();
  die(2);
  ask(question({2, 3}));
  reach_disk();
  pass(election_->settings().demote_after);

  come(2, wire::Kind::kVoter, 2);
  ask(question({2, 2}));

  EXPECT_THAT(answers(), ElementsAre(true, false));
}

TEST_F(ElectionTest, AVoteTellsWhichQuestionItAnswers) {
  build_follower();
  die(2);
  const Time asked = now_;
  ask(question({2, 3}));

  pass(milliseconds(200));
  reach_disk();

  EXPECT_EQ(all<SendVote>().back().vote.echo_us, to_us(asked)) << "from then on it is a lease";
}

TEST_F(ElectionTest, ALeaseThatAVoteGaveBeginsWhenItLeaves) {
  build_follower();
  die(2);
  come(2, wire::Kind::kVoter, 2);
  ask(question({2, 3}));

  pass(milliseconds(250));
  reach_disk();
  pass(milliseconds(299));
  ask(question({3, 2}, true));
  pass(milliseconds(1));
  ask(question({3, 2}, true));

  EXPECT_THAT(answers(), ElementsAre(true, false, true));
}

TEST_F(ElectionTest, TheOneThatHasTheVoteMayAskForItAgain) {
  build_follower();
  die(2);
  ask(question({2, 3}));
  reach_disk();

  ask(question({2, 3}));
  reach_disk();

  EXPECT_THAT(answers(), ElementsAre(true, true));
}

TEST_F(ElectionTest, WhoGotTheVoteMayRuleOnTheStrengthOfItForALease) {
  build_follower();
  die(2);
  come(2, wire::Kind::kVoter, 2);
  ask(question({2, 3}));
  reach_disk();

  pass(election_->settings().demote_after - milliseconds(1));
  ask(question({3, 2}, true));
  pass(milliseconds(1));
  ask(question({3, 2}, true));

  EXPECT_THAT(answers(), ElementsAre(true, false, true));
}

TEST_F(ElectionTest, ALeaseThatAVoteGaveEndsWithTheProcessThatGotIt) {
  build_follower();
  die(2);
  come(2, wire::Kind::kVoter, 2);
  ask(question({2, 3}));
  reach_disk();

  lose(3);
  ask(question({3, 2}, true));
  EXPECT_THAT(answers(), ElementsAre(true, false)) << "it may live, and rule";
  election_->unreachable(turn(), 3, true);
  ask(question({3, 2}, true));

  EXPECT_THAT(answers(), ElementsAre(true, false, true));
}

TEST_F(ElectionTest, ALeaseThatAVoteGaveEndsWhenTheProcessThatGotItStartsAgain) {
  build_follower();
  die(2);
  come(2, wire::Kind::kVoter, 2);
  ask(question({2, 3}));
  reach_disk();

  come(3, wire::Kind::kVoter, 2);
  ask(question({3, 2}, true));

  EXPECT_THAT(answers(), ElementsAre(true, true));
}

TEST_F(ElectionTest, AVoterLeavesTheOneItVotedForDeadAfterToRule) {
  build_follower();
  die(2);

  ask(question({2, 3}));
  reach_disk();
  pass(milliseconds(499));
  EXPECT_FALSE(stands());
  pass(milliseconds(1));

  EXPECT_TRUE(stands());
}

}  // namespace
}  // namespace redoubt::broker
