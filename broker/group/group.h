// The group: the brokers that vote for a manager, what each remembers across restarts, and what an operator
// decides about it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "wire/limits.h"
#include "wire/message.h"

namespace redoubt::broker {

// A broker's place in the group's list, from 1. 0: nobody, or a broker outside the group.
using BrokerNumber = uint32_t;
inline constexpr BrokerNumber kNoBroker = 0;

// Brokers as a set: bit i stands for number i + 1.
using BrokerSet = uint64_t;
constexpr BrokerSet only(BrokerNumber broker) { return BrokerSet{1} << (broker - 1); }
constexpr bool has(BrokerSet set, BrokerNumber broker) {
  return broker > 0 && (set >> (broker - 1) & 1) != 0;
}
constexpr uint32_t count(BrokerSet set) { return static_cast<uint32_t>(std::popcount(set)); }

// Whose word it takes to rule.
enum class Quorum : uint8_t {
  kMajority,  // more than half of the group: never two managers at work
  kOne,       // any survivor: serves as long as one broker lives, but a partition can give two
};

struct GroupSettings {
  BrokerNumber self = 1;  // kNoBroker: follows a group that it is not part of
  uint32_t size = 1;      // brokers in the group, witnesses included
  wire::Kind kind = wire::Kind::kVoter;
  Quorum quorum = Quorum::kOne;
  uint64_t hash = 0;         // of the list: it must be the same everywhere, like quorum and demote_after
  uint64_t incarnation = 1;  // random, new with every start of the process
  std::string name;
  Duration heartbeat = std::chrono::milliseconds(50);
  Duration dead_after = std::chrono::milliseconds(500);
  // A manager that has had no echo from a majority of anything it sent within this time suspends. Below
  // dead_after minus two heartbeats: the others must not have chosen another by then.
  Duration demote_after = std::chrono::milliseconds(300);
  uint64_t seed = 1;

  uint32_t majority() const { return size / 2 + 1; }
};

// What a broker of the group writes down before it acts on it. `blank`: nothing was found, so that it may
// have voted and forgotten.
struct Memory {
  bool blank = true;
  wire::Epoch promised;  // the highest epoch that it voted for or obeyed; one vote a number
  wire::SyncSet set;     // the newest in-sync set it has heard of
  bool operator==(const Memory&) const = default;
};

constexpr bool newer(const wire::SyncSet& a, const wire::SyncSet& b) {
  return a.epoch != b.epoch ? a.epoch > b.epoch : a.version > b.version;
}

static_assert(wire::kMaxGroup <= 64, "a set of brokers is one word");

}  // namespace redoubt::broker
