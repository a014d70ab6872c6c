// Means of batches, and how far off they may be. Batches stand for independent observations, which they are
// nearly once they are much longer than the memory of the queues. Pure functions.
#pragma once

#include <vector>

namespace redoubt::experiment {

struct Estimate {
  double mean = 0;
  double error = 0;  // standard error of the mean; 0 of a single observation, which tells nothing about it
};

// Nothing observed is a mean of 0.
Estimate estimate(const std::vector<double>& observations);

// Of a - b, observed in pairs: two runs under one seed have what chance did to both in common, and the error
// of their difference is far below that of either. Equally many of each.
Estimate difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace redoubt::experiment
