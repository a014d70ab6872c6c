// LinkedList: a row of objects of one slab, linked through fields of their own: it takes no memory, and
// whoever is in it leaves it from anywhere at once. An object is in at most one list by each of its links;
// what links hold while it is in none means nothing. Not thread-safe.
#pragma once

#include <cstdint>

#include "core/slab.h"

namespace redoubt {

// What an object holds for a list; Tag as of its handles.
template <class Tag>
struct Links {
  Handle<Tag> previous, next;
};

// Of those that T::*kLinks links: LinkedList<&Request::in_queue>.
template <auto kLinks>
class LinkedList;

template <class T, class Tag, Links<Tag> T::*kLinks>
class LinkedList<kLinks> {
 public:
  using Id = Handle<Tag>;
  using Items = Slab<T, Tag>;

  bool empty() const { return size_ == 0; }
  uint32_t size() const { return size_; }
  // None when it is empty.
  Id first() const { return first_; }
  Id last() const { return last_; }

  void push_back(Items& items, Id id) {
    links(items, id) = {last_, {}};
    (last_ ? links(items, last_).next : first_) = id;
    last_ = id;
    ++size_;
  }
  // Behind that one, which is in this list; in front of all others if none is named.
  void insert_after(Items& items, Id id, Id before) {
    Id& next = before ? links(items, before).next : first_;
    links(items, id) = {before, next};
    (next ? links(items, next).previous : last_) = id;
    next = id;
    ++size_;
  }
  // The item is in this list.
  void erase(Items& items, Id id) {
    const Links<Tag> gone = links(items, id);
    (gone.previous ? links(items, gone.previous).next : first_) = gone.next;
    (gone.next ? links(items, gone.next).previous : last_) = gone.previous;
    --size_;
  }

 private:
  static Links<Tag>& links(Items& items, Id id) { return items[id].*kLinks; }

  Id first_, last_;
  uint32_t size_ = 0;
};

}  // namespace redoubt
