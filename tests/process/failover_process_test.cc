// Managers that die, stop, hang and return under load: another one rules, every request is answered once, and
// the pause stays within what is promised.
#include <gmock/gmock.h>

#include <csignal>

#include "../poll.h"
#include "group.h"
#include "stalls.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kDeadAfter = 500ms;  // the brokers' default
const Texts kWork{"--workers", "4", "--builtin", "sleep:exp(2ms)"};
const Texts kOnce{"--levels", "a", "--requests", "100", "--require-all"};

// A group in sync, four replicas, and load.
class Loaded : public Group {
 public:
  explicit Loaded(const Shape& shape = {}) : Group(shape) {
    start_all();
    for (int i = 0; i < 4; ++i) replicas_.push_back(&start_replica("a", kWork));
  }

  void load(const std::string& lasts, const Texts& more = {}) {
    bench_ = start_bench(joined(
        {"--levels", "a", "--rate", "2000", "--deadline", "2s", "--duration", lasts, "--require-all"}, more));
    expect_served(admin(manager()), 500);
  }
  bool loaded() { return bench_->running(); }
  Numbers result() { return result_of(*bench_); }
  void expect_gap_below(const Numbers& result, double milliseconds) {
    EXPECT_LT(result.at("gap_ms_max"), milliseconds + 2e3 * stalls_.longest());
  }

  // Everything was answered, and the books of whoever rules now balance.
  Numbers expect_nothing_lost() {
    const Numbers result = this->result();
    expect_all_answered(result);
    EXPECT_EQ(result.at("exit"), 0);
    expect_copies_add_up(admin(manager()));
    return result;
  }

  void restart_replica(size_t which) {
    replicas_.at(which)->signal(SIGTERM);
    EXPECT_EQ(replicas_[which]->wait(), 0);
    replicas_[which] = &start_replica("a", kWork);
  }
  size_t replicas() const { return replicas_.size(); }

 private:
  Stalls stalls_;
  std::unique_ptr<Process> bench_;
  std::vector<Process*> replicas_;
};

// Programs that are started meanwhile have a wall clock that jumps.
class JumpingClocks {
 public:
  // By name: LD_PRELOAD ends a path at a blank, and our folder may have one.
  JumpingClocks() {
    ::setenv("LD_LIBRARY_PATH", REDOUBT_JUMPING_CLOCK_FOLDER, 1);
    ::setenv("LD_PRELOAD", REDOUBT_JUMPING_CLOCK, 1);
  }
  ~JumpingClocks() {
    ::unsetenv("LD_PRELOAD");
    ::unsetenv("LD_LIBRARY_PATH");
  }
  JumpingClocks(const JumpingClocks&) = delete;
  JumpingClocks& operator=(const JumpingClocks&) = delete;
};

// What a program's wall clock is ahead of ours, in seconds.
double clock_is_ahead(Group& group) {
  Process date({"/bin/date", "+%s"}, group.path("date"));
  EXPECT_EQ(date.wait(), 0);
  return std::stod(date.out()) - wall_now();
}

// At the same moment, as far as one can.
void kill_together(Group& group, const std::vector<size_t>& brokers) {
  for (const size_t broker : brokers) group.broker(broker).signal(SIGKILL);
  for (const size_t broker : brokers) group.kill(broker);
}

TEST(Failover, AManagerKilledUnderLoadLosesNothing) {
  Loaded group;
  const size_t old = group.manager();
  const int epoch = group.epoch(old);

  group.load("4s");
  group.kill(old);
  const size_t next = group.manager();
  const Numbers result = group.expect_nothing_lost();

  EXPECT_GT(group.epoch(next), epoch);
  EXPECT_EQ(group.manager(), next);
  group.expect_gap_below(result, 100);
  figure("manager killed, longest gap", result.at("gap_ms_max"), "ms");
  figure("manager killed, longest latency", result.at("latency_us/max") / 1000, "ms");
}

TEST(Failover, AManagerAskedToStopHandsOver) {
  Loaded group;
  const std::string file = group.path("history");
  const size_t old = group.manager();

  group.load("4s", {"--history", file});
  const double asked = wall_now();
  const auto code = group.stop(old);
  const Numbers result = group.expect_nothing_lost();
  const Gaps gaps = longest_gaps(read_history(file), asked);

  EXPECT_EQ(code, 0);
  EXPECT_NE(group.manager(), old);
  EXPECT_LT(gaps.after, 0.02 + gaps.elsewhere);
  figure("manager asked to stop, longest gap", gaps.after * 1e3, "ms");
  figure("without it, longest gap", gaps.elsewhere * 1e3, "ms");
}

TEST(Failover, AManagerThatWasStoppedWakesAsAStandby) {
  Loaded group;
  const size_t old = group.manager();

  group.load("8s");
  group.pause(old);
  const size_t next = group.manager();
  const int epoch = group.epoch(next);
  let_pass(5s);
  group.resume(old);
  const bool obeys = eventually([&] { return group.role(old) == "standby"; });
  const Numbers result = group.expect_nothing_lost();

  EXPECT_TRUE(obeys) << group.role(old);
  EXPECT_EQ(group.manager(), next);
  EXPECT_EQ(group.epoch(next), epoch);
  EXPECT_TRUE(group.all_in_sync());
  EXPECT_TRUE(group.states_equal());
  group.expect_gap_below(result, static_cast<double>(kDeadAfter.count()) + 200);
  figure("manager stopped for 5 s, longest gap", result.at("gap_ms_max"), "ms");
}

TEST(Failover, PausesShorterThanDeadAfterChangeNothing) {
  Loaded group;
  const size_t rules = group.manager();
  const int epoch = group.epoch(rules);
  const auto hiccups = [&](int count) {
    for (int i = 0; i < count; ++i) {
      group.pause(rules);
      let_pass(6 * kDeadAfter / 10);
      group.resume(rules);
      let_pass(6 * kDeadAfter / 10);
    }
  };

  hiccups(5);
  const int idle_epoch = group.epoch(group.manager());
  group.load("6s");
  hiccups(8);
  (void)group.expect_nothing_lost();

  EXPECT_EQ(idle_epoch, epoch);
  EXPECT_EQ(group.manager(), rules);
  EXPECT_EQ(group.epoch(rules), epoch);
  EXPECT_TRUE(group.all_in_sync());
}

TEST(Failover, WhoIsLeftAloneServesWhereOneIsEnough) {
  Loaded group({.flags = {"--quorum", "one"}});
  const size_t old = group.manager(), first = group.standbys().at(0), second = group.standbys().at(1);

  group.load("4s");
  kill_together(group, {old, first});
  const size_t next = group.manager();
  let_pass(1s);
  group.start_broker(first);
  const Numbers result = group.expect_nothing_lost();

  EXPECT_EQ(next, second);
  EXPECT_EQ(group.manager(), second);
  EXPECT_TRUE(group.all_in_sync());
  figure("manager and first standby killed, longest gap", result.at("gap_ms_max"), "ms");
}

TEST(Failover, WithoutAMajorityRequestsAreRefusedUntilOneReturns) {
  Loaded group;
  const std::string file = group.path("history");
  const size_t old = group.manager(), first = group.standbys().at(0);

  group.load("8s", {"--rate", "500", "--deadline", "5s", "--history", file});
  const double killed = wall_now();
  kill_together(group, {old, first});
  let_pass(1s);
  const Ended refused = group.call({"--levels", "a", "--deadline", "1s"});
  const Ended status = group.status_table();
  group.start_broker(first);
  (void)group.manager();
  const double back = wall_now();
  const Numbers result = group.result();

  EXPECT_THAT(refused.code, ::testing::AnyOf(3, 5)) << refused.err;
  EXPECT_THAT(refused.err, ::testing::HasSubstr("standby")) << "why the one that is left does not serve";
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_THAT(status.out, ::testing::HasSubstr("reaches 1 of 3 brokers, 2 are needed"));
  EXPECT_THAT(status.out, ::testing::HasSubstr("unreached"));
  expect_clean(result);
  int outside = 0;
  for (const auto& [id, operation] : read_history(file)) {
    EXPECT_EQ(operation.outcomes, 1) << id;
    // What was accepted before is done after; what is sent without a majority may be refused.
    if (operation.submitted > killed - 0.02 && operation.submitted < back + 0.5) continue;
    ++outside;
    EXPECT_EQ(operation.outcome, "ok") << id << ' ' << operation.text;
  }
  EXPECT_GT(outside, 500);
  expect_all_answered(group.bench(kOnce));
}

TEST(Failover, WallClocksThatJumpAnHourAreNoticedByNobody) {
  const JumpingClocks jumping;
  Loaded group;
  const size_t old = group.manager();
  const int epoch = group.epoch(old);
  ASSERT_TRUE(eventually([&] { return clock_is_ahead(group) > 3000; }));
  ASSERT_TRUE(eventually([&] { return clock_is_ahead(group) < -3000; }));

  group.load("3s");
  const Numbers result = group.expect_nothing_lost();

  EXPECT_EQ(group.manager(), old);
  EXPECT_EQ(group.epoch(old), epoch);
  EXPECT_TRUE(group.all_in_sync());
  group.expect_gap_below(result, 50);
}

TEST(Failover, AnOldManagerStartedAgainIsAStandby) {
  Loaded group;
  const size_t old = group.manager();
  group.load("4s");

  group.kill(old);
  const size_t next = group.manager();
  const int epoch = group.epoch(next);
  group.start_broker(old);
  const bool in_sync = group.all_in_sync();
  (void)group.expect_nothing_lost();

  EXPECT_TRUE(in_sync);
  EXPECT_EQ(group.role(old), "standby");
  EXPECT_EQ(group.manager(), next);
  EXPECT_EQ(group.epoch(next), epoch);
  EXPECT_TRUE(group.states_equal());
}

TEST(Failover, EveryBrokerThenEveryReplicaRestartedInTurn) {
  Loaded group;
  group.load("15s");

  for (size_t broker = 0; broker < group.size(); ++broker) {
    group.restart(broker);
    ASSERT_TRUE(group.all_in_sync()) << broker;
  }
  for (size_t replica = 0; replica < group.replicas(); ++replica) group.restart_replica(replica);
  const bool was_loaded = group.loaded();
  const Numbers result = group.expect_nothing_lost();

  EXPECT_TRUE(was_loaded) << "the load ended before the restarts did";
  group.expect_gap_below(result, 100);
  figure("everything restarted in turn, longest gap", result.at("gap_ms_max"), "ms");
}

TEST(Failover, WhatAStoppedClientHasSentIsDoneByTheNextManager) {
  Group group;
  group.start_all();
  for (int i = 0; i < 4; ++i) group.start_replica("a", {"--workers", "4", "--builtin", "sleep:const(100ms)"});
  const size_t old = group.manager();
  const auto bench = group.start_bench(
      {"--levels", "a", "--window", "200", "--requests", "200", "--deadline", "20s", "--require-all"});
  ASSERT_TRUE(eventually([&] { return group.metric(old, "redoubt_pending_requests") > 100; }));
  bench->signal(SIGSTOP);

  group.kill(old);
  const size_t next = group.manager();
  const double taken_over = group.metric(next, "redoubt_pending_requests");
  const bool done =
      eventually([&] { return group.metric(next, "redoubt_requests_total{outcome=\"ok\"}") >= taken_over; });
  const double left = group.metric(next, "redoubt_pending_requests");
  bench->signal(SIGCONT);
  const Numbers result = group.result_of(*bench);

  EXPECT_GT(taken_over, 50);
  EXPECT_TRUE(done);
  EXPECT_EQ(left, 0);
  expect_all_answered(result);
  EXPECT_EQ(result.at("ok"), 200);
}

}  // namespace
}  // namespace redoubt::test
