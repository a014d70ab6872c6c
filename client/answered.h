// Answered: which of the newest requests a broker has answered, one bit each, so that a second answer is
// known as one even when its request is long gone; and which of them had been when another manager began.
// Bounded by twice kRemembered bits. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "client/limits.h"

namespace redoubt::client {

class Answered {
 public:
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

  // Another manager: what is answered so far was answered by earlier ones. Copies all bits.
  void start_anew() {
    earlier_ = words_;
    earlier_end_ = newest_ + 1;
  }
  // This one, which is not answered yet, will be sent again: its answer may be under way already, and the
  // question answered once more.
  void may_repeat(uint64_t seq) {
    if (seq < earlier_end_) earlier_[(seq / 64) & (earlier_.size() - 1)] |= mask(seq);
  }
  // Was this one, which is known and answered, answered before start_anew(), or may it repeat? True once:
  // then it counts as answered anew.
  bool take_earlier(uint64_t seq) {
    if (seq >= earlier_end_) return false;
    uint64_t& bits = earlier_[(seq / 64) & (earlier_.size() - 1)];
    const bool is = (bits & mask(seq)) != 0;
    bits &= ~mask(seq);
    return is;
  }

 private:
  uint64_t& word(uint64_t seq) { return words_[(seq / 64) & (words_.size() - 1)]; }
  static uint64_t mask(uint64_t seq) { return uint64_t{1} << (seq % 64); }

  std::vector<uint64_t> words_;  // a power of two; until full size is reached no two numbers share a bit
  uint64_t newest_ = 0;
  std::vector<uint64_t> earlier_;  // words_ at start_anew()
  uint64_t earlier_end_ = 0;       // every number in them is below
};

}  // namespace redoubt::client
