// Setup: one point of an experiment: the load, the cluster and what is odd about it. Data; who fills it has
// checked it (flags.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broker/settings.h"
#include "core/distribution.h"
#include "core/time.h"
#include "tool/arrivals.h"
#include "wire/message.h"

namespace redoubt::experiment {

// So long that no virtual time reaches it: what is set to it costs nothing and never happens.
inline constexpr Duration kAges = std::chrono::hours(24 * 365 * 50);

// How one replica differs from the others of its level.
struct Oddity {
  double slow = 1;      // its service times are so many times as long
  double fails = 0;     // probability that an execution fails, at its end
  Duration up = kAges;  // it vanishes with all that it holds after so long,
  Duration away{};      // and registers again, empty, after this
};

struct LevelSetup {
  uint32_t replicas = 5;
  Distribution service{Distribution::Exponential{std::chrono::milliseconds(1)}};
  uint32_t copies = 1;        // 0: what the policy of its service says
  std::vector<Oddity> odd{};  // of its first replicas; the others are as they should be
  uint32_t spares = 0;        // of its replicas, the last ones
};

// A broker without heartbeats: whom it loses it is told of.
inline broker::Settings without_heartbeats() {
  broker::Settings settings;
  settings.heartbeat = kAges;
  settings.dead_after = 2 * kAges;
  return settings;
}

struct Setup {
  std::vector<LevelSetup> levels{LevelSetup{}};
  uint32_t workers = 1;  // of every replica
  // Copies that wait at a replica: what the broker reckons with at most, so that its threshold is what binds.
  uint32_t replica_queue_limit = broker::kMaxThreshold;
  bool stubborn = false;  // handlers do not heed a stop: what runs runs to its end

  tool::ArrivalShape arrivals{};
  double rate = 1000;         // requests a second
  uint64_t requests = 10000;  // that count
  uint64_t warm_up = 1000;    // that go before them and do not

  Duration deadline{};    // from the call to the outcome at the client; zero: none
  Duration wait_limit{};  // zero: none
  wire::Policy policy{};
  uint32_t service_class = 0;  // thousandths; 0: the usual

  broker::Settings broker = without_heartbeats();
  Duration delay{};  // one way, between client and broker and between broker and replica
  uint64_t seed = 1;
};

// The name of a level's service, counted from 0.
inline std::string service_of(uint32_t level) { return "level" + std::to_string(level + 1); }

}  // namespace redoubt::experiment
