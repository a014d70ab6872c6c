// Snapshot: what an observer may see of a broker, copied between two turns so that the deciding thread
// neither formats text nor waits for whoever reads it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "broker/counters.h"
#include "broker/node.h"
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
  bool leaving = false, spare = false;
  bool unheard = false;  // it has not said what it holds from an earlier manager, and gets nothing before
};

struct ServiceView {
  std::string name;
  uint32_t replicas = 0, queued = 0;
  Histogram wait_us, service_us;
  ServicePolicy policy;
  Duration hedge_delay{};  // zero: not known yet
};

// A broker of the group, as this one knows it.
struct BrokerView {
  std::string name, address;
  BrokerRole role = BrokerRole::kStandby;
  bool connected = true, in_sync = false, votes = true;
  uint64_t checkpoint_seq = 0, state_hash = 0;
};

struct Snapshot {
  std::string name, address;
  BrokerRole role = BrokerRole::kStandby;
  bool ready = false;
  std::string manager;              // its name, or empty
  std::string trouble;              // why nobody is served here
  std::vector<BrokerView> brokers;  // this one first
  bool stale = false, unprotected = false;
  uint32_t standbys_in_sync = 0;
  uint64_t checkpoint_lag = 0;  // changes that the slowest of them has not acknowledged
  wire::SyncSet sync_set;
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

// The words for a role: `manager`, `standby`, `witness`, `suspended`.
const char* name_of(BrokerRole role);

// The core's part of it.
Snapshot snapshot_of(const Node& node, Time now);

}  // namespace redoubt::broker
