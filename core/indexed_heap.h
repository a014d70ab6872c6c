// IndexedHeap: items in order of a key, that can leave or change their key at any time. A four-ary heap that
// knows where each item is: what goes away goes at once, so deadlines of finished requests never pile up. Not
// thread-safe.
//
// `Position` tells where an item keeps its place: uint32_t& position(Item). It must hold kNowhere while it is
// absent.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace redoubt {

inline constexpr uint32_t kNowhere = ~uint32_t{0};  // the place of an item that is absent

template <class Item, class Key, class Position>
class IndexedHeap {
 public:
  explicit IndexedHeap(Position position = {}) : position_(std::move(position)) {}

  bool empty() const { return heap_.empty(); }
  uint32_t size() const { return static_cast<uint32_t>(heap_.size()); }
  const Key& top_key() const { return heap_.front().key; }
  Item top() const { return heap_.front().item; }
  Item at(uint32_t place) const { return heap_[place].item; }
  const Key& key_at(uint32_t place) const { return heap_[place].key; }
  // kNowhere while the item is absent.
  uint32_t place_of(Item item) const { return position_(item); }

  // Adds the item, or moves it to its new key.
  void set(Item item, Key key) {
    const uint32_t place = position_(item);
    if (place == kNowhere) {
      heap_.emplace_back();
      up(size() - 1, item, key);
    } else if (key < heap_[place].key) {
      up(place, item, key);
    } else {
      down(place, item, key);
    }
  }

  // Removes the item if it is there.
  void erase(Item item) {
    uint32_t& position = position_(item);
    if (position == kNowhere) return;
    const uint32_t place = position;
    position = kNowhere;
    const Node last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    if (last.key < heap_[place].key)
      up(place, last.item, last.key);
    else
      down(place, last.item, last.key);
  }

 private:
  struct Node {
    Key key{};
    Item item{};
  };
  static constexpr uint32_t kArity = 4;

  // Field by field: a node that has just been written so and is read as a whole makes the processor wait.
  void put(uint32_t place, Item item, Key key) {
    heap_[place].key = key;
    heap_[place].item = item;
    position_(item) = place;
  }

  // The item belongs at this place, which is free, or above.
  void up(uint32_t place, Item item, Key key) {
    while (place > 0) {
      const uint32_t parent = (place - 1) / kArity;
      if (!(key < heap_[parent].key)) break;
      put(place, heap_[parent].item, heap_[parent].key);
      place = parent;
    }
    put(place, item, key);
  }

  // The same, or below.
  void down(uint32_t place, Item item, Key key) {
    for (;;) {
      const uint32_t first = place * kArity + 1;
      if (first >= size()) break;
      uint32_t least = first;
      for (uint32_t child = first + 1; child < first + kArity && child < size(); ++child)
        if (heap_[child].key < heap_[least].key) least = child;
      if (!(heap_[least].key < key)) break;
      put(place, heap_[least].item, heap_[least].key);
      place = least;
    }
    put(place, item, key);
  }

  std::vector<Node> heap_;
  Position position_;
};

// The places of items that are handles, packed by slot: moving through the heap must not touch the objects
// themselves.
template <class Handle>
class PlacesBySlot {
 public:
  uint32_t& operator()(Handle item) {
    if (item.slot >= places_.size()) places_.resize(item.slot + 1, kNowhere);
    return places_[item.slot];
  }
  uint32_t operator()(Handle item) const {
    return item.slot < places_.size() ? places_[item.slot] : kNowhere;
  }

 private:
  std::vector<uint32_t> places_;
};

}  // namespace redoubt
