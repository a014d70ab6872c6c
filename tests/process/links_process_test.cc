// Links that lose, hold up and spoil bytes between real daemons: whoever cannot be heard is given up in time,
// and what it had is done by others.
#include <gmock/gmock.h>

#include "../poll.h"
#include "chaos.h"
#include "cluster.h"
#include "stalls.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto kDeadAfter = 500ms;  // the broker's default
const Texts kWork{"--builtin", "sleep:const(4ms)", "--workers", "4"};
const Texts kLoad{"--levels", "a", "--rate", "300", "--deadline", "2s", "--duration", "3s", "--require-all"};

// Two replicas, one of them behind a route of its own.
struct Links : Cluster {
  Links() {
    start_broker({"--replica-threshold", "64"});
    chaos.emplace(Texts{address()}, path("chaos"));
    start_replica_at(chaos->address(0), "a", kWork);
    start_replica("a", kWork);
  }
  // Until the broker has given a replica up, in seconds.
  double until_one_is_lost() {
    const auto from = steady_clock::now();
    EXPECT_TRUE(eventually([&] { return metric("redoubt_replicas_lost_total") == 1; }));
    return std::chrono::duration<double>(steady_clock::now() - from).count();
  }
  std::optional<Chaos> chaos;
};

void expect_given_up_in_time(const std::string& direction) {
  Links links;
  const Stalls stalls;
  const auto bench = links.start_bench(kLoad);
  expect_served(links, 100);

  links.chaos->treat(0, direction, "drop");
  const double took = links.until_one_is_lost();
  const Numbers result = links.result_of(*bench);

  expect_all_answered(result);
  expect_copies_add_up(links);
  EXPECT_LT(took, std::chrono::duration<double>(kDeadAfter).count() + 0.1 + stalls.longest());
  EXPECT_GT(links.metric("redoubt_copies_total{fate=\"lost\"}"), 0);
  figure("half-open replica (" + direction + "), given up after", took * 1000, "ms");
  figure("half-open replica (" + direction + "), longest latency", result.at("latency_us/max") / 1000, "ms");
}

TEST(LinkFaults, AReplicaThatPacketsVanishToAndFromIsGivenUpInTime) { expect_given_up_in_time("both"); }
TEST(LinkFaults, AReplicaThatIsNotHeardIsGivenUpInTime) { expect_given_up_in_time("forward"); }
TEST(LinkFaults, AReplicaThatHearsNothingIsGivenUpInTime) { expect_given_up_in_time("backward"); }

TEST(LinkFaults, AfterTheNetworkHealsTheReplicaServesAgain) {
  Links links;
  links.chaos->treat(0, "both", "drop");
  (void)links.until_one_is_lost();

  links.chaos->treat(0, "both", "pass");

  EXPECT_TRUE(eventually([&] { return links.metric("redoubt_replicas{service=\"a\"}") == 2; }));
  expect_all_answered(links.bench({"--levels", "a", "--copies", "2", "--requests", "100"}));
}

TEST(LinkFaults, ALinkThatHangsForLessThanDeadAfterIsKept) {
  Links links;
  const auto bench = links.start_bench(kLoad);
  expect_served(links, 100);

  for (int i = 0; i < 4; ++i) {
    links.chaos->treat(0, "both", "stall");
    let_pass(6 * kDeadAfter / 10);
    links.chaos->treat(0, "both", "pass");
    let_pass(6 * kDeadAfter / 10);
  }
  const Numbers result = links.result_of(*bench);

  expect_all_answered(result);
  expect_copies_add_up(links);
  EXPECT_EQ(links.metric("redoubt_replicas_lost_total"), 0);
}

TEST(LinkFaults, GarbageCostsItsLinkAndNothingElse) {
  Links links;
  const auto bench = links.start_bench(kLoad);
  expect_served(links, 100);

  for (const char* direction : {"forward", "backward", "both"}) {
    ASSERT_TRUE(eventually([&] { return links.metric("redoubt_replicas{service=\"a\"}") == 2; }));
    const double before = links.metric("redoubt_replicas_lost_total");
    ASSERT_EQ(links.chaos->command(std::string("garbage 0 ") + direction).at("event"), "done");
    ASSERT_TRUE(eventually([&] { return links.metric("redoubt_replicas_lost_total") > before; }))
        << direction;
  }
  const Numbers result = links.result_of(*bench);

  expect_all_answered(result);
  expect_copies_add_up(links);
}

TEST(LinkFaults, AClientWhoseLinkIsCutAgainAndAgainHasEveryAnswerOnce) {
  Links links;
  Chaos clients({links.address()}, links.path("clients"));
  const std::string file = links.path("history");
  const Texts command{"bench", "--json", "--brokers", clients.address(0), "--history", file};
  const auto bench = links.start(joined(command, kLoad));
  expect_served(links, 100);

  for (int i = 0; i < 8; ++i) {
    clients.command("cut 0");
    let_pass(250ms);
  }
  const Numbers result = links.result_of(*bench);

  expect_all_answered(result);
  for (const auto& [id, operation] : read_history(file)) EXPECT_EQ(operation.outcomes, 1) << id;
  expect_copies_add_up(links);
  figure("client cut eight times, longest gap", result.at("gap_ms_max"), "ms");
}

}  // namespace
}  // namespace redoubt::test
