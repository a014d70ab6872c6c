// Unsent: the bytes that wait at several links together, link by link: kept as links write, so the sum is at
// hand. Each link counts all that waits at it: a payload that waits at two links counts twice. Knows links by
// their numbers only. From the thread of their loop; it must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace redoubt::net {

class Unsent {
 public:
  size_t bytes() const { return bytes_; }

  struct Share {
    uint64_t link;
    size_t bytes;
  };
  // Of each link at which something waits.
  std::vector<Share> shares() const;

 private:
  friend class Link;

  // A link's own place in here.
  class Place {
   public:
    size_t bytes() const { return bytes_; }

   private:
    friend class Unsent;
    size_t bytes_ = 0;
    size_t at_ = 0;  // where in links_, while bytes_ is not 0
  };
  struct Entry {
    Share share;
    Place* place;
  };

  // So many wait at the link now. Nothing is done for a link at which nothing waited and nothing waits.
  void set(uint64_t link, Place& place, size_t bytes);

  size_t bytes_ = 0;
  std::vector<Entry> links_;  // those at which something waits
};

// Those without which the others come to at most so many bytes: the largest, in that order.
std::vector<Unsent::Share> largest(std::vector<Unsent::Share> shares, size_t most_left);

}  // namespace redoubt::net
