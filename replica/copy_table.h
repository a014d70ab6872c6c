// CopyTable: which copy a broker means by its number. Open addressing in one piece of memory that is sized
// once: the number of copies a replica can hold is bounded, and a copy must not cost an allocation. Not
// thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/check.h"
#include "replica/event.h"

namespace redoubt::replica {

class CopyTable {
 public:
  explicit CopyTable(uint32_t most)
      : entries_(std::bit_ceil(size_t{most} * 2 + 2)), mask_(entries_.size() - 1) {}

  // The copy, or an empty handle.
  CopyHandle find(uint32_t broker, uint64_t copy) const {
    for (size_t at = home(broker, copy); entries_[at].handle; at = (at + 1) & mask_)
      if (entries_[at].copy == copy && entries_[at].broker == broker) return entries_[at].handle;
    return {};
  }

  // Must not be there yet.
  void add(uint32_t broker, uint64_t copy, CopyHandle handle) {
    CHECK(++size_ * 2 <= entries_.size());
    size_t at = home(broker, copy);
    while (entries_[at].handle) at = (at + 1) & mask_;
    entries_[at] = {copy, handle, broker};
  }

  void erase(uint32_t broker, uint64_t copy) {
    size_t gap = home(broker, copy);
    while (entries_[gap].copy != copy || entries_[gap].broker != broker) {
      CHECK(entries_[gap].handle);
      gap = (gap + 1) & mask_;
    }
    CHECK(entries_[gap].handle);
    --size_;
    // What follows moves up unless it would come to lie before its home.
    for (size_t at = (gap + 1) & mask_; entries_[at].handle; at = (at + 1) & mask_) {
      const size_t from_home = (at - home(entries_[at].broker, entries_[at].copy)) & mask_;
      const size_t from_gap = (at - gap) & mask_;
      if (from_home < from_gap) continue;
      entries_[gap] = entries_[at];
      gap = at;
    }
    entries_[gap] = {};
  }

  size_t size() const { return size_; }

 private:
  struct Entry {
    uint64_t copy = 0;
    CopyHandle handle;
    uint32_t broker = 0;
  };

  size_t home(uint32_t broker, uint64_t copy) const {
    const uint64_t mixed = (copy ^ (uint64_t{broker} << 56)) * 0x9e3779b97f4a7c15U;
    return (mixed ^ (mixed >> 32)) & mask_;
  }

  std::vector<Entry> entries_;
  size_t mask_;
  size_t size_ = 0;
};

}  // namespace redoubt::replica
