// Standbys that join, stall and die while requests are pending, and what they know when they are needed:
// the checkpoint carries the state, not only the clients' memory of it.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <set>
#include <sstream>

#include "../frames.h"
#include "../poll.h"
#include "group.h"
#include "socket.h"
#include "stalls.h"
#include "wire/limits.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;
using redoubt::testing::frame_of;
using std::chrono::steady_clock;

const Texts kWork{"--workers", "4", "--builtin", "sleep:exp(2ms)"};
const std::string kPending = "redoubt_pending_requests";

// Requests that stay pending for as long as the test lasts, and their client.
class Pending : public Group {
 public:
  explicit Pending(const Shape& shape = {}) : Group(shape) {}

  void add_pending(int requests) {
    const std::string count = std::to_string(requests);
    start_replica("stuck", {"--builtin", "sleep:const(1000s)"});
    client_ = start_bench({"--levels", "stuck", "--window", count, "--requests", count, "--payload", "1KiB",
                           "--deadline", "900s"});
    ASSERT_TRUE(eventually([&] { return metric(manager(), kPending) >= requests; }, 60s)) << client_->err();
  }
  Process& client() { return *client_; }
  // Of all that run, or none.
  bool in_sync(size_t seen_by, size_t broker) const {
    for (const BrokerView& view : brokers_seen_by(seen_by))
      if (view.name == address(broker)) return view.in_sync;
    return false;
  }

 private:
  std::unique_ptr<Process> client_;
};

const Texts kLongQueue{"--queue-limit", "200000"};

TEST(Standby, HoldsWhatItsManagerHoldsPendingAndAtRest) {
  Pending group({.flags = kLongQueue});
  group.start_all();
  group.start_replica("a", kWork);
  expect_all_answered(group.bench({"--levels", "a", "--requests", "1000", "--require-all"}));

  const bool equal_at_rest = group.states_equal();
  group.add_pending(1000);
  const bool equal_pending = group.states_equal();

  EXPECT_TRUE(equal_at_rest);
  EXPECT_TRUE(equal_pending);
  const auto views = group.brokers_seen_by(group.manager());
  ASSERT_EQ(views.size(), 3u);
  EXPECT_THAT(views[0].state_hash, ::testing::Not(::testing::MatchesRegex("0*")));
}

TEST(Standby, JoinsAmongAHundredThousandPendingWithoutAPause) {
  Pending group({.flags = kLongQueue});
  const Stalls stalls;
  for (const size_t broker : {0u, 1u}) group.start_broker(broker);
  ASSERT_TRUE(group.all_in_sync());
  group.start_replica("a", {"--builtin", "echo"});
  group.add_pending(100'000);
  const size_t rules = group.manager();
  const int epoch = group.epoch(rules);
  const auto bench = group.start_bench({"--levels", "a", "--rate", "5000", "--payload", "1KiB", "--deadline",
                                        "2s", "--duration", "5s", "--require-all"});
  expect_served(group.admin(rules), 2000);

  const auto from = steady_clock::now();
  group.start_broker(2);
  const bool in_sync = eventually([&] { return group.in_sync(rules, 2); });
  const std::chrono::duration<double> took = steady_clock::now() - from;
  const Numbers result = group.result_of(*bench);

  EXPECT_TRUE(in_sync);
  EXPECT_LT(took.count(), 2 + stalls.longest());
  expect_all_answered(result);
  EXPECT_EQ(group.manager(), rules);
  EXPECT_EQ(group.epoch(rules), epoch);
  EXPECT_TRUE(group.in_sync(rules, 1 - rules)) << "the other one, all the time";
  EXPECT_TRUE(group.states_equal());
  EXPECT_GE(group.metric(rules, kPending), 100'000);
  figure("standby joins 100,000 pending of 1 KiB, in sync after", took.count() * 1e3, "ms");
  figure("meanwhile, longest gap at 5,000 a second", result.at("gap_ms_max"), "ms");
}

TEST(Standby, WithLessRoomThanItsManagerSaysSoAndIsDialledWithPauses) {
  Pending group;
  group.give_flags(2, {"--held-limit", "10KiB"});
  group.start_broker(0);
  group.start_broker(1);
  (void)group.manager();
  Process& small = group.start_broker(2);
  ASSERT_TRUE(group.all_in_sync());

  group.add_pending(100);
  ASSERT_TRUE(eventually([&] { return small.err().find("--held-limit") != std::string::npos; }))
      << small.err();
  let_pass(2s);
  const double links = group.metric(group.manager(), "redoubt_links_accepted_total");

  EXPECT_LT(links, 100) << "each is a collection in vain";
  EXPECT_NE(group.manager(), 2u);
  EXPECT_EQ(group.metric(group.manager(), "redoubt_standbys_in_sync"), 1);
  figure("links to a manager whose standby has too little room, in 2 s", links);
}

TEST(Standby, HalfLoadedIsNotPromotedWhileOneInSyncLives) {
  Pending group({.flags = kLongQueue, .chaos = true});
  group.start_all();
  group.start_replica("a", kWork);
  group.add_pending(20'000);
  const size_t old = group.manager(), joins = group.standbys().at(0), good = group.standbys().at(1);
  const auto bench = group.start_bench(
      {"--levels", "a", "--rate", "500", "--deadline", "5s", "--duration", "5s", "--require-all"});
  expect_served(group.admin(old), 200);

  group.kill(joins);
  group.one_way(old, joins, "rate 1000000");
  group.start_broker(joins);
  // Some of its 20 MB have passed, and it has not all of them.
  const auto loads = [&] { return group.passed(old, joins) > 1'000'000 && !group.in_sync(old, joins); };
  const bool half_loaded = eventually(loads);
  group.kill(old);
  const size_t next = group.manager();
  const Numbers result = group.result_of(*bench);

  EXPECT_TRUE(half_loaded);
  EXPECT_EQ(next, good);
  expect_all_answered(result);
  EXPECT_GE(group.metric(next, kPending), 20'000);
  EXPECT_TRUE(group.all_in_sync());
}

TEST(Standby, DyingAgainAndAgainIsNoticedByNobody) {
  Pending group({.flags = kLongQueue});
  group.start_all();
  group.start_replica("a", kWork);
  group.add_pending(20'000);
  const size_t rules = group.manager(), dies = group.standbys().at(0);
  const double before = group.broker(rules).resident();
  const int descriptors = group.broker(rules).descriptors();
  const auto bench = group.start_bench({"--levels", "a", "--rate", "1500", "--payload", "1KiB", "--deadline",
                                        "2s", "--duration", "5s", "--require-all"});
  expect_served(group.admin(rules), 500);

  // Each time another part of the collection has been sent.
  for (int i = 0; i < 10; ++i) {
    group.kill(dies);
    group.start_broker(dies);
    let_pass(i * 5ms);
  }
  const Numbers result = group.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(group.manager(), rules);
  EXPECT_TRUE(group.all_in_sync());
  EXPECT_LT(group.broker(rules).resident(), before + 48e6);
  EXPECT_TRUE(eventually([&] { return group.broker(rules).descriptors() <= descriptors; }));
  figure("a standby killed ten times, longest gap", result.at("gap_ms_max"), "ms");
}

TEST(Standby, StalledIsOutOfSyncAtABoundedCostAndDoesNotRuleAsIfItWereFresh) {
  Pending group({.flags = kLongQueue});
  group.start_all();
  group.start_replica("a", {"--builtin", "echo"});
  const size_t old = group.manager(), stalled = group.standbys().at(0), good = group.standbys().at(1);
  const auto bench = group.start_bench({"--levels", "a", "--rate", "1000", "--payload", "64KiB", "--deadline",
                                        "5s", "--duration", "6s", "--require-all"});
  expect_served(group.admin(old), 500);
  const double before = group.broker(old).resident();

  group.pause(stalled);
  const bool out_of_sync = eventually([&] { return !group.in_sync(old, stalled); });
  expect_served(group.admin(old), 1000);
  const double grown = group.broker(old).resident() - before;
  group.kill(old);
  group.resume(stalled);
  const size_t next = group.manager();
  group.start_broker(old);
  const Numbers result = group.result_of(*bench);

  EXPECT_TRUE(out_of_sync);
  EXPECT_LT(grown, 128e6) << "a second of this load is 64 MB";
  EXPECT_EQ(next, good);
  expect_all_answered(result);
  EXPECT_TRUE(group.all_in_sync());
  figure("memory for a stalled standby", grown / 1e6, "MB");
}

TEST(Standby, WithAWitnessTheOneThatSleptRulesOnlyAsStale) {
  Pending group({.witnesses = 1});
  group.start_all();
  group.start_replica("a", kWork);
  const size_t old = group.manager(), slept = 1 - old;
  group.pause(slept);
  ASSERT_TRUE(eventually([&] { return !group.in_sync(old, slept); }));
  expect_all_answered(group.bench({"--levels", "a", "--requests", "100", "--require-all"}));

  group.kill(old);
  group.resume(slept);
  const size_t next = group.manager();
  const double stale = group.metric(next, "redoubt_stale");
  group.start_broker(old);

  EXPECT_EQ(next, slept);
  EXPECT_EQ(stale, 1) << "it must say that it has missed something";
  EXPECT_TRUE(eventually([&] { return group.role(old) == "standby" && group.in_sync(next, old); }));
  expect_all_answered(group.bench({"--levels", "a", "--requests", "100", "--require-all"}));
}

TEST(Standby, ALevelThatIsDoneIsNotDoneAgain) {
  constexpr int kRequests = 100;
  Group group({.flags = {"--checkpoint-ack", "all"}});
  group.start_all();
  const std::string log = group.path("executions");
  write_file(log, "");
  const std::string command = "cat; echo $REDOUBT_REQUEST >>" + group.shell_path("executions");
  for (int i = 0; i < 2; ++i) group.start_replica("first", {"--workers", "4", "--exec", command});
  for (int i = 0; i < 2; ++i)
    group.start_replica("second", {"--workers", "64", "--builtin", "sleep:const(1500ms)"});
  const auto executions = [&] { return std::ranges::count(read_file(log), '\n'); };
  const size_t old = group.manager();
  const std::string count = std::to_string(kRequests);
  const auto bench = group.start_bench({"--levels", "first,second", "--window", count, "--requests", count,
                                        "--deadline", "20s", "--require-all"});
  // All are at their second level, and nobody is done with it.
  const std::string done = "redoubt_copies_total{fate=\"won\"}";
  ASSERT_TRUE(eventually([&] { return group.metric(old, done) >= kRequests; }));

  group.kill(old);
  const Numbers result = group.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(executions(), kRequests);
  std::istringstream lines(read_file(log));
  std::set<std::string> ids;
  for (std::string id; std::getline(lines, id);) ids.insert(id);
  EXPECT_EQ(ids.size(), size_t{kRequests});
}

TEST(Standby, WhatRunsWhenItsManagerDiesRunsOnAndIsNotBegunAgain) {
  constexpr int kRequests = 8;
  Group group;
  group.start_all();
  write_file(group.path("executions"), "");
  const std::string command = "echo $REDOUBT_REQUEST >>" + group.shell_path("executions") + "; sleep 1";
  group.start_replica("a", {"--workers", std::to_string(kRequests), "--exec", command});
  const auto executions = [&] { return std::ranges::count(read_file(group.path("executions")), '\n'); };
  const std::string count = std::to_string(kRequests);
  const auto bench = group.start_bench(
      {"--levels", "a", "--window", count, "--requests", count, "--deadline", "10s", "--require-all"});
  ASSERT_TRUE(eventually([&] { return executions() == kRequests; }));

  group.kill(group.manager());
  const size_t next = group.manager();
  const Numbers result = group.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(executions(), kRequests);
  EXPECT_LT(result.at("latency_us/max"), 1.9e6) << "the second that it takes, once";
  expect_copies_add_up(group.admin(next));
}

TEST(Standby, AManagerAskedToStopWaitsForOneThatIsStillLoading) {
  Pending group({.brokers = 2, .flags = kLongQueue, .chaos = true});
  group.start_all();
  group.start_replica("a", kWork);
  group.add_pending(3000);
  const size_t old = group.manager(), loads = 1 - old;
  const auto bench = group.start_bench(
      {"--levels", "a", "--rate", "500", "--deadline", "5s", "--duration", "4s", "--require-all"});
  expect_served(group.admin(old), 200);

  group.kill(loads);
  group.one_way(old, loads, "rate 6000000");
  group.start_broker(loads);
  ASSERT_TRUE(eventually([&] { return group.passed(old, loads) > 100'000; }));
  const bool was_in_sync = group.in_sync(old, loads);
  const auto code = group.stop(old);
  const double stale = group.metric(group.manager(), "redoubt_stale");
  const Numbers result = group.result_of(*bench);

  EXPECT_FALSE(was_in_sync);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(stale, 0);
  expect_all_answered(result);
  EXPECT_GE(group.metric(loads, kPending), 3000);
  figure("asked to stop with a standby that loads, longest gap", result.at("gap_ms_max"), "ms");
}

TEST(Standby, ForgetsAClientThatWasKilled) {
  Pending group({.flags = {"--replica-threshold", "1"}});
  group.start_all();
  group.add_pending(101);
  const size_t old = group.manager();

  // One is running: it is waited for in case its client comes back.
  group.client().kill();
  const bool gone = eventually([&] { return group.metric(old, kPending) == 1; }, 1s);
  const bool same = group.states_equal();
  group.kill(old);
  const size_t next = group.manager();

  EXPECT_TRUE(gone);
  EXPECT_TRUE(same);
  EXPECT_LE(group.metric(next, kPending), 1);
}

// It needs nothing but the cluster's name to follow a group; then it tells of epochs that nobody has had,
// votes, hands over and adds to the stream.
TEST(Standby, WhoJoinsFromOutsideHasNoSay) {
  Group group;
  group.start_all();
  group.start_replica("a", kWork);
  const size_t rules = group.manager();
  const int epoch = group.epoch(rules);
  const auto bench = group.start_bench(
      {"--levels", "a", "--rate", "500", "--deadline", "2s", "--duration", "3s", "--require-all"});
  expect_served(group.admin(rules), 200);

  const wire::Epoch huge{wire::kMaxSeq, 9}, next{static_cast<uint64_t>(epoch) + 1, 2};
  std::string words = frame_of(wire::Hello{.version_min = wire::kVersionMin,
                                           .version_max = wire::kVersionMax,
                                           .role = wire::Role::kBroker,
                                           .name = "stranger",
                                           .cluster = "redoubt",
                                           .incarnation = 1,
                                           .link_generation = 1,
                                           .sent_us = 1});
  words += frame_of(wire::Enlist{.broker = 0,
                                 .kind = wire::Kind::kLearner,
                                 .group = 0,
                                 .incarnation = 1,
                                 .name = "stranger",
                                 .address = {}});
  for (const wire::Epoch& told : {huge, next})
    for (const bool it_rules : {true, false}) {
      wire::Pulse pulse;
      pulse.known = told;
      pulse.rules = it_rules;
      pulse.set = {told, 1, 1};
      words += frame_of(pulse);
      wire::Vote vote;
      vote.epoch = vote.known = told;
      vote.granted = true;
      words += frame_of(vote);
      wire::VoteAsk ask;
      ask.epoch = told;
      ask.position = {told, 1};
      words += frame_of(ask);
      wire::HandOver hand_over;
      hand_over.epoch = {static_cast<uint64_t>(epoch), static_cast<uint32_t>(rules) + 1};
      hand_over.successor = 1;
      words += frame_of(hand_over);
    }
  wire::Collect collect;
  collect.epoch = huge;
  words += frame_of(collect);
  std::vector<Socket> strangers;
  for (size_t broker = 0; broker < group.size(); ++broker) {
    strangers.emplace_back(group.address(broker));
    strangers.back().send(words);
    // What comes back to it shows that its words have been read.
    EXPECT_FALSE(strangers.back().read(100, 5s).empty());
  }
  const Numbers result = group.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(group.manager(), rules);
  EXPECT_EQ(group.epoch(rules), epoch);
  EXPECT_TRUE(group.all_in_sync());
  EXPECT_LT(result.at("gap_ms_max"), 300);
}

// Whatever the moment: while a standby collects, while one is being elected, under a burst.
TEST(Standby, ManagersKilledInARowLoseNothingOfFiftyClients) {
  const int kills = long_run() ? 100 : 5;
  constexpr int kClients = 50;
  Group group;
  group.start_all();
  for (int i = 0; i < 4; ++i) group.start_replica("a", kWork);
  std::vector<std::unique_ptr<Process>> clients;
  const std::string lasts = std::to_string(kills + 2) + "s";
  for (int i = 0; i < kClients; ++i)
    clients.push_back(group.start_bench({"--levels", "a", "--rate", "20", "--deadline", "5s", "--duration",
                                         lasts, "--seed", std::to_string(i + 1), "--require-all"}));
  std::mt19937 random(7);
  std::uniform_int_distribution<int> moment(0, 800);

  expect_served(group.admin(group.manager()), 200);
  for (int i = 0; i < kills; ++i) {
    const size_t old = group.manager();
    group.kill(old);
    group.start_broker(old);
    let_pass(std::chrono::milliseconds(moment(random)));
  }

  double worst = 0;
  for (const auto& client : clients) {
    const Numbers result = group.result_of(*client, std::chrono::seconds(kills + 30));
    expect_all_answered(result);
    worst = std::max(worst, result.at("latency_us/max") / 1000);
  }
  EXPECT_TRUE(group.all_in_sync());
  figure("managers killed in a row: " + std::to_string(kills) + ", longest latency", worst, "ms");
}

}  // namespace
}  // namespace redoubt::test
