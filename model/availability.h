// How often enough servers are up: servers fail independently of each other, and some crews repair one each
// at a time. A birth-death chain over the number of failed servers. A pure function.
#pragma once

#include <cstdint>

namespace redoubt::model {

struct Servers {
  uint32_t count = 1;
  double failure_rate = 0;  // of one server, per any unit of time, above 0
  double repair_rate = 0;   // of one crew, per the same unit, above 0
  uint32_t crews = 1;
  uint32_t needed = 1;  // up at the same time, for the system to be available; at most count
};

// The share of time in which at least `needed` are up, in the long run.
double availability(const Servers& servers);

}  // namespace redoubt::model
