// The formulas; see redundancy.h. With n servers, mean service time v, k copies and L requests per second a
// server has the load rho = L k v / n, and a copy waits longer than t with probability rho e^(-a t), a = 1/v
// - L k / n.
#include "model/redundancy.h"

#include <algorithm>
#include <boost/math/quadrature/exp_sinh.hpp>
#include <cmath>

#include "core/check.h"
#include "model/waits.h"

namespace redoubt::model {
namespace {

struct Load {
  double rho = 0, a = 0;
};

Load load_of(const Question& question, const Level& level) {
  const double share = question.rate * level.copies / level.servers;
  return {share * level.service_time, 1 / level.service_time - share};
}

// A copy at this level computes without failure and error.
double good_service(const FailureRates& rates, const Level& level) {
  return std::exp(-(rates.waiting + rates.computing + rates.calculation) * level.service_time);
}
// Its server does not fail in the time it may wait.
double good_wait(const FailureRates& rates, double limit) {
  return std::exp(-(rates.waiting + rates.computing) * limit);
}

double binomial(uint32_t n, uint32_t k) {
  double product = 1;
  for (uint32_t i = 1; i <= k; ++i) product = product * (n - k + i) / i;
  return product;
}

// One copy's wait.
Wait single(const Load& load) { return {1 - load.rho, {{load.rho, load.a}}}; }

// The shortest wait among the good ones of k copies, each good with probability g: it is longer than t with
// (1 - g + g rho e^(-a t))^k, a sum over how many are good. Nobody is, (1 - g)^k, is what is missing.
Wait shortest(const Load& load, uint32_t copies, double good) {
  Wait wait;
  for (uint32_t j = 1; j <= copies; ++j) {
    const double so_many = binomial(copies, j) * std::pow(good, j) * std::pow(1 - good, copies - j);
    if (so_many == 0) continue;
    const double all_wait = std::pow(load.rho, j);
    wait.branches.push_back({so_many * all_wait, j * load.a});
    wait.zero += so_many * (1 - all_wait);
  }
  return wait;
}

Answer per_level(const Question& question, const std::vector<Load>& loads) {
  Answer answer;
  std::vector<Wait> waits;
  for (size_t i = 0; i < loads.size(); ++i) {
    const Level& level = question.levels[i];
    const double good = good_wait(question.failures, question.limit) * good_service(question.failures, level);
    waits.push_back(shortest(loads[i], level.copies, good));
    answer.mean_wait += std::pow(loads[i].rho, level.copies) / (level.copies * loads[i].a);
  }
  answer.probability = sum_within(waits, question.limit);
  return answer;
}

Answer by_paths(const Question& question, const std::vector<Load>& loads) {
  std::vector<Wait> waits;
  double good = good_wait(question.failures, question.limit);
  for (size_t i = 0; i < loads.size(); ++i) {
    waits.push_back(single(loads[i]));
    good *= good_service(question.failures, question.levels[i]);
  }
  const auto paths = static_cast<double>(question.levels.front().copies);
  Answer answer;
  answer.probability = 1 - std::pow(1 - good * sum_within(waits, question.limit), paths);
  if (loads.size() == 1) {
    answer.mean_wait = std::pow(loads[0].rho, paths) / (paths * loads[0].a);
  } else {
    // The mean of the shortest of so many sums: the integral of the probability that all are longer.
    double slowest = loads[0].a;
    for (const Load& load : loads) slowest = std::min(slowest, load.a);
    boost::math::quadrature::exp_sinh<double> integrator;
    const auto all_longer = [&](double x) {
      // In units of the slowest exponential; beyond so many of them nothing is left.
      return x > 700 ? 0.0 : std::pow(1 - sum_within(waits, x / slowest), paths);
    };
    answer.mean_wait = integrator.integrate(all_longer, 1e-10) / slowest;
  }
  return answer;
}

bool next_combination(std::vector<uint32_t>& copies, const std::vector<Level>& levels) {
  for (size_t i = 0; i < copies.size(); ++i) {
    if (copies[i] < levels[i].servers) return ++copies[i], true;
    copies[i] = 1;
  }
  return false;
}

// Tries these copies, and keeps them if they are better.
class Search {
 public:
  explicit Search(Question question) : question_(std::move(question)) {}

  bool look_at(const std::vector<uint32_t>& copies) {
    for (size_t i = 0; i < copies.size(); ++i) question_.levels[i].copies = copies[i];
    const std::optional<Answer> found = answer(question_);
    if (!found || (best_ && found->probability <= probability_)) return false;
    probability_ = found->probability;
    best_ = copies;
    return true;
  }
  const std::optional<std::vector<uint32_t>>& best() const { return best_; }

 private:
  Question question_;
  double probability_ = 0;
  std::optional<std::vector<uint32_t>> best_;
};

constexpr double kFewCombinations = 20000;

}  // namespace

std::optional<Answer> answer(const Question& question) {
  CHECK(!question.levels.empty() && question.rate > 0 && question.limit >= 0);
  std::vector<Load> loads;
  double service = 0;
  for (const Level& level : question.levels) {
    CHECK(level.copies >= 1 && level.copies <= level.servers && level.service_time > 0);
    CHECK(question.option == Option::kPerLevel || level.copies == question.levels.front().copies);
    loads.push_back(load_of(question, level));
    if (loads.back().rho >= 1) return std::nullopt;
    service += level.service_time;
  }
  Answer found =
      question.option == Option::kPerLevel ? per_level(question, loads) : by_paths(question, loads);
  found.residence = found.mean_wait + service;
  return found;
}

std::optional<std::vector<uint32_t>> best_copies(const Question& question) {
  const std::vector<Level>& levels = question.levels;
  uint32_t fewest_servers = levels.front().servers;
  double combinations = 1;
  for (const Level& level : levels) {
    fewest_servers = std::min(fewest_servers, level.servers);
    combinations *= level.servers;
  }
  Search search(question);
  std::vector<uint32_t> copies(levels.size(), 1);
  if (question.option == Option::kPerLevel && combinations <= kFewCombinations) {
    do search.look_at(copies);
    while (next_combination(copies, levels));
    return search.best();
  }
  for (uint32_t k = 1; k <= fewest_servers; ++k) search.look_at(std::vector<uint32_t>(levels.size(), k));
  if (question.option == Option::kPaths || !search.best()) return search.best();
  for (bool better = true; better;) {
    better = false;
    for (size_t i = 0; i < levels.size(); ++i) {
      for (uint32_t k = 1; k <= levels[i].servers; ++k) {
        copies = *search.best();
        copies[i] = k;
        better = search.look_at(copies) || better;
      }
    }
  }
  return search.best();
}

}  // namespace redoubt::model
