// Answered: which of the newest requests a broker has answered, one bit each, so that a second answer is
// known as one even when its request is long gone. Bounded by kRemembered bits. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace redoubt::client {

class Answered {
 public:
  static constexpr uint64_t kRemembered = uint64_t{1} << 20;

  // A new highest number: nothing has answered it. To be called for every number, upward from 1.
  void open(uint64_t seq) {
    newest_ = seq;
    if (seq >= words_.size() * 64 && words_.size() < kRemembered / 64) {
      words_.resize(words_.empty() ? 16 : words_.size() * 2);
    }
    word(seq) &= ~mask(seq);
  }

  bool knows(uint64_t seq) const { return seq != 0 && seq <= newest_ && newest_ - seq < kRemembered; }
  bool test(uint64_t seq) const { return (const_cast<Answered*>(this)->word(seq) & mask(seq)) != 0; }
  void set(uint64_t seq) { word(seq) |= mask(seq); }

 private:
  uint64_t& word(uint64_t seq) { return words_[(seq / 64) & (words_.size() - 1)]; }
  static uint64_t mask(uint64_t seq) { return uint64_t{1} << (seq % 64); }

  std::vector<uint64_t> words_;  // a power of two; until full size is reached no two numbers share a bit
  uint64_t newest_ = 0;
};

}  // namespace redoubt::client
