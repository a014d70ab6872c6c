// Grid: the points at which the policy that chooses by itself (auto) is held against fixed ones: loads,
// services, states of the replicas, limits, numbers of levels and of replicas. Which points and which
// policies is data; how they are compared is grid.cc's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/experiment/findings.h"
#include "lab/experiment/setup.h"

namespace redoubt::experiment {

struct Point {
  std::string service, state, limit;  // words for the table
  uint32_t levels = 1, replicas = 3;
  double load = 0;  // share of the capacity of healthy replicas that one copy of each request takes
  Setup setup;      // all but the policy
};
// About 300 of all combinations, every value as often as any other.
std::vector<Point> grid_points();

struct FixedPolicy {
  std::string name;
  std::function<void(Setup&)> apply;
};
std::vector<FixedPolicy> fixed_policies();
void apply_auto(Setup& setup);

struct Comparison {
  size_t best = 0;            // among the fixed ones, by the first seed
  Estimate automatic, fixed;  // shares of timely requests, by the fresh seed
  Estimate difference;        // automatic - fixed, by batch means under common random numbers
  uint64_t requests = 0;
};

struct Effort {
  uint64_t seed = 1, fresh_seed = 2;
  uint64_t first_requests = 20000;   // of every policy, to choose the best fixed one
  uint64_t requests = 200000;        // of the two that are compared, to begin with,
  uint64_t most_requests = 1600000;  // and at most, until the interval is narrow enough
  double half_width = 0.0025;        // of the 95 % interval of the difference
};
Comparison compare(const Point& point, const Effort& effort);

}  // namespace redoubt::experiment
