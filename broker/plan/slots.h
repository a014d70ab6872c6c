// Slots: the times that backups have kept for themselves at replicas. Two requests whose primaries are on one
// replica and whose backups are on one other must not have overlapping times: the crash of the one would wake
// both. Where the primaries are apart they may overlap. Pure; costs as much as one pair of replicas has
// backups waiting.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/time.h"

namespace redoubt::broker {

struct Slot {
  uint64_t pair = 0;  // of primary and backup; 0: no slot
  Time from, until;
  explicit operator bool() const { return pair != 0; }
  bool operator==(const Slot&) const = default;
};

class Slots {
 public:
  // When at the earliest, from `from` on, the pair has `length` free.
  Time earliest(uint64_t pair, Time from, Duration length) const {
    const auto found = pairs_.find(pair);
    if (found == pairs_.end()) return from;
    for (const Slot& taken : found->second)  // in the order of their times
      if (taken.from < later(from, length) && from < taken.until) from = taken.until;
    return from;
  }
  void take(const Slot& slot) {
    auto& taken = pairs_[slot.pair];
    const auto place = std::lower_bound(taken.begin(), taken.end(), slot,
                                        [](const Slot& a, const Slot& b) { return a.from < b.from; });
    taken.insert(place, slot);
    ++size_;
  }
  void free(const Slot& slot) {
    const auto found = pairs_.find(slot.pair);
    if (found == pairs_.end()) return;
    auto& taken = found->second;
    const auto place = std::find(taken.begin(), taken.end(), slot);
    if (place == taken.end()) return;
    taken.erase(place);
    --size_;
    if (taken.empty()) pairs_.erase(found);
  }
  size_t size() const { return size_; }

 private:
  std::unordered_map<uint64_t, std::vector<Slot>> pairs_;  // looked up, never walked
  size_t size_ = 0;
};

}  // namespace redoubt::broker
