// More load than capacity, and copies that race: refusals are explicit and fast, good work goes on, the good
// copy wins.
#include <gmock/gmock.h>

#include <csignal>

#include "../poll.h"
#include "cluster.h"
#include "stalls.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;

TEST(Overload, AFullQueueRefusesFastAndGoodWorkGoesOn) {
  Cluster cluster;
  cluster.start_broker({"--queue-limit", "100"});
  for (int i = 0; i < 2; ++i) cluster.start_replica("a", {"--builtin", "sleep:const(4ms)"});
  // What two workers do at most, measured: a sleep of 4 ms takes a little longer.
  const std::string lasts = long_run() ? "10s" : "3s";
  const Numbers alone = cluster.bench({"--levels", "a", "--window", "16", "--duration", "1s"});
  const double capacity = alone.at("rps");

  const Stalls stalls;
  const Numbers result =
      cluster.bench({"--levels", "a", "--rate", "5000", "--deadline", "2s", "--duration", lasts});

  expect_clean(result);
  EXPECT_EQ(result.at("failed") + result.at("expired"), 0);
  EXPECT_GT(result.at("refused"), 0);
  EXPECT_EQ(result.at("ok") + result.at("refused"), result.at("sent"));
  EXPECT_EQ(cluster.metric("redoubt_refusals_total{reason=\"queue_full\"}"), result.at("refused"));
  // There and back; on a machine that lets everybody run at once, 10 ms.
  EXPECT_LT(result.at("refusal_us/p99"), 10'000 + 2e6 * stalls.longest());
  EXPECT_GE(result.at("goodput"), 0.9 * capacity);
  expect_copies_add_up(cluster);
  figure("overload, capacity", capacity, "requests/s");
  figure("overload, goodput", result.at("goodput"), "requests/s");
  figure("overload, refusals", result.at("refused"));
  figure("overload, longest stall of the machine", stalls.longest() * 1000, "ms");
  figure("overload, refusal p99", result.at("refusal_us/p99") / 1000, "ms");
}

TEST(Overload, LargePayloadsWaitAtTheManagerAndNotAtALink) {
  Cluster cluster;
  cluster.start_broker({"--dead-after", "20s"});
  Process& replica = cluster.start_replica("a", {"--workers", "16", "--builtin", "echo"});
  replica.signal(SIGSTOP);

  const auto bench = cluster.start_bench({"--levels", "a", "--window", "30", "--requests", "30", "--payload",
                                          "16MiB", "--deadline", "30s", "--require-all"});
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_pending_requests") == 30; }, 20s))
      << bench->err();
  const double out = cluster.metric("redoubt_copies_outstanding");
  replica.signal(SIGCONT);
  const Numbers result = cluster.result_of(*bench);

  EXPECT_GT(out, 1);
  EXPECT_LE(out, 9) << "128 MiB, and one more";
  expect_all_answered(result);
  EXPECT_EQ(cluster.metric("redoubt_copies_total{fate=\"lost\"}"), 0);
}

TEST(Overload, NothingThatWasRefusedIsExecuted) {
  Cluster cluster;
  cluster.start_broker({"--queue-limit", "5"});
  const std::string log = cluster.path("executed"), file = cluster.path("history");
  cluster.start_replica("a", {"--exec", "echo $REDOUBT_REQUEST >> " + cluster.shell_path("executed")});

  const Numbers result = cluster.bench(
      {"--levels", "a", "--rate", "1000", "--deadline", "5s", "--duration", "1s", "--history", file});

  expect_clean(result);
  EXPECT_GT(result.at("refused"), 0);
  const std::string executed = read_file(log);
  for (const auto& [id, operation] : read_history(file))
    EXPECT_EQ(executed.find(id + "\n") != std::string::npos, operation.outcome == "ok")
        << id << operation.outcome;
}

TEST(Redundancy, ThreeCopiesWithOneReplicaAlive) {
  Cluster cluster;
  cluster.start_broker();
  Process& first = cluster.start_replica("a", {"--builtin", "echo"});
  Process& second = cluster.start_replica("a", {"--builtin", "echo"});
  cluster.start_replica("a", {"--builtin", "echo"});
  first.kill();
  second.kill();

  const Ended call = cluster.call({"--levels", "a", "--copies", "3"}, "x");

  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_EQ(call.out, "x");
}

TEST(Redundancy, AFastFailureDoesNotBeatASlowSuccess) {
  Cluster cluster;
  cluster.start_broker();
  cluster.start_replica("a", {"--builtin", "sleep:const(1ms)", "--fail", "1"});
  cluster.start_replica("a", {"--builtin", "sleep:const(20ms)"});

  const Numbers result = cluster.bench({"--levels", "a", "--copies", "2", "--window", "1", "--requests", "50",
                                        "--deadline", "2s", "--require-all"});

  expect_all_answered(result);
  EXPECT_EQ(result.at("ok"), 50);
  expect_copies_add_up(cluster);
  EXPECT_GE(cluster.metric("redoubt_copies_total{fate=\"failed\"}"), 50);
}

}  // namespace
}  // namespace redoubt::test
