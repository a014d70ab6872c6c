// What copies are worth, at the points of published tables: the simulated cores beside the formulas and
// beside what an independent simulation found. Each point says what it is held to; a line of figures is
// printed for each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "lab/experiment/experiment.h"
#include "model/redundancy.h"

namespace redoubt::experiment {
namespace {

using namespace std::chrono_literals;
using wire::Disposal;
using wire::Redundancy;

using Point = experiment::Setup;  // a test has a Setup of its own

constexpr double kErrors = 3;             // standard errors that a figure may be off
constexpr double kPublishedError = .001;  // standard error of the published figures

// One row of a published table.
struct Row {
  double rate;  // requests a second
  uint32_t copies;
  Redundancy redundancy;
  Disposal disposal;
  // Share of requests that were timely by their first wait, and by the winner's; copies executed a request.
  std::optional<double> first;
  double winner = 0;
  std::optional<double> executed{};
};

// Five servers of 400 us, and 800 us to wait: rates are in thousands. Or two levels of eight of 400 ms, and
// 200 ms.
bool is_one_level(double rate) { return rate > 1000; }

// Nothing binds but what the table is about: any queue may grow, and handlers run to their end.
Point point_of(const Row& row) {
  Point setup;
  if (is_one_level(row.rate)) {
    setup.levels = {
        {.replicas = 5, .service = Distribution(Distribution::Exponential{400us}), .copies = row.copies}};
    setup.wait_limit = 800us;
  } else {
    const LevelSetup level{
        .replicas = 8, .service = Distribution(Distribution::Exponential{400ms}), .copies = row.copies};
    setup.levels = {level, level};
    setup.wait_limit = 200ms;
  }
  setup.stubborn = true;
  setup.rate = row.rate;
  setup.requests = 300'000;
  setup.warm_up = 3000;
  setup.policy = {.redundancy = row.redundancy, .disposal = row.disposal};
  if (row.disposal == Disposal::kTwoPhase) setup.policy.first_phase = 500;
  setup.broker.pick = broker::Pick::kRandom;
  setup.broker.replica_threshold = broker::kMaxThreshold;
  return setup;
}

double formula(const Row& row) {
  model::Question question{.rate = row.rate, .limit = 0.2, .levels = {}, .failures = {}};
  if (is_one_level(row.rate)) {
    question.limit = 8e-4;
    question.levels = {{.servers = 5, .service_time = 4e-4, .copies = row.copies}};
  } else {
    const model::Level level{.servers = 8, .service_time = 0.4, .copies = row.copies};
    question.levels = {level, level};
  }
  if (row.redundancy == Redundancy::kPaths) question.option = model::Option::kPaths;
  return model::answer(question)->probability;
}

std::string name_of(const Row& row) {
  const auto word = [](Redundancy redundancy) {
    return redundancy == Redundancy::kPaths    ? "Paths"
           : redundancy == Redundancy::kSingle ? "Single"
                                               : "PerLevel";
  };
  const auto fate = [](Disposal disposal) {
    switch (disposal) {
      case Disposal::kNone:
        return "None";
      case Disposal::kExpire:
        return "Expire";
      case Disposal::kTwoPhase:
        return "TwoPhase";
      default:
        return "OnCompletion";
    }
  };
  return "Rate" + std::to_string(std::lround(row.rate)) + word(row.redundancy) + std::to_string(row.copies) +
         fate(row.disposal);
}

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << name_of(row); }

// Three errors of ours and theirs together, and what rounding took from theirs.
double bound(const Estimate& ours, double theirs, double rounding) {
  return kErrors * std::hypot(ours.error, theirs) + rounding;
}

void print(const char* what, const Estimate& ours, std::optional<double> theirs) {
  std::printf("%s %.4f +- %.4f", what, ours.mean, ours.error);
  if (theirs) std::printf(" (%.4f)", *theirs);
}

class Papers : public testing::TestWithParam<Row> {};

TEST_P(Papers, AnIndependentSimulationFoundTheSame) {
  const Row& row = GetParam();
  constexpr double kFourPlaces = .00005, kTwoPlaces = .005;

  const Findings findings = run(point_of(row));
  const Estimate winner = findings.per_request(&Batch::timely);
  const Estimate first = findings.per_request(&Batch::first_timely);
  const Estimate executed = findings.per_request(&Batch::copies_started);

  print("winner's wait", winner, row.winner);
  print(", first wait", first, row.first);
  print(", executed", executed, row.executed);
  if (row.disposal == Disposal::kNone) std::printf(", formula %.4f", formula(row));
  std::printf("\n");
  EXPECT_NEAR(winner.mean, row.winner, bound(winner, kPublishedError, kFourPlaces));
  if (row.first) {
    EXPECT_NEAR(first.mean, *row.first, bound(first, kPublishedError, kFourPlaces));
  }
  if (row.executed) {
    EXPECT_NEAR(executed.mean, *row.executed, bound(executed, kPublishedError, kTwoPlaces));
  }
  EXPECT_LT(std::max(winner.error, first.error), .004);  // or the above would say nothing
  EXPECT_EQ(findings.refused + findings.failed, 0u);
}

constexpr auto kOne = Redundancy::kSingle, kLevels = Redundancy::kPerLevel, kPaths = Redundancy::kPaths;
constexpr auto kNone = Disposal::kNone, kExpire = Disposal::kExpire, kTwoPhase = Disposal::kTwoPhase,
               kCompletion = Disposal::kOnCompletion;

const Row kRows[] = {
    // One level where nothing is destroyed, then two.
    {2000, 1, kOne, kNone, .9703, .9703, 1},
    {2000, 2, kLevels, kNone, .9906, .9845, 2},
    {2000, 3, kLevels, kNone, .9870, .9795, 3},
    {3, 1, kOne, kNone, .8152, .8152, 2},
    {3, 2, kLevels, kNone, .9011, .8231, 4},
    {3, 3, kLevels, kNone, .8896, .7902, 6},
    {3, 2, kPaths, kNone, .8478, .7663},
    {3, 3, kPaths, kNone, .7923, .6833},
    {5, 2, kLevels, kNone, {}, .6255, 4},
    {5, 3, kLevels, kNone, {}, .4119, 6},
    {8, 1, kOne, kNone, .4965, .4965, 2},
    {8, 2, kLevels, kNone, .2279, .2054, 4},
    // Copies that have waited too long go.
    {3, 1, kOne, kExpire, {}, .8449},
    {3, 2, kPaths, kExpire, {}, .9188},
    {3, 2, kLevels, kExpire, {}, .9421, 3.33},
    {5, 1, kOne, kExpire, {}, .7636},
    {5, 2, kPaths, kExpire, {}, .8417},
    {5, 2, kLevels, kExpire, {}, .8786, 2.95},
    {5, 3, kLevels, kExpire, {}, .9047, 3.95},
    {8, 1, kOne, kExpire, {}, .6641},
    {8, 2, kPaths, kExpire, {}, .7314},
    {8, 2, kLevels, kExpire, {}, .7782, 2.50},
    // Those whose sibling was served go earlier: halfway, or at once.
    {3, 2, kLevels, kTwoPhase, {}, .9432, 3.31},
    {5, 2, kLevels, kTwoPhase, {}, .8807, 2.93},
    {5, 3, kLevels, kTwoPhase, {}, .9088, 3.91},
    {8, 2, kLevels, kTwoPhase, {}, .7821, 2.49},
    {3, 2, kLevels, kCompletion, {}, .9437, 3.29},
    {5, 2, kLevels, kCompletion, {}, .8826, 2.91},
    {5, 3, kLevels, kCompletion, {}, .9129, 3.85},
    {8, 2, kLevels, kCompletion, {}, .7857, 2.47},
};

INSTANTIATE_TEST_SUITE_P(Tables, Papers, testing::ValuesIn(kRows),
                         [](const auto& row) { return name_of(row.param); });

TEST(PapersFormula, IsExactForOneCopyAtOneLevel) {
  const Row row{.rate = 2000, .copies = 1, .redundancy = kOne, .disposal = kNone, .first = {}};

  const Estimate timely = run(point_of(row)).per_request(&Batch::timely);

  EXPECT_NEAR(timely.mean, formula(row), bound(timely, 0, 0));
  EXPECT_LT(timely.error, .001);
}

// Of 20,000 requests, to three places.
TEST(PapersLeastLoaded, OneWellPlacedCopyIsWorthMoreThanTwo) {
  struct LeastLoaded {
    double rate, timely;
  };
  for (const LeastLoaded& published : {LeastLoaded{3, 1.000}, {5, .999}, {8, .986}}) {
    Point setup =
        point_of({.rate = published.rate, .copies = 1, .redundancy = kOne, .disposal = kNone, .first = {}});
    setup.broker.pick = broker::Pick::kLeastLoaded;
    const double error = std::sqrt(published.timely * (1 - published.timely) / 20'000);

    const Estimate timely = run(setup).per_request(&Batch::timely);

    std::printf("rate %g: %.4f +- %.4f (%.3f)\n", published.rate, timely.mean, timely.error,
                published.timely);
    EXPECT_NEAR(timely.mean, published.timely, bound(timely, error, .0005));
  }
}

}  // namespace
}  // namespace redoubt::experiment
