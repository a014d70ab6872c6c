// Slab: objects in numbered slots that are used again, found through handles that know when they are stale.
// A slot's object is never destroyed while the slab lives, only emptied by its owner: strings and vectors
// inside keep their memory, so a warm slab allocates nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/check.h"

namespace redoubt {

// Names one use of one slot. The tag keeps handles of different slabs apart; as a number it can travel and
// come back.
template <class Tag>
struct Handle {
  uint32_t slot = kNoSlot;
  uint32_t use = 0;

  static constexpr uint32_t kNoSlot = ~uint32_t{0};
  explicit operator bool() const { return slot != kNoSlot; }
  bool operator==(const Handle&) const = default;
  uint64_t number() const { return (uint64_t{use} << 32) | slot; }
  static Handle of(uint64_t number) {
    return {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)};
  }
};

template <class T, class Tag = T>
class Slab {
 public:
  using Id = Handle<Tag>;

  // Takes a free slot. The object in it is as its last owner left it: the caller sets every field.
  Id take() {
    if (free_.empty()) {
      slots_.emplace_back();
      free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot].live = true;
    ++size_;
    return {slot, slots_[slot].use};
  }

  void give_back(Id id) {
    Slot& slot = live_slot(id);
    slot.live = false;
    ++slot.use;
    free_.push_back(id.slot);
    --size_;
  }

  // The object, or nothing when the handle is of an earlier use, or made up by a peer.
  T* find(Id id) {
    if (id.slot >= slots_.size()) return nullptr;
    Slot& slot = slots_[id.slot];
    return slot.live && slot.use == id.use ? &slot.value : nullptr;
  }
  const T* find(Id id) const { return const_cast<Slab*>(this)->find(id); }

  T& operator[](Id id) { return live_slot(id).value; }
  const T& operator[](Id id) const { return const_cast<Slab*>(this)->live_slot(id).value; }

  uint32_t size() const { return size_; }

  // Calls visit(id, object) for every object in use, in slot order: the same order in every run.
  template <class Visit>
  void each(Visit visit) {
    for (uint32_t slot = 0; slot < slots_.size(); ++slot)
      if (slots_[slot].live) visit(Id{slot, slots_[slot].use}, slots_[slot].value);
  }
  template <class Visit>
  void each(Visit visit) const {
    const_cast<Slab*>(this)->each([&](Id id, T& value) { visit(id, static_cast<const T&>(value)); });
  }

 private:
  struct Slot {
    T value{};
    uint32_t use = 1;
    bool live = false;
  };

  Slot& live_slot(Id id) {
    CHECK(id.slot < slots_.size());
    Slot& slot = slots_[id.slot];
    CHECK(slot.live && slot.use == id.use);
    return slot;
  }

  std::deque<Slot> slots_;  // a deque: references stay good while the slab grows
  std::vector<uint32_t> free_;
  uint32_t size_ = 0;
};

}  // namespace redoubt
