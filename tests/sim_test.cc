// The simulator itself: it tells the same story for the same seed, and it holds what it is there to hold. The
// many seeds are played by redoubt-sim; see tests/CMakeLists.txt.
#include <gtest/gtest.h>

#include "lab/sim/cluster.h"

namespace redoubt::sim {
namespace {

Story small(uint64_t seed) {
  Story setup;
  setup.seed = seed;
  setup.requests = 40;
  setup.clients = 2;
  return setup;
}

TEST(Simulator, TheSameSeedTellsTheSameStory) {
  const Story setup = small(11);

  const Verdict once = play(setup, plan_faults(setup), Telling::kTheEnd);
  const Verdict again = play(setup, plan_faults(setup), Telling::kTheEnd);

  EXPECT_EQ(once.story, again.story);
  EXPECT_EQ(once.steps, again.steps);
  EXPECT_FALSE(once.story.empty());
}

TEST(Simulator, AnotherSeedTellsAnother) {
  const Verdict one = play(small(1), plan_faults(small(1)), Telling::kTheEnd);
  const Verdict other = play(small(2), plan_faults(small(2)), Telling::kTheEnd);

  EXPECT_NE(one.story, other.story);
}

TEST(Simulator, AManagerThatDiesIsFollowedAndNothingIsLost) {
  const Story setup = small(3);
  const std::vector<Fault> faults{{.kind = Fault::Kind::kCrashManager,
                                   .at = std::chrono::seconds(2),
                                   .lasts = std::chrono::seconds(1),
                                   .a = 0,
                                   .b = 0,
                                   .loses_disk = false}};

  const Verdict verdict = play(setup, faults, Telling::kNothing);

  EXPECT_TRUE(verdict.ok) << verdict.failure;
  EXPECT_EQ(verdict.totals.failovers, 2u);
}

TEST(Simulator, AFewClustersOfEachKindHold) {
  for (const uint32_t brokers : {1u, 2u, 3u, 5u}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Story setup = small(seed);
      setup.brokers = brokers;
      setup.quorum = brokers < 3 ? broker::Quorum::kOne : broker::Quorum::kMajority;
      setup.ack = static_cast<broker::CheckpointAck>(seed % 3);

      const Verdict verdict = play(setup, plan_faults(setup), Telling::kTheEnd);

      EXPECT_TRUE(verdict.ok) << brokers << " brokers, seed " << seed << ": " << verdict.failure;
    }
  }
}

}  // namespace
}  // namespace redoubt::sim
