// Recycled: a list that is filled and cleared again and again without giving back its elements' memory. An
// element that is added is as its last use left it: the caller sets every field. References stay good while
// the list grows.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace redoubt::client {

template <class T>
class Recycled {
 public:
  T& add() {
    if (used_ == items_.size()) items_.emplace_back();
    return items_[used_++];
  }
  void drop_last() { --used_; }
  void clear() { used_ = 0; }
  // Gives back the memory of a burst: no more than `most` elements stay, or those in use.
  void shrink(size_t most) {
    while (items_.size() > most && items_.size() > used_) items_.pop_back();
  }
  void swap(Recycled& other) noexcept {
    items_.swap(other.items_);
    std::swap(used_, other.used_);
  }

  bool empty() const { return used_ == 0; }
  size_t size() const { return used_; }
  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }

 private:
  std::deque<T> items_;
  size_t used_ = 0;
};

}  // namespace redoubt::client
