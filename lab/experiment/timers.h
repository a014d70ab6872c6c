// Timers: a fixed number of alarms in virtual time, each set to one moment or to none. The earliest is found
// at once; of those at the same moment the one that was set first. Nothing is allocated after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "core/indexed_heap.h"
#include "core/time.h"

namespace redoubt::experiment {

class Timers {
 public:
  explicit Timers(uint32_t count) : moments_(count, kNever), heap_(Places{std::vector(count, kNowhere)}) {}

  // kNever: to none. What is set already to this moment keeps its turn.
  void set(uint32_t timer, Time at) {
    if (moments_[timer] == at) return;
    moments_[timer] = at;
    if (at == kNever)
      heap_.erase(timer);
    else
      heap_.set(timer, {at, ++turn_});
  }

  Time next() const { return heap_.empty() ? kNever : heap_.top_key().at; }

  // The earliest, which is set to none by this. There must be one.
  uint32_t take() {
    const uint32_t timer = heap_.top();
    heap_.erase(timer);
    moments_[timer] = kNever;
    return timer;
  }

 private:
  struct Key {
    Time at;
    uint64_t turn = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Places {
    std::vector<uint32_t> of;
    uint32_t& operator()(uint32_t timer) { return of[timer]; }
  };

  std::vector<Time> moments_;
  IndexedHeap<uint32_t, Key, Places> heap_;
  uint64_t turn_ = 0;
};

}  // namespace redoubt::experiment
