// The sum and the shares; see unsent.h.
#include "net/unsent.h"

#include <algorithm>

namespace redoubt::net {

void Unsent::set(uint64_t link, Place& place, size_t bytes) {
  if (place.bytes_ == bytes) return;
  if (place.bytes_ == 0) {
    place.at_ = links_.size();
    links_.push_back({{link, 0}, &place});
  }
  bytes_ = bytes_ - place.bytes_ + bytes;
  place.bytes_ = links_[place.at_].share.bytes = bytes;
  if (bytes > 0) return;
  links_[place.at_] = links_.back();
  links_[place.at_].place->at_ = place.at_;
  links_.pop_back();
}

std::vector<Unsent::Share> Unsent::shares() const {
  std::vector<Share> shares;
  shares.reserve(links_.size());
  for (const Entry& entry : links_) shares.push_back(entry.share);
  return shares;
}

std::vector<Unsent::Share> largest(std::vector<Unsent::Share> shares, size_t most_left) {
  size_t left = 0, count = 0;
  for (const Unsent::Share& share : shares) left += share.bytes;
  std::sort(shares.begin(), shares.end(), [](const Unsent::Share& a, const Unsent::Share& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.link < b.link;
  });
  while (left > most_left) left -= shares[count++].bytes;
  shares.resize(count);
  return shares;
}

}  // namespace redoubt::net
