// Every bound on what may travel. A peer that passes one is told which and its link is closed; nothing grows
// instead.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"

namespace redoubt::wire {

inline constexpr uint32_t kVersionMin = 2;
inline constexpr uint32_t kVersionMax = 2;

inline constexpr uint32_t kMaxEnvelope = 1 << 20;         // bytes; a full batch of submits fits
inline constexpr uint64_t kDefaultMaxPayload = 16 << 20;  // bytes; a broker's --max-payload
inline constexpr uint64_t kMaxMaxPayload = 1 << 30;       // bytes; beyond it a payload is not even skipped
// Bytes that may wait to be written to one peer. Payloads that several links share count for each.
inline constexpr size_t kWriteLimit = size_t{264} << 20;
inline constexpr uint32_t kMaxNameBytes = 255;   // of services, replicas, clients, clusters
inline constexpr uint32_t kMaxTextBytes = 4096;  // of failures and reasons; longer ones are cut
inline constexpr uint32_t kMaxLevels = 16;
inline constexpr uint32_t kMaxCopies = 64;              // of one request at one level
inline constexpr uint32_t kMaxBatch = 4096;             // requests in one Submit, ids in one Cancel or Halt
inline constexpr uint64_t kMaxSeq = uint64_t{1} << 62;  // of a request; nobody gets there by counting
inline constexpr uint32_t kMaxServices = 64;            // of one replica
inline constexpr uint32_t kMaxWorkers = 4096;           // of one replica
inline constexpr uint32_t kMaxGroup = 32;   // numbers of a group's brokers: voters, then those that joined
inline constexpr uint32_t kMaxHeld = 2048;  // copies in one Holding or Adopt
inline constexpr uint64_t kMaxBudgetUs = uint64_t{366} * 24 * 3600 * 1000000;  // a year

// A time that a peer tells, as a number and as what cores reckon with: beyond a year it is a year.
constexpr uint64_t budget_us(uint64_t us) { return std::min(us, kMaxBudgetUs); }
constexpr Duration budget(uint64_t us) { return from_us(static_cast<int64_t>(budget_us(us))); }

static_assert(kMaxBatch * 12 < kMaxEnvelope, "a batch of ids must fit into an envelope");
static_assert(kMaxLevels * (kMaxNameBytes + 16) + kMaxTextBytes < kMaxEnvelope / 16,
              "a request must be small");

}  // namespace redoubt::wire
