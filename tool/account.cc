// Counting and judging; see account.h.
#include "tool/account.h"

#include <algorithm>

namespace redoubt::tool {
namespace {
constexpr std::array kNames{"ok", "late", "expired", "refused", "failed", "lost", "cancelled"};
static_assert(kNames.size() == kOutcomes);

uint64_t ns(Duration duration) {
  return static_cast<uint64_t>(std::max<Duration>(duration, Duration::zero()).count());
}
}  // namespace

const char* name_of(Outcome outcome) { return kNames[static_cast<size_t>(outcome)]; }

Outcome judge(const Reply& reply, const Limits& limits) {
  switch (reply.status) {
    case Status::kOk:
      if (reply.latency > limits.deadline) return Outcome::kExpired;
      return limits.wait > Duration::zero() && reply.wait > limits.wait ? Outcome::kLate : Outcome::kOk;
    case Status::kFailed:
      return Outcome::kFailed;
    case Status::kRefused:
      return Outcome::kRefused;
    case Status::kExpired:
      return reply.answered ? Outcome::kExpired : Outcome::kLost;
    // A broker's "cancelled" to somebody who did not cancel is no outcome.
    case Status::kCancelled:
      return reply.answered ? Outcome::kLost : Outcome::kCancelled;
    case Status::kNoBroker:
      return Outcome::kLost;
  }
  return Outcome::kLost;
}

void Account::submitted(Time now) {
  ++sent;
  if (now < first) first = now;
}

void Account::ended(const Reply& reply, Outcome outcome, Duration latency) {
  ++outcomes[static_cast<size_t>(outcome)];
  if (reply.answered && reply.finished > last) last = reply.finished;
  if (std::string& example = examples[static_cast<size_t>(outcome)]; example.empty()) {
    if (reply.reason != Refusal::kNone) example = name_of(reply.reason);
    if (!reply.text.empty()) example += (example.empty() ? "" : ": ") + reply.text;
  }
  if (outcome == Outcome::kRefused) refusal_ns.record(ns(latency));
  if (outcome != Outcome::kOk && outcome != Outcome::kLate) return;
  latency_ns.record(ns(latency));
  wait_ns.record(ns(reply.wait));
  for (const LevelTiming& level : reply.levels) copies += level.copies;
}

uint64_t Account::ended() const {
  uint64_t sum = 0;
  for (const uint64_t count : outcomes) sum += count;
  return sum;
}

void Account::merge(const Account& other) {
  sent += other.sent;
  for (size_t i = 0; i < kOutcomes; ++i) {
    outcomes[i] += other.outcomes[i];
    if (examples[i].empty()) examples[i] = other.examples[i];
  }
  duplicated += other.duplicated;
  repeated += other.repeated;
  unexpected += other.unexpected;
  // Every client sees the same take-overs.
  failovers = std::max(failovers, other.failovers);
  copies += other.copies;
  latency_ns.merge(other.latency_ns);
  wait_ns.merge(other.wait_ns);
  refusal_ns.merge(other.refusal_ns);
  first = std::min(first, other.first);
  last = std::max(last, other.last);
}

double Account::seconds() const { return first < last ? to_seconds(last - first) : 0; }

bool Account::clean(bool require_all) const {
  // A request without any outcome is a bug of the client library; it is shown as lost.
  const bool none_lost = of(Outcome::kLost) == 0 && ended() >= sent;
  return none_lost && duplicated == 0 && unexpected == 0 && (!require_all || answered() == sent);
}

}  // namespace redoubt::tool
