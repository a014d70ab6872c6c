// Clients that die, say nonsense or say nothing: their links go, and nobody else notices.
#include <gmock/gmock.h>

#include <csignal>

#include "../frames.h"
#include "../poll.h"
#include "cluster.h"
#include "socket.h"
#include "wire/limits.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;
using redoubt::testing::frame_of;

wire::Hello hello_of(uint64_t incarnation) {
  return {.version_min = wire::kVersionMin,
          .version_max = wire::kVersionMax,
          .role = wire::Role::kClient,
          .name = "test-" + std::to_string(incarnation),
          .cluster = "redoubt",
          .incarnation = incarnation,
          .link_generation = 1,
          .sent_us = 1};
}

TEST(ClientFaults, AKilledClientsQueueGoesAtOnce) {
  Cluster cluster;
  cluster.start_broker({"--replica-threshold", "1"});
  cluster.start_replica("a", {"--builtin", "sleep:const(1s)"});
  const auto bench =
      cluster.start_bench({"--levels", "a", "--window", "101", "--requests", "101", "--deadline", "60s"});
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_queue_length") == 100; }));

  const auto killed = std::chrono::steady_clock::now();
  bench->kill();
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_queue_length") == 0; }));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - killed;
  const Numbers next = cluster.bench({"--levels", "a", "--window", "2", "--requests", "2"});

  EXPECT_LT(took.count(), 0.1);
  expect_all_answered(next);
  EXPECT_EQ(cluster.metric("redoubt_requests_total{outcome=\"cancelled\"}"), 100);
  EXPECT_EQ(cluster.metric("redoubt_copies_dispatched_total"), 3)
      << "none of the dead client's queue was executed";
  figure("killed client with 100 queued, queue empty after", took.count() * 1000, "ms");
}

struct Garbage {
  std::string name, bytes, reason;
};

std::vector<Garbage> all_garbage() {
  wire::Hello stranger = hello_of(1), future = hello_of(2), nobody = hello_of(3);
  stranger.cluster = "elsewhere";
  future.version_min = future.version_max = 99;
  nobody.role = wire::Role::kUnknown;
  const std::string forged = "a\n2000-01-01 warning redoubt-broker: \x1b[2J";
  wire::Hello forger = hello_of(5), replica = hello_of(6), broker = hello_of(7);
  forger.name = forged;
  replica.role = wire::Role::kReplica;
  broker.role = wire::Role::kBroker;
  wire::Enlist enlistment;
  enlistment.name = forged;
  const std::string offers = frame_of(wire::Register{.services = {forged}, .workers = 1});
  std::string noise;
  uint32_t state = 7;
  for (int i = 0; i < 100'000; ++i) noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string hello = frame_of(hello_of(4));
  return {{"random bytes", noise, "oversize"},
          {"HTTP", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "malformed"},
          {"2 GB envelope", std::string("\0\0\0\x7f\0\0\0\0", 8), "oversize"},
          {"2 GB payload", std::string("\x02\0\0\0\0\0\0\x7f\0\0", 10), "oversize"},
          {"zeros", std::string(4096, '\0'), "unknown_message"},
          {"hello and noise", hello + noise, "oversize"},
          {"hello twice", hello + hello, "out_of_order"},
          {"another cluster", frame_of(stranger), "cluster"},
          {"another version", frame_of(future), "version"},
          {"another role", frame_of(nobody), "role"},
          {"a name of two lines", frame_of(forger), "role"},
          {"a service of two lines", frame_of(replica) + offers, "malformed"},
          {"a broker of two lines", frame_of(broker) + frame_of(enlistment), "malformed"},
          {"half a hello", hello.substr(0, hello.size() / 2), "handshake_time"},
          {"nothing", "", "handshake_time"}};
}

double closed_for(const Numbers& metrics, const std::string& reason) {
  const auto found = metrics.find("redoubt_links_closed_total{reason=\"" + reason + "\"}");
  return found == metrics.end() ? -1 : found->second;
}

TEST(ClientFaults, GarbageCostsItsOwnLinkOnly) {
  Cluster cluster;
  Process& broker = cluster.start_broker();
  cluster.start_replica("a", {"--builtin", "echo"});
  const auto bench = cluster.start_bench(
      {"--levels", "a", "--rate", "200", "--deadline", "1s", "--duration", "7s", "--require-all"});

  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_clients") == 1; }));
  const int descriptors = broker.descriptors();
  for (const Garbage& garbage : all_garbage()) {
    SCOPED_TRACE(garbage.name);
    const Numbers before = cluster.metrics();
    const auto from = std::chrono::steady_clock::now();
    Socket socket(cluster.address());
    socket.send(garbage.bytes);
    (void)socket.read_to_end(3s);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;

    EXPECT_TRUE(socket.closed());
    EXPECT_LT(took.count(), garbage.reason == "handshake_time" ? 2.5 : 0.5);
    const Numbers after = cluster.metrics();
    EXPECT_EQ(closed_for(after, garbage.reason), closed_for(before, garbage.reason) + 1);
  }
  EXPECT_TRUE(eventually([&] { return broker.descriptors() <= descriptors; }));
  const Numbers result = cluster.result_of(*bench);

  expect_all_answered(result);
  EXPECT_TRUE(broker.running());
  EXPECT_EQ(cluster.metric("redoubt_replicas_lost_total"), 0);
  EXPECT_EQ(broker.err().find('\x1b'), std::string::npos) << broker.err();
  EXPECT_EQ(broker.err().find("\n2000"), std::string::npos) << broker.err();
  figure("garbage on the client port, longest latency of others", result.at("latency_us/max") / 1000, "ms");
}

TEST(ClientFaults, IdleClientsCostLittle) {
  constexpr int kClients = 1000;
  Cluster cluster;
  Process& broker = cluster.start_broker();
  cluster.start_replica("a", {"--builtin", "echo"});
  std::vector<Socket> sockets;
  const auto connect = [&](int count) {
    for (int i = 0; i < count; ++i) {
      sockets.emplace_back(cluster.address());
      sockets.back().send(frame_of(hello_of(sockets.size())));
    }
  };
  // The first of everything, which is no client's own.
  connect(5);
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_clients") == 5; }));
  expect_all_answered(cluster.bench({"--levels", "a", "--requests", "1000"}));
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_clients") == 5; }));

  const double before = broker.resident();
  // In portions: the tests must not depend on how long a queue of connections the system allows.
  for (int i = 0; i < kClients; i += 100) {
    connect(100);
    ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_clients") == i + 105; }));
  }
  const double each = (broker.resident() - before) / kClients;

  EXPECT_LT(each, 16 * 1024);
  EXPECT_EQ(cluster.call({"--levels", "a"}, "x").out, "x");
  sockets.clear();
  EXPECT_TRUE(eventually([&] { return cluster.metric("redoubt_clients") == 0; }));
  figure("idle client, memory of the broker", each / 1024, "KiB");
}

// Asks for one answer of 1 MiB again and again, and reads none: what the broker then keeps costs this test
// little.
class NeverReads {
 public:
  NeverReads(const Cluster& cluster, uint64_t incarnation) : socket_(cluster.address()) {
    wire::Request request = ask();
    request.payload = Payload(std::string(1 << 20, 'x'));
    socket_.send(frame_of(hello_of(incarnation)) + frame_of(wire::Submit{.requests = {request}}));
    EXPECT_GE(socket_.read(1 << 20, 10s).size(), 1u << 20);
  }
  void ask_again(int times) {
    std::string again;
    for (int i = 0; i < times; ++i) again += frame_of(wire::Submit{.requests = {ask()}});
    socket_.send(again);
  }
  bool closed() {
    (void)socket_.read_to_end(200ms);
    return socket_.closed();
  }

 private:
  static wire::Request ask() {
    wire::Request request;
    request.seq = 1;
    request.levels = {{"a", 1}};
    request.deadline_us = 30'000'000;
    return request;
  }
  Socket socket_;
};

TEST(ClientFaults, WhatAllClientsLeaveUnreadIsBoundedAndWhoLeavesMostGoes) {
  Cluster cluster;
  Process& broker = cluster.start_broker({"--held-limit", "64MiB"});
  cluster.start_replica("a", {"--builtin", "echo"});
  NeverReads most(cluster, 1), second(cluster, 2), third(cluster, 3);
  const double before = cluster.metric("redoubt_links_closed_total{reason=\"slow\"}");

  most.ask_again(240);
  second.ask_again(200);
  third.ask_again(50);
  EXPECT_EQ(cluster.call({"--levels", "a"}, "x").out, "x");
  EXPECT_EQ(cluster.metric("redoubt_links_closed_total{reason=\"slow\"}"), before) << "below all limits";
  third.ask_again(130);

  EXPECT_TRUE(eventually(
      [&] { return cluster.metric("redoubt_links_closed_total{reason=\"slow\"}") == before + 1; }));
  EXPECT_EQ(cluster.call({"--levels", "a"}, "x").out, "x");
  EXPECT_TRUE(most.closed());
  EXPECT_FALSE(second.closed());
  EXPECT_FALSE(third.closed());
  EXPECT_EQ(cluster.metric("redoubt_links_closed_total{reason=\"slow\"}"), before + 1);
  EXPECT_NE(broker.err().find("closed the link of test-1"), std::string::npos) << broker.err();
  EXPECT_NE(broker.err().find("MiB unread, the most of all clients, which leave more than 528 MiB together"),
            std::string::npos)
      << broker.err();
}

}  // namespace
}  // namespace redoubt::test
