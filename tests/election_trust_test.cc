// Who is voted for and may stand: only one that holds all that the last manager promised anybody, and only
// voters that remember.
#include "tests/election_fixture.h"

namespace redoubt::broker {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

// ---- Who deserves it

TEST_F(ElectionTest, OneThatIsNotInTheNewestSetIsRefusedWhoeverOfTheTwoKnowsIt) {
  const wire::SyncSet without_three{kEarlier, 4, only(1) | only(2)};
  build_follower();
  die(2);

  wire::VoteAsk admits_it = question({2, 3}, true);
  admits_it.set = without_three;
  ask(admits_it);
  EXPECT_THAT(answers(), ElementsAre(false)) << "the asker knows that it fell out";
  say(3, {.known = kEarlier, .set = without_three});
  ask(question({2, 3}, true));

  EXPECT_THAT(answers(), ElementsAre(false, false)) << "the voter knows it";
}

TEST_F(ElectionTest, AMemberThatLostItsStateIsRefused) {
  build_follower();
  die(2);

  wire::VoteAsk empty = question({2, 3}, true);
  empty.position = {};
  ask(empty);

  EXPECT_THAT(answers(), ElementsAre(false));
}

TEST_F(ElectionTest, AMemberWhoseStateIsOfAnEarlierEpochIsRefused) {
  build({.blank = false, .promised = {3, 2}, .set = {{3, 2}, 1, only(2) | only(3)}});
  come(3);
  pass(election_->settings().demote_after);

  wire::VoteAsk old = question({4, 3}, true);
  ask(old);
  old.position = {{3, 2}, 1};
  ask(old);

  EXPECT_THAT(answers(), ElementsAre(false, true));
}

TEST_F(ElectionTest, AVoterThatIsFurtherStandsItself) {
  build_follower();
  hold({kEarlier, 11});
  say(2, {.known = kEarlier, .rules = true, .set = kEverybody, .succession = {3, 1}});
  die(2);

  ask(question({2, 3}, true));
  EXPECT_THAT(answers(), ElementsAre(false));
  tick();

  EXPECT_TRUE(stands()) << "it does not wait for its turn";
}

TEST_F(ElectionTest, AStaleCandidateIsRefusedWhileAMemberOfTheSetMayLive) {
  wire::VoteAsk stale = question({2, 3}, true);
  stale.stale = true;
  stale.position = {};
  const Memory only_two_was{.blank = false, .promised = kEarlier, .set = {kEarlier, 9, only(2)}};
  const auto witness = [](GroupSettings& settings) { settings.kind = wire::Kind::kWitness; };

  build(only_two_was, witness);
  come(3);
  say(3, {.known = kEarlier});
  pass(milliseconds(499));
  ask(stale);
  EXPECT_THAT(answers(), ElementsAre(false)) << "it may come yet";
  pass(milliseconds(1));
  ask(stale);
  EXPECT_THAT(answers(), ElementsAre(false, true)) << "it has been looked for long enough";
}

TEST_F(ElectionTest, AStaleCandidateIsGrantedAsSoonAsNoProcessOfTheSetIsLeft) {
  wire::VoteAsk stale = question({2, 3}, true);
  stale.stale = true;
  build({.blank = false, .promised = kEarlier, .set = {kEarlier, 9, only(2)}});
  come(3);
  pass(milliseconds(300));

  ask(stale);
  election_->unreachable(turn(), 2, true);
  ask(stale);

  EXPECT_THAT(answers(), ElementsAre(false, true));
}

TEST_F(ElectionTest, AStaleCandidateIsRefusedUntilAMemberThatIsThereHasSaidThatItHoldsNothing) {
  wire::VoteAsk stale = question({2, 3}, true);
  stale.stale = true;
  build({.blank = false, .promised = kEarlier, .set = {kEarlier, 9, only(2)}});
  come(3);
  say(3, {.known = kEarlier});
  pass(milliseconds(400));

  come(2);
  ask(stale);
  say(2, {.known = kEarlier, .position = kWhole});
  ask(stale);
  say(2, {.known = kEarlier, .position = {}});
  ask(stale);

  EXPECT_THAT(answers(), ElementsAre(false, false, true));
}

TEST_F(ElectionTest, AVoterOfTheSetThatHoldsItsStateRefusesAStaleCandidate) {
  build_follower();
  die(2);

  wire::VoteAsk stale = question({2, 3}, true);
  stale.stale = true;
  ask(stale);

  EXPECT_THAT(answers(), ElementsAre(false));
}

TEST_F(ElectionTest, OneThatWasNotInSyncStandsAsStaleWhenNobodyElseIsLeft) {
  build({.blank = false, .promised = kEarlier, .set = {kEarlier, 9, only(2)}});
  come(3);
  say(3, {.known = kEarlier});

  pass(milliseconds(499));
  EXPECT_FALSE(stands());
  pass(milliseconds(20));
  ASSERT_TRUE(stands());
  EXPECT_TRUE(asked_of(3).back().stale);
  vote(3, true);
  vote(3, true);
  reach_disk();

  EXPECT_TRUE(election_->rules());
  EXPECT_TRUE(election_->stale());
}

// ---- Those who have forgotten

TEST_F(ElectionTest, ABlankBrokerNeitherVotesNorStandsUntilItHasCollected) {
  build({});
  hold(kWhole);
  come(3);
  say(3, {.known = kEarlier, .position = kWhole, .set = kEverybody});

  pass(std::chrono::seconds(2));
  ask(question({2, 3}, true));
  EXPECT_FALSE(stands());
  EXPECT_THAT(answers(), ElementsAre(false));
  election_->collected(turn());
  EXPECT_FALSE(all<Persist>().back().memory.blank);
  ask(question({2, 3}, true));
  pass(milliseconds(10));

  EXPECT_THAT(answers(), ElementsAre(false, true));
  EXPECT_TRUE(stands());
}

TEST_F(ElectionTest, ABlankBrokerDoesNotTakeSilenceForIgnorance) {
  build({});
  come(3);

  ask(question({2, 3}, true));
  say(3, {.known = {}});
  ask(question({2, 3}, true));

  EXPECT_THAT(answers(), ElementsAre(false, true));
}

TEST_F(ElectionTest, AMajorityThatKnowsOfNothingFounds) {
  build({});

  pass(std::chrono::seconds(1));
  EXPECT_FALSE(stands()) << "alone it cannot know whether it has forgotten";
  come(2);
  pass(milliseconds(20));
  EXPECT_FALSE(stands()) << "the other has not spoken";
  say(2, {.blank = true});
  pass(milliseconds(20));
  ASSERT_TRUE(stands());
  vote(2, true);
  vote(2, true);
  reach_disk();

  EXPECT_TRUE(election_->rules());
  EXPECT_TRUE(election_->founds());
  EXPECT_EQ(election_->epoch(), (wire::Epoch{1, 1}));
}

TEST_F(ElectionTest, ABlankWitnessVotesWhenItHasObeyedAManager) {
  build({}, [](GroupSettings& settings) { settings.kind = wire::Kind::kWitness; });
  come(2);
  come(3);

  manager_says();

  ASSERT_FALSE(all<Persist>().empty());
  EXPECT_FALSE(all<Persist>().back().memory.blank) << "it is sent nothing else that it could have forgotten";
  EXPECT_EQ(all<Persist>().back().memory.promised, kEarlier);
}

TEST_F(ElectionTest, AVoterThatHasStartedAgainVotesForNobodyForALease) {
  build(kRemembers);
  hold(kWhole);
  come(3);
  say(3, {.known = kEarlier, .position = kWhole});

  pass(election_->settings().demote_after - milliseconds(1));
  ask(question({2, 3}, true));
  EXPECT_FALSE(stands());
  pass(milliseconds(1));
  ask(question({2, 3}, true));

  EXPECT_THAT(answers(), ElementsAre(false, true));
}

TEST_F(ElectionTest, AVoterThatHasStartedAgainVotesAsSoonAsItHasObeyed) {
  build(kRemembers);
  come(2);
  come(3);

  manager_says();
  die(2);
  ask(question({2, 3}, true));

  EXPECT_THAT(answers(), ElementsAre(true));
}

}  // namespace
}  // namespace redoubt::broker
