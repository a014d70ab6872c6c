// The comparison with other brokers: what every peer is asked to do, and the load that it is given. One load
// process keeps `window` requests outstanding, one worker process echoes, the server between them has a
// process of its own. Not for use outside bench/.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/histogram.h"
#include "core/time.h"

namespace redoubt::peers {

// Requests carry the number of their slot in their first bytes; no peer looks at it.
using Slot = uint64_t;
// Of the requests that only find out whether worker and server are there. Its reply counts for nothing.
inline constexpr Slot kProbe = ~Slot{0};

inline Slot slot_of(const void* payload) {
  Slot slot = 0;
  std::memcpy(&slot, payload, sizeof slot);
  return slot;
}

// The books of a closed loop: `window` slots, each with one request outstanding until the time is over.
class Load {
 public:
  Load(uint32_t window, size_t payload, Duration length)
      : length_(length), sent_(window), payload_(payload, 'x') {}

  uint32_t window() const { return static_cast<uint32_t>(sent_.size()); }
  size_t payload_size() const { return payload_.size(); }

  // The time of all that follows begins now, and every slot is to be sent.
  void begin(Time now) {
    began_ = now;
    outstanding_ = window();
  }

  // The bytes of a slot's request, which leaves now. Good until the next call.
  const std::string& send(Slot slot, Time now) {
    if (slot != kProbe) sent_[slot] = now;
    std::memcpy(payload_.data(), &slot, sizeof slot);
    return payload_;
  }

  // A reply has come; true if its slot is to be sent again.
  bool answered(Slot slot, Time now) {
    if (slot == kProbe) return false;
    latency_ns_.record(static_cast<uint64_t>((now - sent_[slot]).count()));
    ended_ = now;
    if (now - began_ < length_) return true;
    --outstanding_;
    return false;
  }

  bool done() const { return outstanding_ == 0; }

  const Histogram& latency_ns() const { return latency_ns_; }
  double seconds() const { return to_seconds(ended_ - began_); }

 private:
  Duration length_;
  std::vector<Time> sent_;
  std::string payload_;
  Time began_{}, ended_{};
  uint32_t outstanding_ = 0;
  Histogram latency_ns_;
};

// Ports of the loopback that were free a moment ago, below those that the system hands out by itself. The
// window, for who has to be tuned to it.
struct Setting {
  uint16_t clients = 0, workers = 0;
  uint32_t window = 1;
};

// What each process does. The functions end the process with a text when something is wrong, which is enough
// for a measurement; serve() and work() do not return.
struct Peer {
  const char* name;
  void (*serve)(const Setting& setting);
  void (*work)(const Setting& setting);
  void (*load)(const Setting& setting, Load& load);
};

extern const Peer kRelay, kNats, kZmq;

[[noreturn]] void give_up(const std::string& what);

void pause_a_moment();

// Looks again and again until it holds, for ten seconds at most.
template <class Holds>
void eventually(const char* what, Holds holds) {
  const Time limit = Clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (Clock::now() > limit) give_up(std::string("this does not happen: ") + what);
    pause_a_moment();
  }
}

}  // namespace redoubt::peers
