// Cluster: one story: brokers, replicas and clients of a seed, the faults that happen to them, the healing,
// and what must be true at the end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/sim/broker_host.h"
#include "lab/sim/client_host.h"
#include "lab/sim/replica_host.h"

namespace redoubt::sim {

// What a story is about; the seed decides the rest.
struct Story {
  uint64_t seed = 1;
  uint32_t brokers = 3;
  bool witness = false;  // the last broker only votes
  broker::Quorum quorum = broker::Quorum::kMajority;
  broker::CheckpointAck ack = broker::CheckpointAck::kNone;
  uint32_t replicas = 5, clients = 3;
  uint32_t requests = 200;  // of each client
  bool discard = false;
  bool blank_restarts = false;  // brokers may lose their disks
  bool slow_disks = false;      // a write takes longer than a lease lasts, or than dead-after
};

// One thing that happens.
struct Fault {
  enum class Kind : uint8_t {
    kCrashBroker,
    kStopBroker,
    kPauseBroker,
    kCut,
    kCutOneWay,
    kSlow,
    kDisconnect,
    kCrashReplica,
    kStopReplica,
    kPauseReplica,
    kCrashClient,
    kPauseClient,
    kCrashManager,
    kPauseManager,
    kStopManager
  };
  Kind kind = Kind::kCrashBroker;
  Duration at{}, lasts{};
  uint32_t a = 0, b = 0;
  bool loses_disk = false;
  std::string text() const;
};

// The faults that this seed stands for.
std::vector<Fault> plan_faults(const Story& setup);

struct Verdict {
  bool ok = true;
  std::string failure;
  Judge::Totals totals;
  uint64_t steps = 0;
  std::vector<std::string> story;  // the last lines, if they were kept
};

enum class Telling : uint8_t { kNothing, kTheEnd, kEverything };
Verdict play(const Story& setup, const std::vector<Fault>& faults, Telling telling);

}  // namespace redoubt::sim
