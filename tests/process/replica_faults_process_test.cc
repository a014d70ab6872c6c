// Replicas that die, stop, hang and leave under load: every request has its one outcome, nothing runs after
// its deadline, and the books of copies balance.
#include <gmock/gmock.h>

#include <csignal>
#include <sstream>

#include "../poll.h"
#include "cluster.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;

std::string text_of(std::chrono::milliseconds time) { return std::to_string(time.count()) + "ms"; }

TEST(ReplicaFaults, OneOfEachLevelKilledAndBackUnderLoad) {
  const std::chrono::milliseconds lasts = long_run() ? 10s : 3s;
  Cluster cluster;
  cluster.start_broker();
  std::vector<Process*> replicas;
  for (const char* service : {"a", "b"})
    for (int i = 0; i < 4; ++i)
      replicas.push_back(&cluster.start_replica(service, {"--builtin", "sleep:exp(4ms)"}));

  const auto bench = cluster.start_bench({"--levels", "a,b", "--copies", "2", "--rate", "300", "--deadline",
                                          "200ms", "--duration", text_of(lasts), "--require-all"});
  for (int i = 1; i <= 2; ++i) {
    let_pass(lasts / 4);
    Process*& victim = replicas[i == 1 ? 0 : 4];
    victim->kill();
    let_pass(200ms);
    victim = &cluster.start_replica(i == 1 ? "a" : "b", {"--builtin", "sleep:exp(4ms)"});
  }
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(result.at("exit"), 0);
  expect_copies_add_up(cluster);
  EXPECT_EQ(cluster.metric("redoubt_replicas_lost_total"), 2);
  figure("kill and restart, requests sent", result.at("sent"));
  figure("kill and restart, ok", result.at("ok"));
  figure("kill and restart, p50", result.at("latency_us/p50") / 1000, "ms");
  figure("kill and restart, p99", result.at("latency_us/p99") / 1000, "ms");
  figure("kill and restart, longest gap", result.at("gap_ms_max"), "ms");
}

// What the children wrote down: when each began, and for which request.
struct Started {
  double wall;
  std::string request;
};
std::vector<Started> read_starts(const std::string& path) {
  std::vector<Started> starts;
  std::istringstream lines(read_file(path));
  for (Started one{}; lines >> one.wall >> one.request;) starts.push_back(one);
  return starts;
}

// From the replica's last look at the clock to the child's own: fork, exec of the shell and of date.
constexpr double kForkTolerance = 0.020;
constexpr double kOutcomeTolerance = 0.050;

// All replicas are stopped under load and go on after a while: what came too late must not run.
void stop_all_and_judge(const Texts& broker_flags, std::chrono::milliseconds stopped_for,
                        const std::string& name) {
  Cluster cluster;
  cluster.start_broker(broker_flags);
  const std::string log = cluster.path("starts"), history_file = cluster.path("history");
  const std::string command = "date \"+%s.%N $REDOUBT_REQUEST\" >> " + log + "; exec cat";
  std::vector<Process*> replicas;
  for (const char* service : {"a", "b"})
    for (int i = 0; i < 4; ++i) replicas.push_back(&cluster.start_replica(service, {"--exec", command}));

  const auto bench =
      cluster.start_bench({"--levels", "a,b", "--copies", "2", "--rate", "25", "--deadline", "200ms",
                           "--duration", text_of(stopped_for + 2s), "--history", history_file});
  let_pass(1s);
  for (Process* replica : replicas) replica->signal(SIGSTOP);
  let_pass(stopped_for);
  for (Process* replica : replicas) replica->signal(SIGCONT);
  const Numbers result = cluster.result_of(*bench);

  expect_clean(result);
  EXPECT_GT(result.at("ok"), 0);
  EXPECT_GT(result.at("expired"), 0);
  expect_copies_add_up(cluster);
  History history = read_history(history_file);
  EXPECT_EQ(static_cast<double>(history.size()), result.at("sent"));
  double latest_outcome = 0, latest_start = -1;
  for (const auto& [id, operation] : history) {
    EXPECT_EQ(operation.outcomes, 1) << id;
    EXPECT_LE(operation.ended, operation.deadline + kOutcomeTolerance) << id << ' ' << operation.outcome;
    latest_outcome = std::max(latest_outcome, operation.ended - operation.deadline);
  }
  const std::vector<Started> starts = read_starts(log);
  EXPECT_GE(static_cast<double>(starts.size()), 2 * result.at("ok"));
  for (const Started& start : starts) {
    ASSERT_TRUE(history.contains(start.request)) << start.request;
    EXPECT_LE(start.wall, history[start.request].deadline + kForkTolerance) << start.request;
    latest_start = std::max(latest_start, start.wall - history[start.request].deadline);
  }
  figure(name + ", latest start after a deadline (negative: before it)", latest_start * 1000, "ms");
  figure(name + ", latest outcome after its deadline", latest_outcome * 1000, "ms");
  figure(name + ", ok of sent", result.at("ok") / result.at("sent"));
}

TEST(ReplicaFaults, AllStoppedBeyondDeadAfterNothingStartsTooLate) {
  stop_all_and_judge({}, long_run() ? 5s : 2s, "all replicas stopped");
}

TEST(ReplicaFaults, AllStoppedButNotGivenUpNothingStartsTooLate) {
  stop_all_and_judge({"--dead-after", "30s"}, long_run() ? 5s : 2s, "all replicas stopped, links kept");
}

TEST(ReplicaFaults, AHalfOpenOnesCopiesAreSentAgain) {
  Cluster cluster;
  cluster.start_broker({"--replica-threshold", "64"});
  Process& hangs = cluster.start_replica("a", {"--builtin", "sleep:const(4ms)", "--workers", "4"});
  cluster.start_replica("a", {"--builtin", "sleep:const(4ms)", "--workers", "4"});

  const auto bench = cluster.start_bench(
      {"--levels", "a", "--rate", "300", "--deadline", "2s", "--duration", "4s", "--require-all"});
  let_pass(1s);
  hangs.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_replicas_lost_total") == 1; }));
  let_pass(1s);
  hangs.signal(SIGCONT);
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(result.at("ok"), result.at("sent"));
  expect_copies_add_up(cluster);
  EXPECT_GT(cluster.metric("redoubt_copies_total{fate=\"lost\"}"), 0);
  figure("half-open replica, longest latency", result.at("latency_us/max") / 1000, "ms");
}

TEST(ReplicaFaults, OneThatIsAskedToLeaveLosesNothing) {
  Cluster cluster;
  cluster.start_broker();
  Process& leaves = cluster.start_replica("a", {"--builtin", "sleep:exp(4ms)", "--workers", "4"});
  cluster.start_replica("a", {"--builtin", "sleep:exp(4ms)", "--workers", "4"});

  const auto bench = cluster.start_bench(
      {"--levels", "a", "--rate", "300", "--deadline", "2s", "--duration", "2s", "--require-all"});
  let_pass(1s);
  leaves.signal(SIGTERM);
  const auto code = leaves.wait();
  const Numbers result = cluster.result_of(*bench);

  EXPECT_EQ(code, 0);
  EXPECT_FALSE(leaves.event("stopped").empty());
  expect_all_answered(result);
  expect_copies_add_up(cluster);
  EXPECT_EQ(cluster.metric("redoubt_copies_total{fate=\"lost\"}"), 0);
  EXPECT_EQ(cluster.metric("redoubt_copies_total{fate=\"failed\"}"), 0);
}

}  // namespace
}  // namespace redoubt::test
