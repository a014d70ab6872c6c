// How long the one that rules may act, and what those who follow it do. How it is chosen: election_test.cc.
#include "tests/election_fixture.h"

namespace redoubt::broker {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- The lease

TEST_F(ElectionTest, TheLeaseCountsFromWhenTheEchoedFrameWasSent) {
  build_manager();
  const Time began = now_;

  pass(milliseconds(250));
  echo(3, began + milliseconds(100));

  EXPECT_TRUE(election_->acts(began + milliseconds(399)));
  EXPECT_FALSE(election_->acts(began + milliseconds(400)));
}

TEST_F(ElectionTest, AnOlderEchoDoesNotShortenTheLease) {
  build_manager();
  const Time began = now_;
  pass(milliseconds(150));
  echo(3, began + milliseconds(100));

  echo(3, began + milliseconds(50));

  EXPECT_TRUE(election_->acts(began + milliseconds(399)));
}

TEST_F(ElectionTest, AnEchoFromOneThatDoesNotObeyDoesNotRenewTheLease) {
  build_manager();
  const Time began = now_;

  pass(milliseconds(250));
  echo(3, began + milliseconds(250), false);

  EXPECT_FALSE(election_->acts(began + milliseconds(300)));
}

TEST_F(ElectionTest, AnEchoOfWhatHasNotBeenSentYetDoesNotCount) {
  build_manager();
  const Time began = now_;

  pass(milliseconds(100));
  echo(3, began + seconds(10));

  EXPECT_FALSE(election_->acts(began + milliseconds(300)));
}

TEST_F(ElectionTest, AVoteIsTheFirstEchoAsOfWhenItWasAskedFor) {
  build_follower();
  die(2);
  tick();
  vote(3, true);
  const Time asked = now_;

  pass(milliseconds(200));
  vote(3, true);
  reach_disk();
  commit({3});

  EXPECT_TRUE(election_->acts(asked + milliseconds(299)));
  EXPECT_FALSE(election_->acts(asked + milliseconds(300)));
}

TEST_F(ElectionTest, AmongFiveTheLeaseIsAsOldAsTheEchoThatMakesTheMajority) {
  build_manager({3, 4, 5}, [](GroupSettings& settings) { settings.size = 5; });
  const Time began = now_;

  pass(milliseconds(200));
  echo(3, began + milliseconds(200));
  EXPECT_FALSE(election_->acts(began + milliseconds(300))) << "two of five are no majority";
  echo(4, began + milliseconds(100));

  EXPECT_TRUE(election_->acts(began + milliseconds(399)));
  EXPECT_FALSE(election_->acts(began + milliseconds(400)));
}

TEST_F(ElectionTest, ALostLinkTakesItsEchoesWithIt) {
  build_manager();

  lose(3);

  EXPECT_TRUE(election_->rules());
  EXPECT_FALSE(election_->acts(now_));
}

TEST_F(ElectionTest, AManagerWhoseLeaseHasEndedTellsEverybodyAtThatMoment) {
  build_manager();
  const Time began = now_;

  pass(milliseconds(300));

  const wire::Pulse last = told(3).back();
  EXPECT_EQ(last.sent_us, to_us(began + milliseconds(300)));
  EXPECT_FALSE(last.rules);
  EXPECT_TRUE(last.answer);
  EXPECT_TRUE(election_->rules()) << "it is suspended, not deposed";
}

TEST_F(ElectionTest, ASuspendedManagerActsAgainWhenTheEchoComes) {
  build_manager();
  pass(milliseconds(400));
  ASSERT_FALSE(election_->acts(now_));

  echo(3, now_ - milliseconds(10));
  tick();

  EXPECT_TRUE(election_->acts(now_));
  EXPECT_TRUE(told(3).back().rules);
}

TEST_F(ElectionTest, AManagerThatStaysSuspendedStepsDownAndCanBeVotedBack) {
  build_manager();
  hold({{2, 1}, 11});
  effects_.clear();

  pass(milliseconds(300) + milliseconds(499));
  EXPECT_TRUE(election_->rules());
  pass(milliseconds(1));
  EXPECT_FALSE(election_->rules());
  pass(milliseconds(10));
  ASSERT_TRUE(stands());
  vote(3, true);
  vote(3, true);
  reach_disk();

  EXPECT_EQ(election_->epoch(), (wire::Epoch{3, 1}));
}

TEST_F(ElectionTest, ALearnersPulseCountsForNothingButItsPosition) {
  build_manager();
  const Time began = now_;
  come(4, wire::Kind::kLearner);
  pass(milliseconds(100));

  say(4, {.known = {9, 3},
          .rules = true,
          .position = {{2, 1}, 5},
          .set = {{9, 3}, 1, only(3)},
          .echo = now_,
          .obeys = true});

  EXPECT_FALSE(election_->acts(began + milliseconds(300))) << "its echo is none of the group's";
  EXPECT_TRUE(election_->rules()) << "what it knows deposes nobody";
  EXPECT_EQ(election_->memory().set.epoch, (wire::Epoch{2, 1}));
  EXPECT_EQ(election_->peer(4).told.position, (wire::Position{{2, 1}, 5}));
  EXPECT_EQ(election_->peer(4).told.known, wire::Epoch{}) << "nobody is to ask above it";
}

TEST_F(ElectionTest, WhoFollowsFromOutsideTellsThatItsGroupWasMadeAnew) {
  build({}, [](GroupSettings& settings) {
    settings.self = kNoBroker;
    settings.kind = wire::Kind::kLearner;
    settings.size = 1;
    settings.quorum = Quorum::kOne;
  });
  come(2);
  say(2, {.known = {5, 2}, .rules = true, .succession = {2}});
  EXPECT_EQ(election_->trouble(now_), "");

  lose(2);
  come(2);
  say(2, {.known = {1, 2}, .rules = true, .succession = {2}});

  EXPECT_EQ(election_->known(), (wire::Epoch{5, 2}));
  EXPECT_THAT(election_->trouble(now_), AllOf(HasSubstr("rules by epoch 1"), HasSubstr("obeyed epoch 5"),
                                              HasSubstr("start this broker anew")));
}

TEST_F(ElectionTest, ALearnerIsNotAskedForItsVote) {
  build_follower();
  come(4, wire::Kind::kLearner);

  die(2);
  tick();

  EXPECT_EQ(asked_of(3).size(), 1u);
  EXPECT_THAT(asked_of(4), IsEmpty());
}

// ---- The in-sync set

TEST_F(ElectionTest, ASetIsCommittedWhenAMajorityHasItOnDisk) {
  build_manager();
  ASSERT_EQ(election_->committed().members, only(1));

  election_->in_sync(turn(), only(3), {3});
  const wire::SyncSet wanted = election_->memory().set;
  EXPECT_EQ(wanted.members, only(1) | only(3));
  say(3, {.known = {2, 1}, .set = wanted, .obeys = true});
  EXPECT_EQ(election_->committed().members, only(1)) << "its own copy is not on disk";
  reach_disk();

  EXPECT_EQ(election_->committed().members, only(1) | only(3));
}

TEST_F(ElectionTest, AManagersOwnCopyOfASetIsNoMajority) {
  build_manager();

  election_->in_sync(turn(), only(3), {3});
  reach_disk();

  EXPECT_EQ(election_->committed().members, only(1)) << "what counted before still does";
}

TEST_F(ElectionTest, APulseTellsASetOnlyWhenItIsOnDisk) {
  build_follower();
  const wire::SyncSet newer_set{kEarlier, 4, only(1) | only(2)};

  say(2, {.known = kEarlier, .rules = true, .answer = true, .set = newer_set});
  EXPECT_EQ(told(2).back().set, wire::SyncSet{});
  reach_disk();

  EXPECT_EQ(told(2).back().set, newer_set) << "and tells it at once";
}

TEST_F(ElectionTest, APulseThatWasOvertakenOnItsWayIsNoNews) {
  build_follower();
  wire::Pulse old;
  old.known = kEarlier;
  old.position = {kEarlier, 3};
  old.sent_us = to_us(now_ - milliseconds(40));

  election_->pulse(turn(), 3, old);

  EXPECT_EQ(election_->peer(3).told.position, kWhole);
}

// ---- Those who follow

TEST_F(ElectionTest, AVoterThatHearsItsManagerKeepsTheQuestionUntilItDoesNot) {
  build_follower();

  ask(question({2, 3}, true));
  EXPECT_THAT(answers(), IsEmpty());
  die(2);

  EXPECT_THAT(answers(), ElementsAre(true));
}

TEST_F(ElectionTest, AQuestionIsNotKeptForLongerThanDeadAfter) {
  build_follower();
  ask(question({2, 3}, true));

  pass(milliseconds(550));
  die(2);

  EXPECT_THAT(answers(), IsEmpty()) << "who asked has long given up";
}

TEST_F(ElectionTest, ALinkThatIsLostLeavesTheManagerTheLeaseThatTheLastEchoGave) {
  build_follower();
  pass(milliseconds(100));
  const Time heard = now_ - milliseconds(50);  // the last of its pulses that has been echoed
  ASSERT_EQ(told(2).back().sent_us, to_us(now_));

  ask(question({2, 3}, true));
  lose(2);
  pass(heard + milliseconds(299) - now_);
  EXPECT_THAT(answers(), IsEmpty());
  pass(milliseconds(1));

  EXPECT_THAT(answers(), ElementsAre(true));
}

TEST_F(ElectionTest, AManagerThatIsSilentForDeadAfterIsLost) {
  build_follower();
  fall_silent(2);

  pass(milliseconds(499));
  EXPECT_EQ(election_->manager(), 2u);
  pass(milliseconds(1));

  EXPECT_EQ(election_->manager(), kNoBroker);
  EXPECT_TRUE(stands());
}

TEST_F(ElectionTest, ABrokerThatStoodStillDoesNotBlameItsManager) {
  build_follower();

  now_ += seconds(3);
  election_->tick(turn(), seconds(3));

  EXPECT_EQ(election_->manager(), 2u);
  EXPECT_EQ(election_->silent_peer(now_), kNoBroker);
}

TEST_F(ElectionTest, AFrameOfTheStreamIsASignOfLife) {
  build_follower();
  fall_silent(2);
  pass(milliseconds(400));

  election_->stream(turn(), 2, to_us(now_));
  pass(milliseconds(499));

  EXPECT_EQ(election_->manager(), 2u);
}

TEST_F(ElectionTest, AManagerWhoseProcessHasStartedAgainRulesNoMore) {
  build_follower();

  come(2, wire::Kind::kVoter, 2);

  EXPECT_EQ(election_->manager(), kNoBroker);
}

TEST_F(ElectionTest, AnOldManagerIsNotObeyed) {
  build_follower();
  die(2);
  ask(question({2, 3}));

  come(2);
  reach_disk();
  effects_.clear();
  manager_says();

  EXPECT_EQ(election_->manager(), kNoBroker) << "it has promised a higher number";
  ASSERT_EQ(told(2).size(), 1u);
  EXPECT_EQ(told(2).back().known, (wire::Epoch{2, 3})) << "so that it learns that its time is over";
}

}  // namespace
}  // namespace redoubt::broker
