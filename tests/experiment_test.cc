// The fast simulation of the cores, against what is known: the formulas, sums that must add up, and itself.
// Statistics are held to four standard errors.
#include "lab/experiment/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/duration_text.h"
#include "lab/experiment/draws.h"
#include "lab/experiment/flags.h"
#include "lab/experiment/timers.h"
#include "model/redundancy.h"

namespace redoubt::experiment {
namespace {

using namespace std::chrono_literals;

using Point = experiment::Setup;  // a test has a Setup of its own

// One level of five replicas, picked at random, where nothing is destroyed: queues as the formulas have them.
Point queues(double rate, uint32_t copies) {
  Point setup;
  setup.levels = {
      {.replicas = 5, .service = Distribution(Distribution::Exponential{400us}), .copies = copies}};
  setup.rate = rate;
  setup.requests = 5000;
  setup.warm_up = 200;
  setup.wait_limit = 800us;
  setup.policy.disposal = wire::Disposal::kNone;
  setup.broker.pick = broker::Pick::kRandom;
  setup.broker.replica_threshold = broker::kMaxThreshold;
  return setup;
}

// Two levels of four, one copy to the least loaded, with a deadline; one replica of each level is odd.
Point with_odd(Oddity odd) {
  Point setup;
  const LevelSetup level{
      .replicas = 4, .service = Distribution(Distribution::Exponential{1ms}), .copies = 1, .odd = {odd}};
  setup.levels = {level, level};
  setup.rate = 2000;
  setup.requests = 2000;
  setup.warm_up = 100;
  setup.deadline = 20ms;
  return setup;
}

uint64_t outcomes(const Findings& findings) {
  return findings.ok + findings.late + findings.expired + findings.refused + findings.failed;
}

double timely(const Findings& findings) { return findings.per_request(&Batch::timely).mean; }

TEST(Experiment, TheSameSeedGivesTheSame) {
  Point setup = with_odd({.slow = 2, .fails = 0.2, .up = 300ms, .away = 50ms});
  setup.levels[0].copies = 2;
  const std::string once = to_json(run(setup), true), again = to_json(run(setup), true);
  setup.seed = 2;
  const std::string other = to_json(run(setup), true);

  EXPECT_EQ(once, again);
  EXPECT_NE(once, other);
}

// Links with steady traffic, with signs of life that it makes needless and without any: nobody is charged for
// the drift of clocks that nobody has measured.
TEST(Experiment, HalfAnHourWithoutAQuietMomentChangesNothing) {
  for (const Duration heartbeat : {Duration(50ms), kAges}) {
    Point setup;
    setup.levels = {{.replicas = 1, .service = Distribution(Distribution::Const{1ms})}};
    setup.arrivals = {tool::ArrivalShape::Kind::kConstant};
    setup.rate = 25;
    setup.requests = 45'000;
    setup.warm_up = 0;
    setup.deadline = 20ms;
    setup.delay = 200us;
    setup.broker.heartbeat = heartbeat;
    setup.broker.dead_after = heartbeat < kAges ? 10 * heartbeat : 2 * kAges;

    const Findings findings = run(setup);

    EXPECT_EQ(findings.ok, 45'000U) << format_duration(heartbeat);
    EXPECT_LT(findings.per_answer(&Batch::wait).mean, 1e-4);
  }
}

TEST(Experiment, OneCopyWaitsAsInTheFormula) {
  const Findings findings = run(queues(8000, 1));

  const auto expected = model::answer(
      {.rate = 8000, .limit = 800e-6, .levels = {{.servers = 5, .service_time = 400e-6}}, .failures = {}});
  const Estimate share = findings.per_request(&Batch::timely), wait = findings.per_answer(&Batch::first_wait);
  EXPECT_NEAR(share.mean, expected->probability, 4 * share.error);
  EXPECT_NEAR(wait.mean, expected->mean_wait, 4 * wait.error);
  EXPECT_LT(share.error, 0.03);
  EXPECT_NEAR(findings.utilisation, 0.64, 0.05);
}

TEST(Experiment, TheFirstWaitIsTheWinnersWhereThereIsOneCopyAndShorterElse) {
  const Findings one = run(queues(2000, 1)), two = run(queues(2000, 2));

  EXPECT_EQ(one.series(&Batch::timely), one.series(&Batch::first_timely));
  EXPECT_GT(two.per_request(&Batch::first_timely).mean, timely(two));
  EXPECT_GT(two.per_answer(&Batch::wait).mean, two.per_answer(&Batch::first_wait).mean);
}

TEST(Experiment, EveryCopyRunsWhereNothingIsDestroyed) {
  const Findings findings = run(queues(1000, 2));

  EXPECT_EQ(findings.per_request(&Batch::copies_sent).mean, 2);
  EXPECT_NEAR(findings.per_request(&Batch::copies_started).mean, 2, 0.001);  // the last may not have started
}

TEST(Experiment, EveryRequestHasOneOutcome) {
  Point overloaded = queues(20000, 1);
  overloaded.requests = 3000;
  overloaded.policy.disposal = wire::Disposal::kExpire;
  overloaded.broker.replica_threshold = 3;
  overloaded.broker.queue_limit = 5;
  const Findings findings = run(overloaded);

  EXPECT_EQ(findings.sent, overloaded.requests);
  EXPECT_EQ(outcomes(findings), findings.sent);
  EXPECT_GT(findings.ok, 0u);
  EXPECT_GT(findings.expired, 0u);
  EXPECT_GT(findings.refused, 0u);
  EXPECT_GT(findings.utilisation, 0.9);
}

TEST(Experiment, AnOddReplicaCosts) {
  const Findings healthy = run(with_odd({})), slow = run(with_odd({.slow = 20}));
  const Findings failing = run(with_odd({.fails = 0.5}));
  const Findings vanishing = run(with_odd({.up = 100ms, .away = 100ms}));

  EXPECT_LT(timely(slow), timely(healthy));
  // What fails or is lost is tried again elsewhere: it costs executions, not requests.
  for (const Findings* findings : {&failing, &vanishing}) {
    EXPECT_GT(timely(*findings), 0.95);
    EXPECT_GT(findings->per_request(&Batch::copies_started).mean, 2.0);
    EXPECT_EQ(outcomes(*findings), findings->sent);
  }
  EXPECT_EQ(healthy.failed + healthy.refused + failing.refused + vanishing.refused, 0u);
}

TEST(Experiment, ALonelyReplicaThatAlwaysFailsFailsEverything) {
  Point setup = with_odd({.fails = 1});
  setup.levels[0].replicas = 1;
  setup.requests = 200;
  setup.rate = 100;
  const Findings findings = run(setup);

  EXPECT_EQ(findings.failed, findings.sent);
}

TEST(Experiment, HandlersThatHeedAStopDoLess) {
  Point heeding = queues(3000, 2);
  heeding.requests = 2000;
  heeding.policy.disposal = wire::Disposal::kOnCompletion;
  Point stubborn = heeding, starting = heeding;
  stubborn.stubborn = true;
  starting.policy.disposal = wire::Disposal::kOnStart;
  const Findings a = run(heeding), b = run(stubborn), c = run(starting);

  EXPECT_LT(a.utilisation, b.utilisation);
  EXPECT_LT(c.per_request(&Batch::copies_started).mean, a.per_request(&Batch::copies_started).mean);
  EXPECT_EQ(outcomes(c), c.sent);
}

TEST(Experiment, AWayTakesItsTime) {
  Point setup = queues(100, 1);
  setup.requests = 1000;
  setup.levels[0].service = Distribution(Distribution::Const{400us});
  setup.wait_limit = {};
  const Findings near = run(setup);
  setup.delay = 1ms;
  const Findings far = run(setup);

  EXPECT_EQ(far.ok, far.sent);
  EXPECT_NEAR(far.per_answer(&Batch::latency).mean, near.per_answer(&Batch::latency).mean + 4e-3, 1e-6);
  EXPECT_NEAR(far.per_answer(&Batch::first_wait).mean, near.per_answer(&Batch::first_wait).mean, 1e-6);
}

TEST(Experiment, TheDifferenceUnderOneSeedIsSharperThanEither) {
  const Findings random = run(queues(8000, 1));
  Point other = queues(8000, 1);
  other.levels[0].service = Distribution(Distribution::Exponential{404us});
  const Findings slower = run(other);

  const Estimate apart = random.per_request(&Batch::timely);
  const Estimate together = difference(random.series(&Batch::timely), slower.series(&Batch::timely));
  EXPECT_GT(together.mean, 0);
  EXPECT_LT(together.error, apart.error);
}

TEST(BatchMeans, HaveTheErrorOfTheTextbook) {
  EXPECT_EQ(estimate({}).mean, 0);
  EXPECT_EQ(estimate({3}).error, 0);
  EXPECT_DOUBLE_EQ(estimate({1, 2, 3, 6}).mean, 3);
  EXPECT_DOUBLE_EQ(estimate({1, 2, 3, 6}).error, std::sqrt(14.0 / 3 / 4));
  EXPECT_DOUBLE_EQ(difference({2, 4, 9}, {1, 3, 8}).mean, 1);
  EXPECT_DOUBLE_EQ(difference({2, 4, 9}, {1, 3, 8}).error, 0);
}

TEST(Draws, DependOnWhichCopyItIsAlone) {
  const Distribution service{Distribution::Exponential{1s}};
  const Draws draws(7);

  EXPECT_EQ(draws.service_time({5, 1, 2}, service), Draws(7).service_time({5, 1, 2}, service));
  for (const Execution& other : {Execution{6, 1, 2}, Execution{5, 0, 2}, Execution{5, 1, 1}})
    EXPECT_NE(draws.service_time({5, 1, 2}, service), draws.service_time(other, service));
  EXPECT_NE(draws.service_time({5, 1, 2}, service), Draws(8).service_time({5, 1, 2}, service));
  double sum = 0;
  for (uint64_t seq = 1; seq <= 20000; ++seq) sum += to_seconds(draws.service_time({seq, 0, 0}, service));
  EXPECT_NEAR(sum / 20000, 1, 4 / std::sqrt(20000));
}

TEST(Timers, OfTheSameMomentTheOneThatWasSetFirstIsFirst) {
  const Time start{};
  Timers timers(4);
  timers.set(3, start + 1s);
  timers.set(0, start + 1s);
  timers.set(1, start + 2s);
  timers.set(2, start + 1ms);
  timers.set(2, kNever);
  timers.set(3, start + 1s);

  EXPECT_EQ(timers.next(), start + 1s);
  EXPECT_EQ(timers.take(), 3u);
  EXPECT_EQ(timers.take(), 0u);
  EXPECT_EQ(timers.take(), 1u);
  EXPECT_EQ(timers.next(), kNever);
}

redoubt::Result<Setup> parsed(std::vector<const char*> arguments) {
  Options options("redoubt-experiment", "");
  Flags flags;
  declare(options, flags);
  arguments.insert(arguments.begin(), "redoubt-experiment");
  const auto none = [](const char*) -> const char* { return nullptr; };
  const Parsed outcome = options.parse(static_cast<int>(arguments.size()), arguments.data(), none);
  if (!outcome.run) return Error{outcome.text};
  return complete(flags);
}

TEST(ExperimentFlags, TheLoadIsAShareOfTheWeakestLevel) {
  const auto setup = parsed({"--levels", "2", "--replicas", "8,4", "--workers", "2", "--service", "exp(1ms)",
                             "--load", "0.5", "--copies", "2", "--vanish", "10s,1s", "--pick", "p2c"});

  ASSERT_TRUE(setup) << setup.error();
  EXPECT_DOUBLE_EQ(setup->rate, 0.5 * 4 * 2 / 1e-3);
  EXPECT_EQ(setup->levels[1].copies, 2u);
  EXPECT_EQ(setup->levels[1].odd[0].away, 1s);
  EXPECT_EQ(setup->broker.pick, broker::Pick::kTwoChoices);
}

// Copies that a few requests led to, by flags.
double copies_sent(std::vector<const char*> arguments) {
  arguments.insert(arguments.end(), {"--load", "0.3", "--requests", "500", "--deadline", "10ms"});
  const auto setup = parsed(arguments);
  EXPECT_TRUE(setup) << setup.error();
  return setup ? run(*setup).per_request(&Batch::copies_sent).mean : 0;
}

TEST(ExperimentFlags, WhatIsLeftOpenIsThePolicys) {
  EXPECT_EQ(copies_sent({}), 1);
  EXPECT_EQ(copies_sent({"--policy", "level1(copies=3)"}), copies_sent({"--copies", "3"}));
  EXPECT_EQ(copies_sent({"--policy", "*(redundancy=auto)"}), copies_sent({"--redundancy", "auto"}));
  EXPECT_EQ(copies_sent({"--policy", "*(copies=3)", "--copies", "1"}), 1);
}

TEST(ExperimentFlags, SayWhatIsWrong) {
  EXPECT_THAT(parsed({}).error(), testing::HasSubstr("--rate"));
  EXPECT_THAT(parsed({"--rate", "1", "--load", "1"}).error(), testing::HasSubstr("--load"));
  EXPECT_THAT(parsed({"--rate", "1", "--copies", "1,2"}).error(), testing::HasSubstr("--copies"));
  EXPECT_THAT(parsed({"--rate", "1", "--vanish", "1s"}).error(), testing::HasSubstr("--vanish"));
  EXPECT_THAT(parsed({"--rate", "1", "--service", "0"}).error(), testing::HasSubstr("--service"));
  EXPECT_THAT(parsed({"--rate", "1", "--arrivals", "often"}).error(), testing::HasSubstr("--arrivals"));
  EXPECT_THAT(parsed({"--rate", "1", "--policy", "level2(copies=2)"}).error(),
              testing::HasSubstr("'level2'"));
}

}  // namespace
}  // namespace redoubt::experiment
