// SeqWindow: one entry for each sequence number from `begin()` to just before `end()`, found by counting.
// Numbers are given out upward and let go from below, as a client's request ids are. Grows by doubling up to
// the owner's limit; an entry left behind is reset to T{}. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check.h"

namespace redoubt {

template <class T>
class SeqWindow {
 public:
  SeqWindow() = default;
  explicit SeqWindow(uint64_t begin) : begin_(begin), end_(begin) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  uint64_t size() const { return end_ - begin_; }
  bool contains(uint64_t seq) const { return seq >= begin_ && seq < end_; }

  T& operator[](uint64_t seq) {
    CHECK(contains(seq));
    return entries_[seq & (entries_.size() - 1)];
  }
  const T& operator[](uint64_t seq) const { return (*const_cast<SeqWindow*>(this))[seq]; }

  // Widens the window so that it contains everything before `end`.
  void extend(uint64_t end) {
    if (end <= end_) return;
    if (end - begin_ > entries_.size()) grow(end - begin_);
    end_ = end;
  }

  // Lets go of everything before `begin`, which may lie beyond the end. `leave(entry)` sees each on its way
  // out.
  template <class Leave>
  void advance(uint64_t begin, Leave leave) {
    while (begin_ < begin && begin_ < end_) {
      T& entry = entries_[begin_ & (entries_.size() - 1)];
      leave(entry);
      entry = T{};
      ++begin_;
    }
    if (begin_ < begin) begin_ = end_ = begin;
    // What a burst has widened does not stay with an owner at rest.
    if (begin_ == end_ && entries_.size() > kKept) entries_ = std::vector<T>();
  }

 private:
  void grow(uint64_t needed) {
    uint64_t capacity = entries_.empty() ? 16 : entries_.size();
    while (capacity < needed) capacity *= 2;
    std::vector<T> wider(capacity);
    for (uint64_t seq = begin_; seq < end_; ++seq)
      wider[seq & (capacity - 1)] = std::move(entries_[seq & (entries_.size() - 1)]);
    entries_ = std::move(wider);
  }

  static constexpr size_t kKept = 4096;

  std::vector<T> entries_;  // a power of two
  uint64_t begin_ = 1, end_ = 1;
};

}  // namespace redoubt
