// Redundancy policies on real processes: what they are for, what they may cost, and where their copies go.
#include <gmock/gmock.h>

#include <csignal>
#include <map>
#include <set>
#include <sstream>

#include "../poll.h"
#include "cluster.h"
#include "stalls.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// So many requests of one copy each, until what the manager measures has been measured.
void warm(Cluster& cluster, int requests, const std::string& rate) {
  const Numbers result = cluster.bench(
      {"--levels", "work", "--redundancy", "single", "--rate", rate, "--requests", std::to_string(requests)});
  ASSERT_EQ(result.at("ok"), requests);
}

double counter(const Cluster& cluster, const std::string& name) {
  return cluster.status().at("counters/" + name);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream in(read_file(path));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Plans, AHedgeCutsTheTailWithinItsAllowance) {
  Cluster cluster;
  cluster.start_broker({"--pick", "random"});
  for (int i = 0; i < 15; ++i) cluster.start_replica("work", {"--builtin", "sleep:const(5ms)"});
  cluster.start_replica("work", {"--builtin", "sleep:const(5ms)", "--slow", "20"});

  const Numbers single = cluster.bench(
      {"--levels", "work", "--rate", "120", "--duration", long_run() ? "10s" : "3s", "--require-all"});
  const double before = counter(cluster, "admitted");
  const Numbers hedge = cluster.bench({"--levels", "work", "--redundancy", "hedge", "--rate", "120",
                                       "--duration", long_run() ? "10s" : "3s", "--require-all"});

  expect_all_answered(single);
  expect_all_answered(hedge);
  EXPECT_GT(single.at("latency_us/p99"), 100'000);
  EXPECT_LT(hedge.at("latency_us/p99"), single.at("latency_us/p99") / 2);
  const double extra = counter(cluster, "hedges");
  EXPECT_GT(extra, 0);
  EXPECT_LE(extra, 0.1 * counter(cluster, "admitted") + 1);
  EXPECT_EQ(counter(cluster, "admitted") - before, hedge.at("sent"));
  expect_copies_add_up(cluster);
  figure("one of 16 replicas slow, p99 of single", single.at("latency_us/p99") / 1000, "ms");
  figure("one of 16 replicas slow, p99 of hedge", hedge.at("latency_us/p99") / 1000, "ms");
  figure("one of 16 replicas slow, extra copies", extra / hedge.at("sent"));
}

TEST(Plans, WithAReplicaKilledTheHedgeDelayStaysWithinItsBounds) {
  Cluster cluster;
  cluster.start_broker({"--policy", "work(hedge-least=4ms,hedge-most=30ms)"});
  Process& dies = cluster.start_replica("work", {"--builtin", "sleep:exp(10ms)"});
  for (int i = 0; i < 2; ++i) cluster.start_replica("work", {"--builtin", "sleep:exp(10ms)"});
  warm(cluster, 50, "200");

  const auto bench = cluster.start_bench(
      {"--levels", "work", "--redundancy", "hedge", "--rate", "130", "--duration", "3s", "--require-all"});
  expect_served(cluster, 50);
  dies.kill();
  std::set<double> delays;
  while (bench->running()) delays.insert(cluster.status().at("services/0/hedge_delay_us"));
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  EXPECT_GE(*delays.begin(), 4'000);
  EXPECT_LE(*delays.rbegin(), 30'000);
  EXPECT_GT(delays.size(), 1U) << "it is measured again and again";
  EXPECT_LE(counter(cluster, "hedges"), 0.1 * counter(cluster, "admitted") + 1);
  expect_copies_add_up(cluster);
}

TEST(Plans, NothingThatHasABackupIsLateWhenAReplicaDies) {
  Cluster cluster;
  cluster.start_broker({"--backup-factor", "2"});
  const Texts work{"--builtin", "sleep:const(20ms)"};
  Process& dies = cluster.start_replica("work", work);
  for (int i = 0; i < 3; ++i) cluster.start_replica("work", work);
  warm(cluster, 20, "100");

  const auto bench = cluster.start_bench({"--levels", "work", "--redundancy", "backup", "--class", "0.9",
                                          "--rate", "100", "--arrivals", "constant", "--deadline", "400ms",
                                          "--duration", long_run() ? "10s" : "3s", "--require-all"});
  expect_served(cluster, 100);
  dies.kill();
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(result.at("ok"), result.at("sent"));
  EXPECT_EQ(counter(cluster, "backups/planned"), result.at("sent"));
  EXPECT_EQ(counter(cluster, "backups/without_slot"), 0);
  EXPECT_EQ(cluster.metric("redoubt_replicas_lost_total"), 1);
  expect_copies_add_up(cluster);
  figure("backup, one of four replicas killed at load 0.5, slowest", result.at("latency_us/max") / 1000,
         "ms");
  figure("backup, one of four replicas killed at load 0.5, backups sent",
         counter(cluster, "backups/sent") / result.at("sent"));
}

// A replica hangs, and nobody finds out in time. What became of requests that were served so.
Numbers with_one_hanging(const Texts& redundancy) {
  Cluster cluster;
  cluster.start_broker({"--backup-factor", "2", "--dead-after", "20s"});
  const Texts work{"--builtin", "sleep:const(20ms)"};
  Process& hangs = cluster.start_replica("work", work);
  for (int i = 0; i < 3; ++i) cluster.start_replica("work", work);
  warm(cluster, 20, "100");

  const auto bench = cluster.start_bench(joined({"--levels", "work", "--rate", "100", "--arrivals",
                                                 "constant", "--deadline", "300ms", "--duration", "2s"},
                                                redundancy));
  expect_served(cluster, 50);
  hangs.signal(SIGSTOP);
  Numbers result = cluster.result_of(*bench);

  expect_clean(result);
  result["planned"] = counter(cluster, "backups/planned");
  result["backups"] = counter(cluster, "backups/sent");
  return result;
}

TEST(Plans, NothingThatHasABackupIsLateWhenAReplicaHangs) {
  const Numbers single = with_one_hanging({"--redundancy", "single"});
  const Numbers backup = with_one_hanging({"--redundancy", "backup", "--class", "0.9"});

  EXPECT_GT(single.at("expired"), 0);
  EXPECT_EQ(backup.at("planned"), backup.at("sent"));
  EXPECT_EQ(backup.at("ok"), backup.at("sent"));
  EXPECT_GE(backup.at("backups"), 1);
  figure("one of four replicas hangs, late with single", single.at("expired"));
  figure("one of four replicas hangs, late with backup", backup.at("expired"));
}

TEST(Plans, ABackupRunsOnAnotherReplicaThanItsPrimary) {
  constexpr int kRequests = 30;
  Cluster cluster;
  cluster.start_broker({"--backup-factor", "2"});
  const std::string log = cluster.path("runs");
  for (const char* name : {"a", "b", "c"})
    cluster.start_replica("work", {"--workers", "4", "--exec",
                                   "echo \"$REDOUBT_REQUEST " + std::string(name) + "\" >>" +
                                       cluster.shell_path("runs") + "; sleep 0.15"});

  const Numbers result = cluster.bench({"--levels", "work", "--redundancy", "backup", "--class", "0.9",
                                        "--service-time", "1ms", "--disposal", "none", "--deadline", "400ms",
                                        "--window", "5", "--requests", std::to_string(kRequests)});

  EXPECT_EQ(result.at("ok"), kRequests);
  EXPECT_EQ(counter(cluster, "backups/sent"), kRequests);
  expect_copies_add_up(cluster);
  std::map<std::string, std::set<std::string>> replicas_of;
  for (const std::string& line : lines_of(log)) {
    const size_t space = line.find(' ');
    EXPECT_TRUE(replicas_of[line.substr(0, space)].insert(line.substr(space + 1)).second)
        << line << ": twice on one replica";
  }
  EXPECT_EQ(replicas_of.size(), kRequests);
  for (const auto& [request, replicas] : replicas_of) EXPECT_EQ(replicas.size(), 2U) << request;
}

TEST(Plans, ASpareReplicaRunsWhatAnotherHasLostAndNothingElse) {
  Cluster cluster;
  cluster.start_broker();
  const Texts work{"--builtin", "sleep:const(10ms)"};
  Process& dies = cluster.start_replica("work", work);
  cluster.start_replica("work", work);
  const std::string log = cluster.path("runs");
  cluster.start_replica("work", {"--spare", "--workers", "4", "--exec",
                                 "echo \"$REDOUBT_REQUEST\" >>" + cluster.shell_path("runs") + "; cat"});

  const auto bench = cluster.start_bench(
      {"--levels", "work", "--redundancy", "spare", "--window", "8", "--duration", "3s", "--require-all"});
  expect_served(cluster, 100);
  const std::vector<std::string> idle = lines_of(log);
  dies.kill();
  expect_served(cluster, 50);
  const std::vector<std::string> rescued = lines_of(log);
  expect_served(cluster, 20);
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  expect_copies_add_up(cluster);
  EXPECT_THAT(idle, testing::IsEmpty());
  EXPECT_GE(rescued.size(), 1U);
  EXPECT_EQ(lines_of(log), rescued) << "after that nothing was lost";
  EXPECT_EQ(static_cast<double>(rescued.size()), cluster.metric("redoubt_copies_total{fate=\"lost\"}"));
  EXPECT_EQ(static_cast<double>(rescued.size()), counter(cluster, "rescued_by_spares"));
}

TEST(Plans, AutoIsInTimeThoughAReplicaIsSlowAndOneDies) {
  Cluster cluster;
  cluster.start_broker();
  const Texts work{"--builtin", "sleep:const(10ms)"};
  cluster.start_replica("work", {"--builtin", "sleep:const(10ms)", "--slow", "20"});
  Process& dies = cluster.start_replica("work", work);
  for (int i = 0; i < 4; ++i) cluster.start_replica("work", work);
  warm(cluster, 100, "200");
  const auto with = [](const char* redundancy) {
    return Texts{"--levels", "work",         "--deadline", "100ms",      "--rate",
                 "200",      "--redundancy", redundancy,   "--duration", "3s"};
  };

  const Numbers single = cluster.bench(with("single"));
  const auto bench = cluster.start_bench(with("auto"));
  expect_served(cluster, 200);
  dies.kill();
  const Numbers result = cluster.result_of(*bench);

  // The slow one takes twice the deadline: one copy is late wherever it gets it.
  EXPECT_GT(single.at("expired"), 0);
  EXPECT_EQ(result.at("lost") + result.at("duplicated") + result.at("unexpected"), 0);
  EXPECT_GE(result.at("timely"), 0.98);
  EXPECT_GT(result.at("timely"), single.at("timely"));
  expect_copies_add_up(cluster);
  figure("one of six replicas slow, one killed, in time with auto", result.at("timely"));
  figure("one of six replicas slow, in time with single", single.at("timely"));
}

TEST(Plans, AServicesPolicyIsForRequestsThatDoNotSay) {
  Cluster cluster;
  cluster.start_broker(
      {"--policy", "work(redundancy=hedge,hedge-least=5ms,hedge-most=20ms,extra-share=0.5)"});
  for (int i = 0; i < 4; ++i) cluster.start_replica("work", {"--builtin", "sleep:bimodal(2ms,0.8,60ms)"});

  const Texts load{"--levels", "work", "--rate", "60", "--requests", "100", "--require-all"};
  expect_all_answered(cluster.bench(joined(load, {"--redundancy", "single"})));
  const double of_single = counter(cluster, "hedges");
  expect_all_answered(cluster.bench(load));
  const double of_silent = counter(cluster, "hedges");

  EXPECT_EQ(of_single, 0);
  EXPECT_GT(of_silent, 0);
  EXPECT_THAT(cluster.fetch("/status"), HasSubstr("\"redundancy\":\"hedge\""));
  expect_copies_add_up(cluster);
}

TEST(Plans, ABadPolicyIsNamed) {
  Cluster cluster;
  for (const std::string wrong :
       {"work(redundancy=hegde)", "work(speed=3)", "work(copies=0)", "work(hedge-least=soon)", "work(", ""}) {
    const Ended ended = cluster.run_broker({"--listen", "127.0.0.1:0", "--policy", wrong});

    EXPECT_EQ(ended.code, 2) << wrong;
    EXPECT_THAT(ended.err, HasSubstr("--policy")) << wrong;
    EXPECT_THAT(ended.err, HasSubstr(wrong.substr(0, wrong.find('(')))) << wrong;
  }
}

// The slow one's copies wait for longer than the first phase, and their siblings have completed in it.
TEST(Plans, TwoPhaseDestroysWhatStillWaitsWhenTheFirstPhaseEnds) {
  Cluster cluster;
  cluster.start_broker({"--replica-threshold", "16"});
  cluster.start_replica("work", {"--builtin", "sleep:const(2ms)"});
  cluster.start_replica("work", {"--builtin", "sleep:const(40ms)"});

  const Numbers result =
      cluster.bench({"--levels", "work", "--copies", "2", "--disposal", "two-phase:0.05", "--deadline", "2s",
                     "--window", "8", "--requests", "300", "--require-all"});
  const Ended wrong = cluster.call({"--levels", "work", "--disposal", "two-phase:2"});

  expect_all_answered(result);
  expect_copies_add_up(cluster);
  EXPECT_GT(cluster.metric("redoubt_copies_total{fate=\"halted_queued\"}"), 0);
  EXPECT_EQ(cluster.metric("redoubt_copies_total{fate=\"halted_running\"}"), 0) << "what runs is not stopped";
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--disposal: '2'"));
}

}  // namespace
}  // namespace redoubt::test
