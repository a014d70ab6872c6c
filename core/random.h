// A small seeded generator (xoshiro256++ by Blackman and Vigna, seeded through splitmix64): the same seed
// gives the same numbers with every compiler and library, which std's distributions do not promise. Not for
// secrets, and it never seeds itself: whoever owns one decides the seed.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "core/check.h"

namespace redoubt {

class Random {
 public:
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }

  // splitmix64 spreads the seed: neighbouring seeds give unrelated sequences, and the state is never all
  // zero.
  constexpr explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9U;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
      word = mixed ^ (mixed >> 31);
    }
  }

  constexpr uint64_t operator()() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1): the 53 bits a double can hold.
  constexpr double unit() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

  // Uniform in [0, n), n > 0. Values of the incomplete last stretch are drawn again: a plain `% n` favours
  // small ones.
  constexpr uint64_t below(uint64_t n) {
    CHECK(n > 0);
    const uint64_t incomplete = (0 - n) % n;
    uint64_t drawn = (*this)();
    while (drawn < incomplete) drawn = (*this)();
    return drawn % n;
  }

  // True with this probability.
  constexpr bool chance(double probability) { return unit() < probability; }

  // 1 - unit() is never 0, so that no logarithm is infinite.
  double exponential(double mean) { return -mean * std::log(1 - unit()); }

  // Standard normal (Box and Muller). The second value is not kept, so that the state is the four words
  // alone.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace redoubt
