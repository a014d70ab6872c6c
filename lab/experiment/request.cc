// Filling in a request; see request.h.
#include "lab/experiment/request.h"

#include <algorithm>

#include "core/duration_text.h"

namespace redoubt::experiment {

void fill_request(const Setup& setup, uint64_t seq, wire::Request& request) {
  const Duration deadline = setup.deadline > Duration::zero() ? setup.deadline : kLongestDuration;
  request.seq = seq;
  request.levels.resize(setup.levels.size());
  for (uint32_t level = 0; level < setup.levels.size(); ++level) {
    request.levels[level].service = service_of(level);
    request.levels[level].copies = setup.levels[level].copies;
    request.levels[level].policy = setup.policy;
  }
  // As the client library tells it: the broker's word is to come before its own.
  const Duration margin = std::min<Duration>(deadline / 50, std::chrono::milliseconds(1));
  request.deadline_us = static_cast<uint64_t>(to_us(deadline - margin));
  request.wait_limit_us = static_cast<uint64_t>(to_us(setup.wait_limit));
  request.service_class = setup.service_class;
  request.resend = false;
  request.payload = {};
}

}  // namespace redoubt::experiment
