// The words for the enumerations of message.h. They appear in logs, metrics and JSON: a contract, add but
// never change.
#include <array>

#include "core/check.h"
#include "wire/message.h"

namespace redoubt::wire {
namespace {

template <class Enum, size_t N>
const char* pick(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  CHECK(index < N);
  return names[index];
}

constexpr std::array kRoles{"unknown", "client", "replica", "broker"};
constexpr std::array kStatuses{"ok", "failed", "refused", "expired", "cancelled"};
constexpr std::array kRefusals{"none",         "queue_full", "rate",     "no_replica",  "too_large",
                               "client_limit", "invalid",    "stopping", "result_gone", "too_late"};
constexpr std::array kRedundancies{"default", "single", "per-level", "paths",
                                   "backup",  "spare",  "hedge",     "auto"};
constexpr std::array kDisposals{"default", "none", "expire", "two-phase", "on-completion", "on-start"};
constexpr std::array kFates{"ok", "failed", "expired", "halted_queued", "halted_running"};
constexpr std::array kCloseReasons{
    "none",          "version",   "cluster",  "role",         "duplicate",      "unknown_message",
    "unknown_field", "malformed", "oversize", "out_of_order", "handshake_time", "too_many_clients",
    "slow",          "silent",    "replaced", "stopping",     "group"};
constexpr std::array kKinds{"voter", "witness", "learner"};
constexpr std::array kMessages{
    "nothing",      "hello",    "welcome", "goodbye", "dummy",   "submit",     "cancel",   "acknowledge",
    "reply",        "register", "copy",    "halt",    "started", "done",       "leaving",  "status_query",
    "status_reply", "announce", "holding", "adopt",   "enlist",  "pulse",      "vote_ask", "vote",
    "hand_over",    "collect",  "add",     "remove",  "mark",    "client_gone"};
static_assert(kMessages.size() == std::variant_size_v<Message>);
static_assert(kRefusals.size() == static_cast<size_t>(Refusal::kTooLate) + 1);
static_assert(kCloseReasons.size() == static_cast<size_t>(CloseReason::kGroup) + 1);
static_assert(kRedundancies.size() == static_cast<size_t>(Redundancy::kAuto) + 1);
static_assert(kDisposals.size() == static_cast<size_t>(Disposal::kOnStart) + 1);
static_assert(kFates.size() == static_cast<size_t>(Fate::kHaltedRunning) + 1);

}  // namespace

const char* name_of(Role role) { return pick(kRoles, role); }
const char* name_of(Status status) { return pick(kStatuses, status); }
const char* name_of(Refusal reason) { return pick(kRefusals, reason); }
const char* name_of(Redundancy redundancy) { return pick(kRedundancies, redundancy); }
const char* name_of(Disposal disposal) { return pick(kDisposals, disposal); }
const char* name_of(Fate fate) { return pick(kFates, fate); }
const char* name_of(CloseReason reason) { return pick(kCloseReasons, reason); }
const char* name_of(Kind kind) { return pick(kKinds, kind); }
const char* name_of(const Message& message) { return kMessages[message.index()]; }

}  // namespace redoubt::wire
