// The time that a request spends in queues on its way through several levels, as a distribution: the sum of
// what it waits at each. A level's wait is zero with some probability, and else one of some exponentials;
// what is missing to a probability of one never ends. Pure functions; nothing here knows requests or servers.
#pragma once

#include <vector>

namespace redoubt::model {

// A branch of a level's wait: exponential with this rate (1/s, above 0), with this probability.
struct Branch {
  double probability = 0;
  double rate = 0;
};

struct Wait {
  double zero = 0;  // probability of not waiting at all
  std::vector<Branch> branches;
};

// P(the sum of these independent waits <= t), t in seconds, from 0. The convolution is exact but for
// rounding, also where rates are equal or nearly so: no terms of different sign are added. Cost grows with t
// times the largest rate.
double sum_within(const std::vector<Wait>& waits, double t);

}  // namespace redoubt::model
