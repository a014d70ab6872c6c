// Snapshot: what an observer may see of a broker, copied between two turns so that the deciding thread
// neither formats text nor waits for whoever reads it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "broker/counters.h"
#include "broker/state.h"
#include "core/histogram.h"

namespace redoubt::broker {

inline constexpr size_t kCloseReasons = static_cast<size_t>(wire::CloseReason::kGroup) + 1;

struct LinkCounters {
  uint64_t accepted = 0;
  uint64_t turned_away = 0;                      // too many in handshake
  std::array<uint64_t, kCloseReasons> closed{};  // on purpose, by reason
};

struct ReplicaView {
  std::string name, address;
  std::vector<std::string> services;
  uint32_t workers = 0, outstanding = 0, threshold = 0;
  wire::Load reported;
  uint64_t completed = 0, failed = 0;
  uint64_t service_p50_us = 0, service_p99_us = 0;
  bool leaving = false;
};

struct ServiceView {
  std::string name;
  uint32_t replicas = 0, queued = 0;
  Histogram wait_us, service_us;
};

struct Snapshot {
  std::string name, address;
  wire::Epoch epoch;
  uint64_t checkpoint_seq = 0, state_hash = 0;
  uint32_t pending = 0, queued = 0, clients = 0;
  uint32_t copies_outstanding = 0;
  bool stopping = false;
  Counters counters;
  LinkCounters links;
  Histogram request_us;
  std::vector<ReplicaView> replicas;
  std::vector<ServiceView> services;
};

// The core's part of it.
Snapshot snapshot_of(const State& state);

}  // namespace redoubt::broker
