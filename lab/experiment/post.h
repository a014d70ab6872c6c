// Post: what is under way between client, broker and replicas. Everything takes the same time, so what was
// sent first arrives first, and a ring is all it needs. Messages are handed over as values.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "core/time.h"
#include "wire/message.h"

namespace redoubt::experiment {

// A Submit of one request, which is filled in where it arrives.
struct Submitted {
  uint64_t seq = 0, low_water = 0;
  int64_t sent_us = 0;
};
// What the client reads of a Reply.
struct Answered {
  uint64_t seq = 0;
  wire::Status status = wire::Status::kOk;
  Duration wait{};
};
// A replica's first two frames.
struct Joining {
  wire::Hello hello;
  wire::Register registration;
};
struct LinkGone {};

struct Letter {
  enum class To : uint8_t { kBroker, kReplica, kClient };
  using Content = std::variant<Submitted, Answered, Joining, LinkGone, wire::Copy, wire::Done, wire::Halt,
                               wire::Started, wire::Dummy, wire::Welcome, wire::Holding, wire::Adopt>;

  Time due;
  To to = To::kBroker;
  // The replica's link by which it goes: each process of a replica has one.
  uint32_t replica = 0, generation = 0;
  Content content;
};

class Post {
 public:
  // When the next one arrives.
  Time next() const { return first_ == end_ ? kNever : ring_[first_ & (ring_.size() - 1)].due; }

  // `due` is not before that of any letter that is under way.
  void send(Letter letter) {
    if (end_ - first_ == ring_.size()) grow();
    ring_[end_++ & (ring_.size() - 1)] = std::move(letter);
  }
  // There must be one.
  Letter take() { return std::move(ring_[first_++ & (ring_.size() - 1)]); }

 private:
  void grow() {
    std::vector<Letter> wider(2 * ring_.size());
    for (uint64_t at = first_; at != end_; ++at)
      wider[at & (wider.size() - 1)] = std::move(ring_[at & (ring_.size() - 1)]);
    ring_ = std::move(wider);
  }

  std::vector<Letter> ring_ = std::vector<Letter>(64);  // a power of two
  uint64_t first_ = 0, end_ = 0;
};

}  // namespace redoubt::experiment
