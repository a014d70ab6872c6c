// Account: what became of the requests of a bench: counted, timed, and judged. Pure; one object a client,
// merged at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "client/request.h"
#include "core/histogram.h"
#include "core/time.h"

namespace redoubt::tool {

// Every request ends as exactly one of these.
enum class Outcome : uint8_t {
  kOk,         // answered within deadline and wait limit
  kLate,       // answered before the deadline, but over the wait limit
  kExpired,    // deadline or limit passed, and a broker said so or answered too late
  kRefused,    // said so
  kFailed,     // the service failed
  kLost,       // nobody said anything
  kCancelled,  // this program was interrupted
};
inline constexpr size_t kOutcomes = 7;
const char* name_of(Outcome outcome);

struct Limits {
  Duration deadline{};
  Duration wait{};  // zero: none
};

Outcome judge(const Reply& reply, const Limits& limits);

struct Account {
  uint64_t sent = 0;
  std::array<uint64_t, kOutcomes> outcomes{};
  std::array<std::string, kOutcomes> examples;  // the first reason of each kind that has one
  uint64_t duplicated = 0, unexpected = 0, failovers = 0;
  uint64_t repeated = 0;    // second replies after a take-over: as it should be
  uint64_t copies = 0;      // of what was answered, over all levels
  Histogram latency_ns;     // of what was answered, from the intended time
  Histogram wait_ns;        // of what was answered
  Histogram refusal_ns;     // until the refusal was there
  Time first = kNever;      // sending
  Time last = Time::min();  // word from a broker

  uint64_t of(Outcome outcome) const { return outcomes[static_cast<size_t>(outcome)]; }
  uint64_t answered() const { return of(Outcome::kOk) + of(Outcome::kLate); }
  uint64_t ended() const;

  void submitted(Time now);
  void ended(const Reply& reply, Outcome outcome, Duration latency);
  void merge(const Account& other);

  double seconds() const;
  // Nothing lost, delivered twice or belonging to nobody; with `require_all` also everything answered.
  bool clean(bool require_all) const;
};

}  // namespace redoubt::tool
