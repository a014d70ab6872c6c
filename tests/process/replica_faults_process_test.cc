// Replicas that die, stop, hang and leave under load: every request has its one outcome, nothing runs after
// its deadline, and the books of copies balance.
#include <gmock/gmock.h>

#include <csignal>
#include <sstream>

#include "../frames.h"
#include "../poll.h"
#include "cluster.h"
#include "socket.h"
#include "stalls.h"
#include "wire/limits.h"

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

// From the replica's last look at the clock to the child's own: exec of the shell, and of the command. Both
// are what a machine needs that lets everybody run at once; a chain of three processes is stalled three
// times.
constexpr double kForkTolerance = 0.020;
constexpr double kOutcomeTolerance = 0.050;
constexpr double kProcessesInARow = 3;

// All replicas are stopped under load and go on after a while: what came too late must not run.
void stop_all_and_judge(const Texts& broker_flags, const std::string& disposal, const std::string& name) {
  const std::chrono::milliseconds stopped_for = long_run() ? 5s : 2s;
  Cluster cluster;
  cluster.start_broker(broker_flags);
  const std::string log = cluster.path("starts"), history_file = cluster.path("history");
  const std::string command = "exec '" REDOUBT_STAMP "' " + cluster.shell_path("starts");
  std::vector<Process*> replicas;
  for (const char* service : {"a", "b"})
    for (int i = 0; i < 4; ++i) replicas.push_back(&cluster.start_replica(service, {"--exec", command}));

  const Stalls stalls;
  const auto bench = cluster.start_bench({"--levels", "a,b", "--copies", "2", "--rate", "25", "--deadline",
                                          "200ms", "--duration", text_of(stopped_for + 2s), "--disposal",
                                          disposal, "--history", history_file});
  expect_served(cluster, 10);
  for (Process* replica : replicas) replica->signal(SIGSTOP);
  let_pass(stopped_for);
  for (Process* replica : replicas) replica->signal(SIGCONT);
  const Numbers result = cluster.result_of(*bench);

  expect_clean(result);
  EXPECT_GT(result.at("ok"), 0);
  EXPECT_GT(result.at("expired"), 0);
  expect_copies_add_up(cluster);
  const double stalled = kProcessesInARow * stalls.longest();
  History history = read_history(history_file);
  EXPECT_EQ(static_cast<double>(history.size()), result.at("sent"));
  double latest_outcome = 0, latest_start = -1;
  for (const auto& [id, operation] : history) {
    EXPECT_EQ(operation.outcomes, 1) << id;
    EXPECT_LE(operation.ended, operation.deadline + kOutcomeTolerance + stalled)
        << id << ' ' << operation.outcome;
    latest_outcome = std::max(latest_outcome, operation.ended - operation.deadline);
  }
  const std::vector<Started> starts = read_starts(log);
  EXPECT_GE(static_cast<double>(starts.size()), 2 * result.at("ok"));
  for (const Started& start : starts) {
    ASSERT_TRUE(history.contains(start.request)) << start.request;
    EXPECT_LE(start.wall, history[start.request].deadline + kForkTolerance + stalled) << start.request;
    latest_start = std::max(latest_start, start.wall - history[start.request].deadline);
  }
  figure(name + ", latest start after a deadline (negative: before it)", latest_start * 1000, "ms");
  figure(name + ", latest outcome after its deadline", latest_outcome * 1000, "ms");
  figure(name + ", longest stall of the machine", stalls.longest() * 1000, "ms");
  figure(name + ", ok of sent", result.at("ok") / result.at("sent"));
}

TEST(ReplicaFaults, AllStoppedBeyondDeadAfterNothingStartsTooLate) {
  stop_all_and_judge({}, "on-completion", "all replicas stopped");
}

// The links stand, so the copies lie in the sockets of the stopped; and without halts behind them nothing but
// the replica's own reckoning of the time keeps them from being run.
TEST(ReplicaFaults, AllStoppedButNotGivenUpNothingStartsTooLate) {
  stop_all_and_judge({"--dead-after", "30s", "--replica-threshold", "16"}, "expire",
                     "all replicas stopped, links kept");
}

TEST(ReplicaFaults, AHalfOpenOnesCopiesAreSentAgain) {
  Cluster cluster;
  cluster.start_broker({"--replica-threshold", "64"});
  Process& hangs = cluster.start_replica("a", {"--builtin", "sleep:const(4ms)", "--workers", "4"});
  cluster.start_replica("a", {"--builtin", "sleep:const(4ms)", "--workers", "4"});

  const auto bench = cluster.start_bench(
      {"--levels", "a", "--rate", "300", "--deadline", "2s", "--duration", "4s", "--require-all"});
  expect_served(cluster, 100);
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
  expect_served(cluster, 100);
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

TEST(ReplicaFaults, OneKilledWithASingleCopyLosesNothing) {
  Cluster cluster;
  cluster.start_broker();
  const Texts work{"--builtin", "sleep:exp(10ms)", "--workers", "4"};
  Process& dies = cluster.start_replica("a", work);
  cluster.start_replica("a", work);

  const auto bench = cluster.start_bench(
      {"--levels", "a", "--rate", "300", "--deadline", "2s", "--duration", "2s", "--require-all"});
  expect_served(cluster, 100);
  dies.kill();
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  expect_copies_add_up(cluster);
  EXPECT_EQ(cluster.metric("redoubt_copies_retried_total"),
            cluster.metric("redoubt_copies_total{fate=\"lost\"}"));
  figure("one of two replicas killed, one copy each, longest gap", result.at("gap_ms_max"), "ms");
}

TEST(ReplicaFaults, WhenTheLastOneDiesWorkWaitsForTheNext) {
  Cluster cluster;
  cluster.start_broker({"--queue-limit", "50"});
  cluster.start_replica("a", {"--builtin", "echo"}).kill();
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_replicas{service=\"a\"}") == 0; }));

  const auto bench =
      cluster.start_bench({"--levels", "a", "--window", "60", "--requests", "60", "--deadline", "10s"});
  ASSERT_TRUE(eventually([&] {
    return cluster.metric("redoubt_queue_length") == 50 &&
           cluster.metric("redoubt_refusals_total{reason=\"queue_full\"}") == 10;
  }));
  cluster.start_replica("a", {"--builtin", "echo"});
  const Numbers result = cluster.result_of(*bench);

  expect_clean(result);
  EXPECT_EQ(result.at("ok"), 50);
  EXPECT_EQ(result.at("refused"), 10);
  expect_copies_add_up(cluster);
}

TEST(ReplicaFaults, ARequestThatKillsItsReplicasStopsAtTheLimit) {
  Cluster cluster;
  cluster.start_broker({"--attempts", "3"});
  const std::string poison = "read -r word; [ \"$word\" = poison ] && kill -9 $PPID; echo fine";
  for (int i = 0; i < 5; ++i) cluster.start_replica("a", {"--exec", poison});

  const Ended killer = cluster.call({"--levels", "a"}, "poison\n");
  const Ended next = cluster.call({"--levels", "a"}, "water\n");

  EXPECT_EQ(killer.code, 1);
  EXPECT_THAT(killer.err, ::testing::HasSubstr("delivery limit"));
  EXPECT_EQ(cluster.metric("redoubt_replicas{service=\"a\"}"), 2);
  EXPECT_EQ(next.out, "fine\n");
}

// A replica of our own making, whose copies are answered as the test wishes.
class FalseReplica {
 public:
  explicit FalseReplica(const std::string& address) : socket_(address) {
    const wire::Hello hello{.version_min = wire::kVersionMin,
                            .version_max = wire::kVersionMax,
                            .role = wire::Role::kReplica,
                            .name = "false",
                            .cluster = "redoubt",
                            .incarnation = 77,
                            .link_generation = 1,
                            .sent_us = 1};
    socket_.send(redoubt::testing::frame_of(hello));
    socket_.send(redoubt::testing::frame_of(wire::Register{{"a"}, 4, 16}));
  }
  Socket& socket() { return socket_; }
  // The next copy that arrives.
  wire::Copy copy() {
    wire::Copy found;
    (void)eventually([&] {
      for (const wire::Message& message :
           redoubt::testing::receive(decoder_, socket_.read(1, 50ms)).messages) {
        if (std::holds_alternative<wire::Welcome>(message)) decoder_.set_max(wire::kDefaultMaxPayload);
        if (const auto* copy = std::get_if<wire::Copy>(&message)) found = *copy;
      }
      return found.copy != 0;
    });
    return found;
  }

 private:
  Socket socket_;
  wire::Decoder decoder_;
};

TEST(ReplicaFaults, NonsenseFromOneIsNobodysResult) {
  Cluster cluster;
  cluster.start_broker();
  const auto done = [](uint64_t copy, wire::Epoch epoch) {
    wire::Done message;
    message.copy = copy;
    message.epoch = epoch;
    message.payload = Payload("wrong");
    return redoubt::testing::frame_of(message);
  };
  // A length beyond all limits; HTTP; somebody else's number and an old epoch, and then silence for
  // dead-after.
  const std::vector<std::function<std::string(const wire::Copy&)>> answers{
      [](const wire::Copy&) { return std::string("\0\0\0\x7f\0\0\0\0", 8); },
      [](const wire::Copy&) { return std::string("GET / HTTP/1.1\r\n\r\n"); },
      [&](const wire::Copy& copy) { return done(copy.copy + 12345, copy.epoch); },
      [&](const wire::Copy& copy) {
        return done(copy.copy, {0, 0});
      }};

  for (const auto& answer : answers) {
    FalseReplica replica(cluster.address());
    ASSERT_TRUE(eventually([&] {
      const Numbers metrics = cluster.metrics();
      const auto replicas = metrics.find("redoubt_replicas{service=\"a\"}");
      return replicas != metrics.end() && replicas->second == 1;
    }));
    const auto call = cluster.start({"call", "--brokers", cluster.address(), "--levels", "a"}, "right");
    const wire::Copy copy = replica.copy();
    replica.socket().send(answer(copy));
    (void)replica.socket().read_to_end(5s);
    EXPECT_TRUE(replica.socket().closed());
    Process& good = cluster.start_replica("a", {"--builtin", "echo"});

    EXPECT_EQ(call->wait(), 0) << call->err();
    EXPECT_EQ(call->out(), "right");
    good.kill();
    ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_replicas{service=\"a\"}") == 0; }));
  }
  expect_copies_add_up(cluster);
  EXPECT_EQ(cluster.metric("redoubt_late_results_total{reason=\"unknown_copy\"}"), 1);
  EXPECT_EQ(cluster.metric("redoubt_late_results_total{reason=\"stale_epoch\"}"), 1);
  EXPECT_EQ(cluster.metric("redoubt_links_closed_total{reason=\"oversize\"}"), 1);
  EXPECT_EQ(cluster.metric("redoubt_links_closed_total{reason=\"malformed\"}"), 1);
  EXPECT_EQ(cluster.metric("redoubt_links_closed_total{reason=\"silent\"}"), 2);
}

// Copies whose requests have ended are in no limit of requests any more.
TEST(ReplicaFaults, WhatAllOfThemLeaveUnreadIsBounded) {
  Cluster cluster;
  Process& broker = cluster.start_broker({"--held-limit", "64MiB", "--dead-after", "60s"});
  cluster.start_replica("b", {"--builtin", "echo"});
  std::vector<std::unique_ptr<FalseReplica>> unread;
  for (int i = 0; i < 12; ++i) unread.push_back(std::make_unique<FalseReplica>(cluster.address()));
  ASSERT_TRUE(eventually([&] { return cluster.metrics()["redoubt_replicas{service=\"a\"}"] == 12; }));

  const Numbers expired = cluster.bench(
      {"--levels", "a", "--payload", "8MiB", "--window", "6", "--requests", "84", "--deadline", "200ms"});

  EXPECT_EQ(expired.at("expired"), 84);
  EXPECT_TRUE(eventually([&] { return cluster.metric("redoubt_links_closed_total{reason=\"slow\"}") >= 1; }));
  EXPECT_LT(broker.resident() / (1 << 20), 528 + 100);
  EXPECT_NE(broker.err().find("the most of all replicas and brokers"), std::string::npos) << broker.err();
  EXPECT_EQ(cluster.call({"--levels", "b"}, "x").out, "x");
}

TEST(ReplicaFaults, CopiesThatShareAPayloadAreNoReasonToCloseAnybody) {
  Cluster cluster;
  cluster.start_broker({"--held-limit", "64MiB", "--dead-after", "60s"});
  std::vector<std::unique_ptr<FalseReplica>> unread;
  for (int i = 0; i < 12; ++i) unread.push_back(std::make_unique<FalseReplica>(cluster.address()));
  ASSERT_TRUE(eventually([&] { return cluster.metrics()["redoubt_replicas{service=\"a\"}"] == 12; }));

  const auto bench = cluster.start_bench({"--levels", "a", "--copies", "12", "--payload", "8MiB", "--window",
                                          "7", "--requests", "7", "--deadline", "1s"});
  EXPECT_TRUE(eventually([&] { return cluster.metric("redoubt_copies_outstanding") == 7 * 12; }));
  const Numbers expired = cluster.result_of(*bench);

  EXPECT_EQ(expired.at("expired"), 7);
  EXPECT_EQ(cluster.metric("redoubt_links_closed_total{reason=\"slow\"}"), 0) << "672 MiB, and 56 in fact";
}

}  // namespace
}  // namespace redoubt::test
