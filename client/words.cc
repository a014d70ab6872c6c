// Sentences and names; see words.h and request.h.
#include "client/words.h"

#include "core/address.h"
#include "core/duration_text.h"
#include "wire/limits.h"

namespace redoubt {

// The public enumerations are the wire's own, kept apart so that what is installed needs neither wire/ nor
// protobuf.
static_assert(static_cast<int>(Status::kCancelled) == static_cast<int>(wire::Status::kCancelled));
static_assert(static_cast<int>(Refusal::kTooLate) == static_cast<int>(wire::Refusal::kTooLate));
static_assert(static_cast<int>(Redundancy::kAuto) == static_cast<int>(wire::Redundancy::kAuto));
static_assert(static_cast<int>(Disposal::kOnStart) == static_cast<int>(wire::Disposal::kOnStart));

const char* name_of(Status status) {
  return status == Status::kNoBroker ? "no_broker" : wire::name_of(static_cast<wire::Status>(status));
}
const char* name_of(Refusal reason) { return wire::name_of(static_cast<wire::Refusal>(reason)); }
const char* name_of(Redundancy redundancy) {
  return wire::name_of(static_cast<wire::Redundancy>(redundancy));
}
const char* name_of(Disposal disposal) { return wire::name_of(static_cast<wire::Disposal>(disposal)); }

namespace client {
namespace {

std::string invalid_level(const Level& level, size_t number) {
  const std::string where = "level " + std::to_string(number) + ": ";
  if (level.service.empty()) return where + "the service has no name";
  if (level.service.size() > wire::kMaxNameBytes)
    return where + "a service name of " + std::to_string(level.service.size()) + " bytes, the limit is " +
           std::to_string(wire::kMaxNameBytes);
  if (level.copies > wire::kMaxCopies)
    return where + std::to_string(level.copies) + " copies, the limit is " + std::to_string(wire::kMaxCopies);
  return {};
}

std::string readable(Duration duration) {
  // Down to the microsecond: the rest of a computed deadline's digits tells a person nothing.
  return format_duration(std::chrono::duration_cast<std::chrono::microseconds>(duration));
}

// Shares travel in thousandths: what rounds to nothing would be taken for "not given".
bool is_share(double share, double most) { return share >= 0.0005 && share <= most; }

std::string invalid_policy(const Request& request) {
  if (request.redundancy > Redundancy::kAuto) return "an unknown redundancy";
  if (request.disposal > Disposal::kOnStart) return "an unknown disposal";
  if (!is_share(request.first_phase, 1)) return "the first phase must be from 0.001 to 1";
  if (!is_share(request.service_class, 0.9995)) return "the class must be from 0.001 to 0.999";
  if (request.service_time < Duration::zero()) return "the service time must not be negative";
  return {};
}

}  // namespace

std::string what_is_invalid(const Request& request) {
  if (request.levels.empty()) return "a request needs at least one level";
  if (request.levels.size() > wire::kMaxLevels)
    return std::to_string(request.levels.size()) + " levels, the limit is " +
           std::to_string(wire::kMaxLevels);
  size_t number = 0;
  for (const Level& level : request.levels)
    if (std::string wrong = invalid_level(level, ++number); !wrong.empty()) return wrong;
  if (request.deadline <= Duration::zero()) return "the deadline must be above zero";
  if (request.wait_limit < Duration::zero()) return "the wait limit must not be negative";
  return invalid_policy(request);
}

std::string too_large_text(uint64_t size, uint64_t limit) {
  return "a payload of " + format_size({size}) + ", the broker's limit is " + format_size({limit});
}

std::string client_limit_text(uint64_t limit) {
  return "the oldest open request and the newest may be " + std::to_string(limit) +
         " apart: wait for some to end";
}

std::string expiry_text(const wire::Request& request, uint32_t level, bool running) {
  const std::string service = level < request.levels.size() ? " (" + request.levels[level].service + ")" : "";
  return "expired at level " + std::to_string(level + 1) + service +
         (running ? ", running" : ", waiting in a queue");
}

std::string silence_text(Duration deadline) { return "no answer within " + readable(deadline); }
std::string unreached_text(Duration deadline) {
  return "no broker that rules was reached within " + readable(deadline);
}

}  // namespace client
}  // namespace redoubt
