// The chain's balance: p(j+1) = p(j) * (n - j) lambda / (min(j + 1, crews) mu); see availability.h.
#include "model/availability.h"

#include <algorithm>

#include "core/check.h"

namespace redoubt::model {

double availability(const Servers& servers) {
  CHECK(servers.needed >= 1 && servers.needed <= servers.count && servers.crews >= 1);
  CHECK(servers.failure_rate > 0 && servers.repair_rate > 0);
  // The largest term is kept at one: with many servers the terms differ by more than a double can hold.
  double term = 1, all = 1, enough = 1;
  for (uint32_t failed = 1; failed <= servers.count; ++failed) {
    term *= (servers.count - failed + 1) * servers.failure_rate /
            (std::min(failed, servers.crews) * servers.repair_rate);
    if (term > 1) {
      all /= term;
      enough /= term;
      term = 1;
    }
    all += term;
    if (servers.count - failed >= servers.needed) enough += term;
  }
  return enough / all;
}

}  // namespace redoubt::model
