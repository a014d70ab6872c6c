// A broker that stops, dies and returns under load, and what large payloads cost it.
#include <gmock/gmock.h>

#include <csignal>

#include "../poll.h"
#include "cluster.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;

TEST(BrokerFaults, WhatWasAcceptedIsAnsweredBeforeItStops) {
  Cluster cluster;
  Process& broker = cluster.start_broker();
  const std::string file = cluster.path("history");
  for (int i = 0; i < 2; ++i) cluster.start_replica("a", {"--builtin", "sleep:exp(20ms)", "--workers", "8"});

  const auto bench = cluster.start_bench(
      {"--levels", "a", "--rate", "300", "--deadline", "1s", "--duration", "2s", "--history", file});
  expect_served(cluster, 250);
  ASSERT_GT(cluster.metric("redoubt_pending_requests"), 0);
  const double asked = wall_now();
  broker.signal(SIGTERM);
  const auto code = broker.wait();
  const double gone = wall_now();
  const Numbers result = cluster.result_of(*bench);

  EXPECT_EQ(code, 0);
  EXPECT_FALSE(broker.event("stopped").empty());
  EXPECT_EQ(result.at("duplicated") + result.at("unexpected") + result.at("failed"), 0);
  int before = 0;
  for (const auto& [id, operation] : read_history(file)) {
    // What was sent in the last moments may have crossed with the signal.
    if (operation.submitted > asked - 0.02) continue;
    ++before;
    EXPECT_EQ(operation.outcome, "ok") << id << ' ' << operation.text;
  }
  EXPECT_GT(before, 200);
  figure("broker asked to stop, time until it had answered all", (gone - asked) * 1000, "ms");
}

TEST(BrokerFaults, KilledAndRestartedAtTheSamePortEverythingIsAnswered) {
  // Not an ephemeral port: while it is free, somebody else could be given it.
  Cluster cluster("127.0.0.1:" + std::to_string(free_port()));
  Process& broker = cluster.start_broker();
  for (int i = 0; i < 2; ++i) cluster.start_replica("a", {"--builtin", "sleep:exp(4ms)", "--workers", "4"});

  const auto bench = cluster.start_bench(
      {"--levels", "a", "--rate", "300", "--deadline", "5s", "--duration", "3s", "--require-all"});
  expect_served(cluster, 100);
  broker.kill();
  let_pass(200ms);
  cluster.start_broker();
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(result.at("ok"), result.at("sent"));
  expect_copies_add_up(cluster);
  figure("broker killed and restarted after 200 ms, longest gap", result.at("gap_ms_max"), "ms");
}

// Growth of the broker's memory when `requests` payloads of 1 MiB are out at replicas that do not read them.
double growth(const std::string& copies, int requests) {
  Cluster cluster;
  Process& broker = cluster.start_broker({"--replica-threshold", "64", "--dead-after", "60s"});
  std::vector<Process*> replicas;
  for (int i = 0; i < 8; ++i)
    replicas.push_back(&cluster.start_replica("a", {"--builtin", "sleep:const(1s)", "--workers", "64"}));
  const std::string count = std::to_string(requests);
  const Texts common{"--levels", "a", "--payload", "1MiB", "--deadline", "30s"};
  // Buffers that stay.
  Texts warm = common;
  for (const char* more : {"--window", "1", "--requests", "1"}) warm.push_back(more);
  expect_all_answered(cluster.bench(warm));
  for (Process* replica : replicas) replica->signal(SIGSTOP);

  const double before = broker.resident();
  Texts load = common;
  for (const std::string& more :
       {std::string("--copies"), copies, std::string("--window"), count, std::string("--requests"), count})
    load.push_back(more);
  const auto bench = cluster.start_bench(load);
  EXPECT_TRUE(eventually(
      [&] { return cluster.metric("redoubt_copies_outstanding") == requests * std::stod(copies); }));
  const double grown = broker.resident() - before;
  for (Process* replica : replicas) replica->signal(SIGCONT);
  expect_all_answered(cluster.result_of(*bench));
  return grown / (1 << 20);
}

TEST(BrokerFaults, EightCopiesOfAPayloadAreOneBuffer) {
  const double one = growth("1", 1), eight = growth("8", 1);
  const double one_of_many = growth("1", 8), eight_of_many = growth("8", 8);

  EXPECT_LT(eight, one + 1.0) << "one payload: MiB with 8 copies, and with one";
  EXPECT_LT(eight, 2.0);
  EXPECT_LT(eight_of_many, one_of_many + 4.0) << "8 payloads";
  EXPECT_LT(eight_of_many, 14.0);
  figure("memory for 1 payload of 1 MiB, 1 copy", one, "MiB");
  figure("memory for 1 payload of 1 MiB, 8 copies", eight, "MiB");
  figure("memory for 8 payloads of 1 MiB, 1 copy each", one_of_many, "MiB");
  figure("memory for 8 payloads of 1 MiB, 8 copies each", eight_of_many, "MiB");
}

}  // namespace
}  // namespace redoubt::test
