// The formulas against the values of the sources, and against each other where two ways lead to one value.
#include "model/redundancy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/availability.h"
#include "model/waits.h"

namespace redoubt::model {
namespace {

// The tables print six digits: half a unit of the last is what they leave open.
constexpr double kPrinted = 5.1e-7;

double one_level(double rate, uint32_t copies, FailureRates failures = {}) {
  return answer({.rate = rate,
                 .limit = 8e-4,
                 .levels = {{.servers = 5, .service_time = 4e-4, .copies = copies}},
                 .failures = failures})
      ->probability;
}

Question two_levels(double rate, uint32_t copies, Option option) {
  const Level level{.servers = 8, .service_time = 0.4, .copies = copies};
  return {.rate = rate, .limit = 0.2, .levels = {level, level}, .option = option, .failures = {}};
}

TEST(Redundancy, HasTheValuesOfOneCluster) {
  const std::vector<std::pair<double, std::vector<double>>> table{
      {1500, {.979355, .997245, .998997, .999171, .998576}},
      {2000, {.970180, .993254, .995117, .990582, .955653}},
      {2200, {.966132, .990723, .991331, .976992, .841050}},
      {3000, {.947509, .971216, .930436, .383248}}};
  for (const auto& [rate, probabilities] : table)
    for (uint32_t k = 1; k <= probabilities.size(); ++k)
      EXPECT_NEAR(one_level(rate, k), probabilities[k - 1], kPrinted) << rate << " " << k;
}

TEST(Redundancy, SaysWhatIsUnstable) {
  EXPECT_FALSE(answer({.rate = 3000,
                       .limit = 8e-4,
                       .levels = {{.servers = 5, .service_time = 4e-4, .copies = 5}},
                       .failures = {}}));
}

TEST(Redundancy, HasTheValuesWithFailures) {
  EXPECT_NEAR(one_level(1500, 1, {5, 5, 20}), .959962, kPrinted);
  EXPECT_NEAR(one_level(1500, 2, {5, 5, 20}), .994923, kPrinted);
  EXPECT_NEAR(one_level(2000, 3, {10, 0, 50}), .992493, kPrinted);
}

TEST(Redundancy, HasTheMeanWaitOfTheFirst) {
  const std::vector<std::pair<double, std::vector<double>>> table{{1500, {5.455e-5, 1.516e-5, 9.720e-6}},
                                                                  {2000, {7.619e-5, 3.012e-5, 2.836e-5}}};
  for (const auto& [rate, waits] : table)
    for (uint32_t k = 1; k <= waits.size(); ++k) {
      const auto found = answer({.rate = rate,
                                 .limit = 8e-4,
                                 .levels = {{.servers = 5, .service_time = 4e-4, .copies = k}},
                                 .failures = {}});
      EXPECT_NEAR(found->mean_wait / waits[k - 1], 1, 2e-4);
      EXPECT_DOUBLE_EQ(found->residence, found->mean_wait + 4e-4);
    }
}

TEST(Redundancy, HasTheValuesOfTwoLevels) {
  struct Row {
    double rate;
    uint32_t copies;
    double paths, per_level;
  };
  for (const Row& row : std::vector<Row>{{3.0, 1, .812327, .812327},
                                         {3.0, 2, .854390, .911821},
                                         {3.0, 3, .812752, .920768},
                                         {3.3, 2, .823332, .890552},
                                         {3.3, 3, .753742, .887944},
                                         {3.5, 2, .801062, .874841},
                                         {3.5, 3, .709498, .861023}}) {
    EXPECT_NEAR(answer(two_levels(row.rate, row.copies, Option::kPaths))->probability, row.paths, kPrinted);
    EXPECT_NEAR(answer(two_levels(row.rate, row.copies, Option::kPerLevel))->probability, row.per_level,
                kPrinted);
  }
}

TEST(Redundancy, PathsAndLevelsAreOneThingAtOneLevel) {
  const FailureRates failures{3, 4, 5};
  for (uint32_t k = 1; k <= 4; ++k) {
    const Question by_level{.rate = 5,
                            .limit = 0.1,
                            .levels = {{.servers = 8, .service_time = 0.2, .copies = k}},
                            .failures = failures};
    Question by_path = by_level;
    by_path.option = Option::kPaths;
    EXPECT_NEAR(answer(by_level)->probability, answer(by_path)->probability, 1e-12);
    EXPECT_NEAR(answer(by_level)->mean_wait, answer(by_path)->mean_wait, 1e-12);
  }
}

// With two unlike levels the mean of the shortest of k sums can be worked out by hand: 1 - F is a sum of two
// exponentials, and so is its square.
TEST(Redundancy, TheMeanWaitOfTheFirstPathIsItsIntegral) {
  Question question{.rate = 3,
                    .limit = 0.2,
                    .levels = {{.servers = 8, .service_time = 0.4, .copies = 2},
                               {.servers = 6, .service_time = 0.3, .copies = 2}},
                    .option = Option::kPaths,
                    .failures = {}};
  const double r = 3.0 * 2 * 0.4 / 8, a = 1 / 0.4 - 3.0 * 2 / 8;
  const double s = 3.0 * 2 * 0.3 / 6, b = 1 / 0.3 - 3.0 * 2 / 6;
  // P(sum > t) = A e^(-a t) + B e^(-b t).
  const double big_a = r * (1 - s) + r * s * b / (b - a), big_b = s * (1 - r) + r * s * a / (a - b);
  const double mean = big_a * big_a / (2 * a) + 2 * big_a * big_b / (a + b) + big_b * big_b / (2 * b);

  EXPECT_NEAR(answer(question)->mean_wait / mean, 1, 1e-8);
}

TEST(Redundancy, TheBestCopiesAreThoseOfTheTable) {
  for (const auto& [rate, best] : {std::pair{1500.0, 4u}, {2000.0, 3u}, {2200.0, 3u}, {3000.0, 2u}})
    EXPECT_EQ(
        *best_copies(
            {.rate = rate, .limit = 8e-4, .levels = {{.servers = 5, .service_time = 4e-4}}, .failures = {}}),
        std::vector<uint32_t>{best});
}

TEST(Redundancy, TheBestCopiesMayDifferByLevel) {
  const Question question{
      .rate = 3,
      .limit = 0.2,
      .levels = {{.servers = 8, .service_time = 0.4}, {.servers = 4, .service_time = 0.4}},
      .failures = {}};
  const std::vector<uint32_t> best = *best_copies(question);
  Question probe = question;
  double highest = 0;
  std::vector<uint32_t> by_hand;
  for (uint32_t i = 1; i <= 8; ++i)
    for (uint32_t j = 1; j <= 4; ++j) {
      probe.levels[0].copies = i;
      probe.levels[1].copies = j;
      const auto found = answer(probe);
      if (!found || found->probability <= highest) continue;
      highest = found->probability;
      by_hand = {i, j};
    }

  EXPECT_EQ(best, by_hand);
  EXPECT_NE(best[0], best[1]);
}

TEST(Redundancy, ManyLevelsClimbToTheSame) {
  // As many levels as are searched by climbing; all alike, so the best is the same at each.
  const Level level{.servers = 8, .service_time = 0.1, .copies = 1};
  Question question{.rate = 20, .limit = 0.4, .levels = std::vector<Level>(6, level), .failures = {}};
  const std::vector<uint32_t> best = *best_copies(question);

  for (size_t i = 0; i < 6; ++i) question.levels[i].copies = best[i];
  const double highest = answer(question)->probability;
  for (size_t i = 0; i < 6; ++i)
    for (uint32_t k = 1; k <= 8; ++k) {
      Question other = question;
      other.levels[i].copies = k;
      const auto found = answer(other);
      if (found) {
        EXPECT_LE(found->probability, highest);
      }
    }
}

TEST(Waits, EqualRatesAreAnErlangDistribution) {
  const double t = 1.7, rate = 3;
  const Wait wait{.zero = 0, .branches = {{1, rate}}};
  double poisson = std::exp(-rate * t), below = 0;
  for (int k = 0; k < 4; poisson *= rate * t / ++k) below += poisson;

  EXPECT_NEAR(sum_within({wait, wait, wait, wait}, t), 1 - below, 1e-14);
}

TEST(Waits, UnlikeRatesAreAHypoexponentialDistribution) {
  const double t = 0.4, a = 2, b = 1000;
  const Wait slow{.zero = 0, .branches = {{1, a}}}, fast{.zero = 0, .branches = {{1, b}}};

  EXPECT_NEAR(sum_within({slow, fast}, t), 1 - (b * std::exp(-a * t) - a * std::exp(-b * t)) / (b - a),
              1e-12);
}

TEST(Waits, WhatIsMissingNeverEnds) {
  const Wait wait{.zero = 0.25, .branches = {{0.5, 100}}};

  EXPECT_NEAR(sum_within({wait}, 0), 0.25, 1e-15);
  EXPECT_NEAR(sum_within({wait, wait}, 1000), 0.75 * 0.75, 1e-12);
}

TEST(AvailabilityModel, HasTheValuesOfTheSources) {
  const auto of = [](uint32_t n, double failure, double repair, uint32_t crews, uint32_t needed) {
    return availability({n, failure, repair, crews, needed});
  };
  EXPECT_NEAR(of(2, 1e-3, 1, 1, 1), .999998003996, 1e-12);
  EXPECT_NEAR(of(3, 1e-3, 1, 1, 1), .999999994018, 1e-12);
  EXPECT_NEAR(of(4, .01, .5, 2, 2), .999955212649, 1e-12);
}

TEST(AvailabilityModel, ManyServersThatAreMostlyDownAreNoOverflow) {
  EXPECT_NEAR(availability({1000, 1e6, 1e-6, 1, 1}), 0, 1e-9);
  EXPECT_NEAR(availability({1, 1, 1, 1, 1}), 0.5, 1e-15);
}

}  // namespace
}  // namespace redoubt::model
