// Slab: objects in numbered slots that are used again, found through handles that know when they are stale.
// A slot's object is never destroyed while the slab lives, only emptied by its owner: strings and vectors
// inside keep their memory, so a warm slab allocates nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
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
      if (slots_ % kBlock == 0) blocks_.push_back(std::make_unique<Slot[]>(kBlock));
      free_.push_back(slots_++);
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    Slot& slot = slot_at(number);
    slot.live = true;
    ++size_;
    return {number, slot.use};
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
    if (id.slot >= slots_) return nullptr;
    Slot& slot = slot_at(id.slot);
    return slot.live && slot.use == id.use ? &slot.value : nullptr;
  }
  const T* find(Id id) const { return const_cast<Slab*>(this)->find(id); }

  T& operator[](Id id) { return live_slot(id).value; }
  const T& operator[](Id id) const { return const_cast<Slab*>(this)->live_slot(id).value; }

  uint32_t size() const { return size_; }

  // The first object in use in this slot or a later one, or nothing: for a walk that pauses.
  Id next(uint32_t number) const {
    for (; number < slots_; ++number)
      if (const Slot& slot = const_cast<Slab*>(this)->slot_at(number); slot.live) return {number, slot.use};
    return {};
  }

  // Calls visit(id, object) for every object in use, in slot order: the same order in every run.
  template <class Visit>
  void each(Visit visit) {
    for (uint32_t number = 0; number < slots_; ++number)
      if (Slot& slot = slot_at(number); slot.live) visit(Id{number, slot.use}, slot.value);
  }
  template <class Visit>
  void each(Visit visit) const {
    const_cast<Slab*>(this)->each([&](Id id, T& value) { visit(id, static_cast<const T&>(value)); });
  }

 private:
  // What every access looks at lies beside the object's first fields.
  struct Slot {
    uint32_t use = 1;
    bool live = false;
    T value{};
  };

  Slot& slot_at(uint32_t number) { return blocks_[number / kBlock][number % kBlock]; }

  Slot& live_slot(Id id) {
    CHECK(id.slot < slots_);
    Slot& slot = slot_at(id.slot);
    CHECK(slot.live && slot.use == id.use);
    return slot;
  }

  // Blocks, so that references stay good while the slab grows; a power of two, so that finding costs little.
  static constexpr uint32_t kBlock = 64;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
  uint32_t slots_ = 0;
  std::vector<uint32_t> free_;
  uint32_t size_ = 0;
};

}  // namespace redoubt
