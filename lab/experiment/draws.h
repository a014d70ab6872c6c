// Draws: what chance does to a copy, as a pure function of the seed and of which copy it is: its request, its
// level, and how many copies of that request have started at that level before it. So two policies under one
// seed meet the same service times, whatever they do in between, and their difference is theirs.
#pragma once

#include <cstdint>

#include "core/distribution.h"
#include "core/random.h"

namespace redoubt::experiment {

// One execution.
struct Execution {
  uint64_t seq = 0;  // of the request
  uint32_t level = 0;
  uint32_t ordinal = 0;  // among those of the request at the level, in the order in which they start
};

class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}

  Duration service_time(const Execution& of, const Distribution& distribution) const {
    Random random(number(of, Purpose::kService));
    return distribution.sample(random);
  }
  bool fails(const Execution& of, double probability) const {
    return probability > 0 && Random(number(of, Purpose::kFailure)).chance(probability);
  }
  // Seeds of what is drawn in a row.
  uint64_t arrivals() const { return number({}, Purpose::kArrivals); }
  uint64_t picks() const { return number({}, Purpose::kPicks); }

 private:
  enum class Purpose : uint64_t { kService = 1, kFailure, kArrivals, kPicks };

  static constexpr uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31);
  }
  uint64_t number(const Execution& of, Purpose purpose) const {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15U;
    const uint64_t mine = mixed(seed_ + kGolden * static_cast<uint64_t>(purpose));
    const uint64_t requests = mixed(mine + kGolden * of.seq);
    return mixed(requests ^ (uint64_t{of.level} << 32 | of.ordinal));
  }

  uint64_t seed_;
};

}  // namespace redoubt::experiment
