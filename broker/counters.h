// What the broker counts. Plain numbers: the admin thread gets a copy.
#pragma once

#include <array>
#include <cstdint>

#include "wire/message.h"

namespace redoubt::broker {

// How a dispatched copy ended, seen from the manager. Every dispatched copy ends in exactly one of these.
enum class CopyFate : uint8_t { kWon, kHaltedQueued, kHaltedRunning, kExpired, kFailed, kLost, kWasted };
inline constexpr size_t kCopyFates = 7;
inline constexpr std::array kCopyFateNames{"won",    "halted_queued", "halted_running", "expired",
                                           "failed", "lost",          "wasted"};
static_assert(kCopyFateNames.size() == kCopyFates);

// Why a result was dropped.
enum class LateResult : uint8_t { kUnknownCopy, kForeign, kStaleEpoch };
inline constexpr size_t kLateResults = 3;
inline constexpr std::array kLateResultNames{"unknown_copy", "foreign", "stale_epoch"};
static_assert(kLateResultNames.size() == kLateResults);

inline constexpr size_t kStatuses = static_cast<size_t>(wire::Status::kCancelled) + 1;
inline constexpr size_t kRefusals = static_cast<size_t>(wire::Refusal::kTooLate) + 1;

struct Counters {
  std::array<uint64_t, kStatuses> requests{};
  std::array<uint64_t, kRefusals> refusals{};
  std::array<uint64_t, kCopyFates> copies{};
  std::array<uint64_t, kLateResults> late_results{};
  uint64_t dispatched = 0;  // with those that were adopted
  uint64_t adopted = 0;     // copies of an earlier manager (or link) that replicas still had
  uint64_t admitted = 0;
  uint64_t joined = 0;          // re-sends of requests that are still running
  uint64_t answered_again = 0;  // re-sends of requests that had ended
  uint64_t retried = 0;         // copies sent because another failed or was lost
  // Copies beyond the first of a request at a level, and why there were no more.
  uint64_t hedges = 0, extras = 0, extras_gave_way = 0;
  uint64_t backups_planned = 0, backups_sent = 0, backups_cancelled = 0, backups_without_slot = 0;
  uint64_t rescued_by_spares = 0;  // copies that a replica lost and a spare one got
  uint64_t too_late = 0;           // requests that could no longer end in time (auto)
  uint64_t allowance_spent = 0;    // extra copies that were not sent because of that
  uint64_t started_expired = 0;    // executions that began after their deadline
  uint64_t replicas_lost = 0;
  uint64_t clients_lost = 0;  // their links went, also of those that had ended as they should
  uint64_t failovers = 0;     // times this broker took over
  uint64_t sent_again = 0;    // inherited requests that nobody held
  uint64_t standbys_lost = 0;

  template <class Enum, size_t N>
  static void count(std::array<uint64_t, N>& of, Enum which) {
    ++of[static_cast<size_t>(which)];
  }
};

}  // namespace redoubt::broker
