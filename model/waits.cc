// The convolution, as the time to absorption of a Markov chain: the branches of all levels are its states,
// and leaving one leads to a branch of the next level, or past it. Uniformization (A. Jensen, 1953) makes of
// it a discrete chain that steps as often as a Poisson process has events, so that only positive numbers are
// added.
#include "model/waits.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "core/check.h"

namespace redoubt::model {
namespace {

// Where the chain is after some steps: in a branch of a level, or past the last.
struct Place {
  std::vector<std::vector<double>> in;  // by level and branch
  double past = 0;
};

// So much probability comes to level `level`: it passes it at once, waits there, or never ends.
void arrive(const std::vector<Wait>& waits, size_t level, double probability, Place& place) {
  for (; level < waits.size() && probability > 0; ++level) {
    for (size_t i = 0; i < waits[level].branches.size(); ++i)
      place.in[level][i] += probability * waits[level].branches[i].probability;
    probability *= waits[level].zero;
  }
  if (level == waits.size()) place.past += probability;
}

}  // namespace

double sum_within(const std::vector<Wait>& waits, double t) {
  CHECK(t >= 0);
  double fastest = 0;
  Place place;
  for (const Wait& wait : waits) {
    place.in.emplace_back(wait.branches.size(), 0.0);
    for (const Branch& branch : wait.branches) fastest = std::max(fastest, branch.rate);
  }
  arrive(waits, 0, 1, place);
  const double mean_steps = fastest * t;
  if (mean_steps == 0) return place.past;

  // Each term: P(so many steps) * P(past the last level by then). What is past stays past, so it is simpler
  // to add, for every step, what arrives in it times P(at least so many steps).
  double sum = place.past;
  double waiting = 1;  // at the most, what is still to come
  const auto last = static_cast<int>(mean_steps + 12 * std::sqrt(mean_steps) + 40);
  for (int step = 1; step <= last && waiting > 0; ++step) {
    Place next;
    for (const auto& level : place.in) next.in.emplace_back(level.size(), 0.0);
    waiting = 0;
    for (size_t level = 0; level < waits.size(); ++level) {
      for (size_t i = 0; i < place.in[level].size(); ++i) {
        const double leaves = place.in[level][i] * (waits[level].branches[i].rate / fastest);
        next.in[level][i] += place.in[level][i] - leaves;
        arrive(waits, level + 1, leaves, next);
        waiting += place.in[level][i];
      }
    }
    sum += next.past * boost::math::gamma_p(static_cast<double>(step), mean_steps);
    place = std::move(next);
    place.past = 0;
    if (waiting < 1e-18) break;
  }
  return std::min(sum, 1.0);
}

}  // namespace redoubt::model
