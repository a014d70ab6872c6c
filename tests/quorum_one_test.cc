// A group of quorum one: any survivor rules, as long as nobody who can be reached objects.
#include "tests/election_fixture.h"

namespace redoubt::broker {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

class QuorumOneTest : public ElectionTest {
 protected:
  static void quorum_one(GroupSettings& settings) {
    settings.size = 2;
    settings.quorum = Quorum::kOne;
  }
  static constexpr Memory kBoth{
      .blank = false, .promised = kEarlier, .set = {kEarlier, 3, only(1) | only(2)}};
};

TEST_F(QuorumOneTest, ASurvivorRulesAloneWhenTheOthersProcessIsGone) {
  build(kBoth, quorum_one);
  hold(kWhole);
  come(2);
  manager_says();

  die(2);
  tick();
  EXPECT_FALSE(election_->rules());
  reach_disk();
  commit({});

  EXPECT_TRUE(election_->rules());
  EXPECT_EQ(election_->epoch(), (wire::Epoch{2, 1}));
  EXPECT_TRUE(election_->acts(now_ + std::chrono::hours(1))) << "there is no lease to lose";
}

TEST_F(QuorumOneTest, OneThatNobodyAnswersIsLookedForForDeadAfter) {
  build(kBoth, quorum_one);
  hold(kWhole);

  pass(milliseconds(499));
  EXPECT_THAT(all<Persist>(), IsEmpty());
  pass(milliseconds(20));
  ASSERT_FALSE(all<Persist>().empty());
  reach_disk();

  EXPECT_TRUE(election_->rules());
}

TEST_F(QuorumOneTest, OneThatAMemberRefusesForItsSettingsDoesNotStandBesideIt) {
  build(kBoth, quorum_one);
  hold(kWhole);

  for (int i = 0; i < 20; ++i) {
    election_->estranged(now_, 2);
    pass(milliseconds(200));
  }
  EXPECT_THAT(all<Persist>(), IsEmpty()) << "both would rule";
  EXPECT_THAT(election_->trouble(now_), HasSubstr("with 1 more it differs in settings"));
  election_->unreachable(turn(), 2, true);
  pass(milliseconds(20));

  EXPECT_FALSE(all<Persist>().empty()) << "its process is gone";
}

TEST_F(QuorumOneTest, AllWhoCanBeReachedMustAgree) {
  build(kBoth, quorum_one);
  hold(kWhole);
  come(2);
  say(2, {.known = kEarlier, .position = kWhole});
  pass(milliseconds(10));
  ASSERT_TRUE(stands());

  vote(2, false);
  EXPECT_THAT(all<Persist>(), IsEmpty());
  pass(milliseconds(70));
  vote(2, true);
  ASSERT_FALSE(all<Persist>().empty());
  reach_disk();
  EXPECT_FALSE(election_->rules()) << "its own vote alone is not enough while the other can be asked";
  vote(2, true);

  EXPECT_TRUE(election_->rules());
}

TEST_F(QuorumOneTest, AManagerThatStoodStillDoubtsForDeadAfter) {
  build(kBoth, quorum_one);
  hold(kWhole);
  election_->unreachable(turn(), 2, true);
  pass(milliseconds(20));
  reach_disk();
  commit({});
  ASSERT_TRUE(election_->acts(now_));

  now_ += seconds(3);
  election_->tick(turn(), seconds(3));
  EXPECT_FALSE(election_->acts(now_)) << "somebody may have taken over";
  pass(milliseconds(499));
  EXPECT_FALSE(election_->acts(now_));
  pass(milliseconds(1));

  EXPECT_TRUE(election_->acts(now_));
}

TEST_F(QuorumOneTest, OneWhoseManagersLastWordsWereOldRulesOnlyAsStale) {
  build(kBoth, quorum_one);
  hold(kWhole);
  come(2);
  manager_says();
  const Time said = now_;

  now_ += seconds(3);
  election_->tick(turn(), seconds(3));
  election_->stream(turn(), 2, to_us(said + milliseconds(50)));
  die(2);
  tick();
  reach_disk();

  ASSERT_TRUE(election_->rules());
  EXPECT_TRUE(election_->stale()) << "the manager may have gone on without it";
}

TEST_F(QuorumOneTest, OfTwoThatRuledApartTheHigherEpochStays) {
  build(kBoth, quorum_one);
  hold(kWhole);
  election_->unreachable(turn(), 2, true);
  pass(milliseconds(20));
  reach_disk();
  ASSERT_EQ(election_->epoch(), (wire::Epoch{2, 1}));

  come(2);
  say(2, {.known = {2, 2}, .rules = true, .set = {{2, 2}, 1, only(2)}});

  EXPECT_EQ(election_->manager(), 2u) << "at the same number the higher broker's";
}

}  // namespace
}  // namespace redoubt::broker
