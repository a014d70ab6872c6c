// Brokers that cannot hear each other while clients and replicas hear all of them: at most one serves, every
// request is answered once, and after the heal there is one manager and one state.
#include <gmock/gmock.h>

#include "../poll.h"
#include "group.h"
#include "stalls.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;

constexpr double kDeadAfterMs = 500;  // the brokers' default
const Texts kWork{"--workers", "4", "--builtin", "sleep:exp(2ms)"};
const Texts kLoad{"--levels", "a", "--rate", "1000", "--deadline", "3s", "--duration", "5s", "--require-all"};

struct Chaotic : Group {
  Chaotic() : Group({.chaos = true}) {
    start_all();
    for (int i = 0; i < 4; ++i) start_replica("a", kWork);
  }
};

// After the heal: one manager, the others in sync with it, and the same state everywhere.
void expect_one_group(Chaotic& group) {
  EXPECT_TRUE(eventually([&] {
    int managers = 0, standbys = 0;
    for (size_t broker = 0; broker < group.size(); ++broker) {
      managers += group.role(broker) == "manager" ? 1 : 0;
      standbys += group.role(broker) == "standby" ? 1 : 0;
    }
    return managers == 1 && standbys == 2;
  }));
  EXPECT_TRUE(group.all_in_sync());
  EXPECT_TRUE(group.states_equal());
}

TEST(Partition, ACutOffManagerStopsServingAndTheOthersGoOn) {
  Chaotic group;
  const Stalls stalls;
  const size_t old = group.manager();
  const auto bench = group.start_bench(kLoad);
  expect_served(group.admin(group.manager()), 500);

  group.isolate(old, "drop");
  const bool others_rule = eventually([&] { return group.manager() != old; });
  const bool suspended = eventually([&] { return group.role(old) != "manager"; });
  let_pass(1s);
  group.isolate(old, "pass");
  const Numbers result = group.result_of(*bench);

  EXPECT_TRUE(others_rule);
  EXPECT_TRUE(suspended) << group.role(old);
  expect_all_answered(result);
  expect_one_group(group);
  EXPECT_LT(result.at("gap_ms_max"), kDeadAfterMs + 200 + 2e3 * stalls.longest());
  figure("manager cut off from its standbys, longest gap", result.at("gap_ms_max"), "ms");
}

TEST(Partition, ACutOffStandbyChangesNothing) {
  Chaotic group;
  const size_t rules = group.manager(), cut_off = group.standbys().at(0);
  const int epoch = group.epoch(rules);
  const auto bench = group.start_bench(kLoad);
  expect_served(group.admin(group.manager()), 500);

  group.isolate(cut_off, "drop");
  let_pass(2s);
  group.isolate(cut_off, "pass");
  const Numbers result = group.result_of(*bench);

  expect_all_answered(result);
  expect_one_group(group);
  EXPECT_EQ(group.manager(), rules);
  EXPECT_EQ(group.epoch(rules), epoch) << "who could hear nobody must not have unseated the manager";
}

// The manager is heard by nobody, or hears nobody.
void expect_one_way_loss_survived(bool manager_is_deaf) {
  Chaotic group;
  const size_t old = group.manager();
  const std::vector<size_t> others = group.standbys();
  const auto bench = group.start_bench(kLoad);
  const auto treat = [&](const char* what) {
    for (const size_t other : others)
      manager_is_deaf ? group.one_way(other, old, what) : group.one_way(old, other, what);
  };
  expect_served(group.admin(old), 500);

  treat("drop");
  const bool others_rule = eventually([&] { return group.manager() != old; });
  let_pass(1s);
  treat("pass");
  const Numbers result = group.result_of(*bench);

  EXPECT_TRUE(others_rule);
  expect_all_answered(result);
  expect_one_group(group);
}

TEST(Partition, AManagerThatNobodyHearsIsReplaced) { expect_one_way_loss_survived(false); }
TEST(Partition, AManagerThatHearsNobodyIsReplaced) { expect_one_way_loss_survived(true); }

TEST(Partition, ASlowCheckpointLinkPutsItsStandbyOutOfSyncAndNothingIsLost) {
  Chaotic group;
  const size_t old = group.manager(), slow = group.standbys().at(0), good = group.standbys().at(1);
  const auto bench = group.start_bench({"--levels", "a", "--rate", "1000", "--payload", "1KiB", "--deadline",
                                        "3s", "--duration", "8s", "--require-all"});
  expect_served(group.admin(old), 500);

  group.one_way(old, slow, "rate 1000");
  const bool said = eventually([&] {
    for (const BrokerView& view : group.brokers_seen_by(old))
      if (view.name == group.address(slow)) return !view.in_sync;
    return false;
  });
  group.kill(old);
  const size_t next = group.manager();
  group.between(old, slow, "pass");
  group.start_broker(old);
  const Numbers result = group.result_of(*bench);

  EXPECT_TRUE(said) << "that the slow one is out of sync";
  EXPECT_EQ(next, good) << "who is out of sync does not rule while one in sync lives";
  expect_all_answered(result);
  expect_one_group(group);
}

TEST(Partition, AManagerThatItsClientsCannotReachStillRules) {
  Chaotic group;
  const size_t rules = group.manager();
  const int epoch = group.epoch(rules);
  const auto bench = group.start_bench(kLoad);
  expect_served(group.admin(group.manager()), 500);

  group.chaos().treat(group.clients_route(rules), "both", "stall");
  let_pass(500ms);
  group.chaos().treat(group.clients_route(rules), "both", "pass");
  let_pass(500ms);
  group.chaos().command("cut " + std::to_string(group.clients_route(rules)));
  const Numbers result = group.result_of(*bench);

  expect_all_answered(result);
  EXPECT_EQ(group.epoch(group.manager()), epoch);
}

}  // namespace
}  // namespace redoubt::test
