// Every kind of message out of its protobuf object, with every limit; see parse.h.
#include "wire/parse.h"

#include <algorithm>

#include "frame.pb.h"
#include "wire/limits.h"
#include "wire/reuse.h"
#include "wire/scratch.h"

namespace redoubt::wire {
namespace {

constexpr Fault kFine{};
constexpr Fault kUnknown{CloseReason::kUnknownField, "a field this version does not know"};

template <class... Parts>
bool knows(const Parts&... parts) {
  return (parts.unknown_fields().empty() && ...);
}

template <class Enum>
bool to_enum(uint32_t number, Enum last, Enum& out) {
  if (number > static_cast<uint32_t>(last)) return false;
  out = static_cast<Enum>(number);
  return true;
}

Epoch get(const proto::Epoch& from) { return {from.number(), from.broker()}; }
Load get(const proto::Load& from) { return {from.queued(), from.running()}; }

Fault get(const proto::Hello& from, Hello& to) {
  if (!knows(from)) return kUnknown;
  if (from.name().size() > kMaxNameBytes || from.cluster().size() > kMaxNameBytes)
    return {CloseReason::kOversize, "a name over the limit"};
  to.version_min = from.version_min();
  to.version_max = from.version_max();
  to.role = static_cast<Role>(from.role());
  to.name = from.name();
  to.cluster = from.cluster();
  to.incarnation = from.incarnation();
  to.link_generation = from.link_generation();
  to.sent_us = from.sent_us();
  return kFine;
}

Fault get(const proto::Welcome& from, Welcome& to) {
  if (!knows(from, from.epoch())) return kUnknown;
  if (from.name().size() > kMaxNameBytes) return {CloseReason::kOversize, "a name over the limit"};
  to.version = from.version();
  to.name = from.name();
  to.epoch = get(from.epoch());
  to.max_payload = std::min(from.max_payload(), kMaxMaxPayload);
  to.heartbeat_us = std::min(from.heartbeat_us(), kMaxBudgetUs);
  to.dead_after_us = std::min(from.dead_after_us(), kMaxBudgetUs);
  to.sent_us = from.sent_us();
  return kFine;
}

Fault get(const proto::Goodbye& from, Goodbye& to) {
  if (!knows(from)) return kUnknown;
  if (from.text().size() > kMaxTextBytes) return {CloseReason::kOversize, "a text over the limit"};
  if (!to_enum(from.reason(), CloseReason::kStopping, to.reason)) to.reason = CloseReason::kNone;
  to.text = from.text();
  return kFine;
}

Fault get(const proto::Dummy& from, Dummy& to) {
  if (!knows(from)) return kUnknown;
  to.answer = from.answer();
  to.sent_us = from.sent_us();
  to.echo_us = from.echo_us();
  return kFine;
}

Fault get(const proto::Request& from, Request& to) {
  if (!knows(from)) return kUnknown;
  if (!to_enum(from.disposal(), Disposal::kOnStart, to.disposal))
    return {CloseReason::kMalformed, "an unknown disposal"};
  to.seq = from.seq();
  // One too many is kept, for the refusal; a small frame must not become a large request.
  to.levels.resize(std::min<size_t>(static_cast<size_t>(from.levels_size()), kMaxLevels + 1));
  for (const proto::Level& level : from.levels())
    if (!knows(level)) return kUnknown;
  for (size_t i = 0; i < to.levels.size(); ++i) {
    const proto::Level& level = from.levels(static_cast<int>(i));
    to.levels[i].service = level.service();
    to.levels[i].copies = level.copies();
  }
  to.deadline_us = std::min(from.deadline_us(), kMaxBudgetUs);
  to.wait_limit_us = std::min(from.wait_limit_us(), kMaxBudgetUs);
  to.resend = from.resend();
  to.payload = {};  // of the message whose memory this is
  return kFine;
}

Fault get(const proto::Submit& from, Submit& to) {
  if (!knows(from)) return kUnknown;
  if (from.requests_size() == 0 || from.requests_size() > static_cast<int>(kMaxBatch))
    return {CloseReason::kOversize, "a batch of no request or too many"};
  to.low_water = from.low_water();
  to.sent_us = from.sent_us();
  to.requests.resize(static_cast<size_t>(from.requests_size()));
  for (int i = 0; i < from.requests_size(); ++i)
    if (const Fault fault = get(from.requests(i), to.requests[static_cast<size_t>(i)]);
        fault.reason != CloseReason::kNone)
      return fault;
  return kFine;
}

Fault get(const proto::Cancel& from, Cancel& to) {
  if (!knows(from)) return kUnknown;
  if (from.seqs_size() > static_cast<int>(kMaxBatch))
    return {CloseReason::kOversize, "too many ids in one message"};
  to.low_water = from.low_water();
  to.seqs.assign(from.seqs().begin(), from.seqs().end());
  return kFine;
}

Fault get(const proto::Acknowledge& from, Acknowledge& to) {
  if (!knows(from)) return kUnknown;
  to.low_water = from.low_water();
  return kFine;
}

Fault get(const proto::Reply& from, Reply& to) {
  if (!knows(from)) return kUnknown;
  if (!to_enum(from.status(), Status::kCancelled, to.status) ||
      !to_enum(from.reason(), Refusal::kResultGone, to.reason))
    return {CloseReason::kMalformed, "an unknown status or reason"};
  if (from.levels_size() > static_cast<int>(kMaxLevels)) return {CloseReason::kOversize, "too many levels"};
  to.seq = from.seq();
  to.text = from.text();
  to.level = from.level();
  to.running = from.running();
  to.wait_us = from.wait_us();
  to.levels.resize(static_cast<size_t>(from.levels_size()));
  for (int i = 0; i < from.levels_size(); ++i) {
    const proto::LevelReport& report = from.levels(i);
    if (!knows(report)) return kUnknown;
    LevelReport& level = to.levels[static_cast<size_t>(i)];
    level.service = report.service();
    level.replica = report.replica();
    level.copies = report.copies();
    level.wait_us = report.wait_us();
    level.service_us = report.service_us();
  }
  return kFine;
}

Fault get(const proto::Register& from, Register& to) {
  if (!knows(from)) return kUnknown;
  if (from.services_size() == 0 || from.services_size() > static_cast<int>(kMaxServices))
    return {CloseReason::kOversize, "a replica of no service or too many"};
  if (from.workers() == 0 || from.workers() > kMaxWorkers)
    return {CloseReason::kOversize, "a replica of no worker or too many"};
  for (const std::string& service : from.services())
    if (service.empty() || service.size() > kMaxNameBytes)
      return {CloseReason::kOversize, "a service name that is empty or over the limit"};
  to.services.assign(from.services().begin(), from.services().end());
  to.workers = from.workers();
  to.queue_limit = from.queue_limit();
  return kFine;
}

Fault get(const proto::Copy& from, Copy& to) {
  if (!knows(from, from.epoch())) return kUnknown;
  to.copy = from.copy();
  to.epoch = get(from.epoch());
  to.service = from.service();
  to.level = from.level();
  to.request = {from.client(), from.seq()};
  to.attempt = from.attempt();
  to.deadline_us = std::min(from.deadline_us(), kMaxBudgetUs);
  to.wait_us = std::min(from.wait_us(), kMaxBudgetUs);
  to.limits_wait = from.limits_wait();
  to.tell_start = from.tell_start();
  to.sent_us = from.sent_us();
  return kFine;
}

Fault get(const proto::Halt& from, Halt& to) {
  if (!knows(from)) return kUnknown;
  if (from.copies_size() > static_cast<int>(kMaxBatch))
    return {CloseReason::kOversize, "too many ids in one message"};
  to.copies.assign(from.copies().begin(), from.copies().end());
  return kFine;
}

Fault get(const proto::Started& from, Started& to) {
  if (!knows(from, from.epoch(), from.load())) return kUnknown;
  to.copy = from.copy();
  to.epoch = get(from.epoch());
  to.load = get(from.load());
  return kFine;
}

Fault get(const proto::Done& from, Done& to) {
  if (!knows(from, from.epoch(), from.load())) return kUnknown;
  if (!to_enum(from.fate(), Fate::kHaltedRunning, to.fate))
    return {CloseReason::kMalformed, "an unknown fate"};
  if (from.text().size() > kMaxTextBytes) return {CloseReason::kOversize, "a text over the limit"};
  to.copy = from.copy();
  to.epoch = get(from.epoch());
  to.level = from.level();
  to.text = from.text();
  to.wait_ns = std::min(from.wait_ns(), kMaxBudgetUs * 1000);
  to.service_ns = std::min(from.service_ns(), kMaxBudgetUs * 1000);
  to.started_expired = from.started_expired();
  to.load = get(from.load());
  return kFine;
}

template <class From, class To>
Fault empty(const From& from, To&) {
  return knows(from) ? kFine : kUnknown;
}

Fault get(const proto::Envelope& from, Message& out) {
  if (!knows(from)) return {CloseReason::kUnknownMessage, "a kind of message this version does not know"};
  switch (from.message_case()) {
    case proto::Envelope::kHello:
      return get(from.hello(), reuse<Hello>(out));
    case proto::Envelope::kWelcome:
      return get(from.welcome(), reuse<Welcome>(out));
    case proto::Envelope::kGoodbye:
      return get(from.goodbye(), reuse<Goodbye>(out));
    case proto::Envelope::kDummy:
      return get(from.dummy(), reuse<Dummy>(out));
    case proto::Envelope::kSubmit:
      return get(from.submit(), reuse<Submit>(out));
    case proto::Envelope::kCancel:
      return get(from.cancel(), reuse<Cancel>(out));
    case proto::Envelope::kAcknowledge:
      return get(from.acknowledge(), reuse<Acknowledge>(out));
    case proto::Envelope::kReply:
      return get(from.reply(), reuse<Reply>(out));
    case proto::Envelope::kRegister:
      return get(from.register_(), reuse<Register>(out));
    case proto::Envelope::kCopy:
      return get(from.copy(), reuse<Copy>(out));
    case proto::Envelope::kHalt:
      return get(from.halt(), reuse<Halt>(out));
    case proto::Envelope::kStarted:
      return get(from.started(), reuse<Started>(out));
    case proto::Envelope::kDone:
      return get(from.done(), reuse<Done>(out));
    case proto::Envelope::kLeaving:
      return empty(from.leaving(), reuse<Leaving>(out));
    case proto::Envelope::kStatusQuery:
      return empty(from.status_query(), reuse<StatusQuery>(out));
    case proto::Envelope::kStatusReply:
      return empty(from.status_reply(), reuse<StatusReply>(out));
    case proto::Envelope::MESSAGE_NOT_SET:
      break;
  }
  return {CloseReason::kUnknownMessage, "a frame without a message"};
}

}  // namespace

Fault parse(std::string_view envelope, Message& out, std::vector<uint32_t>& shares) {
  Scratch scratch;
  proto::Envelope& parsed = scratch.envelope();
  if (!parsed.ParseFromArray(envelope.data(), static_cast<int>(envelope.size())))
    return {CloseReason::kMalformed, "an envelope that is no protobuf"};
  shares.clear();
  for (const proto::Request& request : parsed.submit().requests()) shares.push_back(request.payload_size());
  return get(parsed, out);
}

}  // namespace redoubt::wire
