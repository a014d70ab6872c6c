// What an operator decides about a broker: the flags of redoubt-broker that its decisions depend on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broker/limits.h"
#include "broker/service_policy.h"
#include "core/time.h"

namespace redoubt::broker {

// How many standbys must have a request before a copy of it leaves.
enum class CheckpointAck : uint8_t { kNone, kOne, kAll };

enum class Pick : uint8_t { kLeastLoaded, kTwoChoices, kRandom };

struct Settings {
  std::string name;
  Duration heartbeat = std::chrono::milliseconds(50);
  Duration dead_after = std::chrono::milliseconds(500);
  uint32_t attempts = 5;         // executions of one request at one level that may fail or be lost
  uint32_t queue_limit = 10000;  // requests waiting here
  double admit_rate = 0;         // requests a second, 0: unlimited
  uint32_t admit_burst = 1;      // requests that may come at once beyond the rate
  uint32_t replica_threshold =
      0;  // copies outstanding at a replica from which it counts as loaded, 0: measured
  CheckpointAck checkpoint_ack = CheckpointAck::kNone;
  Pick pick = Pick::kLeastLoaded;
  std::vector<NamedPolicy> policies{};  // of services; the first that fits counts
  // A backup is sent with the probability of its request's class times this.
  double backup_factor = 1;
  uint64_t max_payload = wire::kDefaultMaxPayload;
  uint64_t held_limit = uint64_t{1} << 30;  // bytes of all admitted requests' payloads together
  uint64_t seed = 1;
};

}  // namespace redoubt::broker
