// ShortVector: a sequence that is nearly always short, and then allocates nothing. Up to kFew items lie
// within it; with more, all of them lie in a vector. Items that are removed are kept to be used again, with
// the memory of their strings: resize() and emplace_back() bring back what was there before, not new items,
// so the caller sets every field. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace redoubt {

template <class T, size_t kFew>
class ShortVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  ShortVector() = default;
  ShortVector(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  ShortVector(const ShortVector&) = default;
  ShortVector& operator=(const ShortVector&) = default;
  ShortVector(ShortVector&& other) noexcept { *this = std::move(other); }
  ShortVector& operator=(ShortVector&& other) noexcept {
    if (many_.empty() && other.many_.empty()) {
      for (size_t i = 0; i < other.size_; ++i) few_[i] = std::move(other.few_[i]);
    } else {
      few_.swap(other.few_);
      many_.swap(other.many_);
    }
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~ShortVector() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return many_.empty() ? few_.data() : many_.data(); }
  const T* data() const { return many_.empty() ? few_.data() : many_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void resize(size_t size) {
    const size_t room = std::max(kFew, many_.size());
    if (size > room) {
      if (many_.empty()) many_.assign(std::move_iterator(few_.begin()), std::move_iterator(few_.end()));
      many_.resize(std::max(size, 2 * room));
    }
    size_ = size;
  }
  // The item is as it was left when it was last in use.
  T& emplace_back() {
    resize(size_ + 1);
    return back();
  }
  void push_back(T item) { emplace_back() = std::move(item); }
  // Whether the item was there.
  bool erase(const T& item) {
    const iterator found = std::find(begin(), end(), item);
    if (found == end()) return false;
    std::move(found + 1, end(), found);
    --size_;
    return true;
  }

  friend bool operator==(const ShortVector& a, const ShortVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<T, kFew> few_{};
  std::vector<T> many_;  // all items, once there were more than a few
  size_t size_ = 0;
};

}  // namespace redoubt
