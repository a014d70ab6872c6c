// The flags of redoubt-experiment, and the setup that they come to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/experiment/setup.h"
#include "options/options.h"

namespace redoubt::experiment {

struct Flags {
  uint32_t levels = 1;
  std::vector<uint32_t> replicas{5}, copies;
  std::vector<Distribution> services{Distribution(Distribution::Exponential{std::chrono::milliseconds(1)})};
  std::optional<double> rate, load;
  std::string arrivals = "poisson";
  std::optional<std::string> redundancy, disposal;  // else the policy of the service
  double service_class = 0.5;
  uint32_t spares = 0;
  std::vector<std::string> policies;
  double slow = 1, fail = 0;
  std::vector<Duration> vanish;
  std::optional<uint32_t> replica_threshold;
  std::optional<Duration> heartbeat;
  bool batches = false;
  Setup setup;  // what needs no working out
};

void declare(Options& options, Flags& flags);

// An error names the flag and the cure.
Result<Setup> complete(const Flags& flags);

}  // namespace redoubt::experiment
