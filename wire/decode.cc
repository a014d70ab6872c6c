// Bytes -> messages; see codec.h. Whatever arrives, the answer is a message, "need more" or a named reason.
// Field numbers are those of proto/.
#include <algorithm>
#include <cstring>

#include "wire/codec.h"
#include "wire/limits.h"
#include "wire/protobuf.h"

namespace redoubt::wire {
namespace {

constexpr uint32_t varint_tag(uint32_t field) { return tag_of(field, WireType::kVarint); }
constexpr uint32_t fixed_tag(uint32_t field) { return tag_of(field, WireType::kFixed64); }
constexpr uint32_t bytes_tag(uint32_t field) { return tag_of(field, WireType::kBytes); }

// The alternative's object with its memory, if `message` held one already.
template <class T>
T& reuse(Message& message) {
  if (T* same = std::get_if<T>(&message)) return *same;
  return message.emplace<T>();
}

// What a parse found wrong, or nothing.
struct Fault {
  CloseReason reason = CloseReason::kNone;
  const char* text = "";
  explicit operator bool() const { return reason != CloseReason::kNone; }
};
constexpr Fault kFine{};
constexpr Fault kUnknown{CloseReason::kUnknownField, "a field this version does not know"};
constexpr Fault kBroken{CloseReason::kMalformed, "an envelope that is no protobuf"};
constexpr Fault kLongName{CloseReason::kOversize, "a name over the limit"};
constexpr Fault kLongText{CloseReason::kOversize, "a text over the limit"};

// What the fields of a message left wrong: bytes that make no sense, or nothing.
Fault end_of(const Reader& from) { return from.ok() ? kFine : kBroken; }

// An enumeration's number; one beyond the last makes the field's message malformed.
template <class Enum>
bool to_enum(uint64_t number, Enum last, Enum& out) {
  if (number > static_cast<uint64_t>(last)) return false;
  out = static_cast<Enum>(number);
  return true;
}

uint64_t budget(uint64_t us) { return std::min(us, kMaxBudgetUs); }

Fault get(Reader from, Epoch& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.number = from.number();
        break;
      case varint_tag(2):
        to.broker = from.number32();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Load& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.queued = from.number32();
        break;
      case varint_tag(2):
        to.running = from.number32();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Hello& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.version_min = from.number32();
        break;
      case varint_tag(2):
        to.version_max = from.number32();
        break;
      case varint_tag(3):
        if (!to_enum(from.number(), Role::kBroker, to.role))
          return {CloseReason::kMalformed, "an unknown role"};
        break;
      case bytes_tag(4):
        to.name = from.bytes();
        break;
      case bytes_tag(5):
        to.cluster = from.bytes();
        break;
      case fixed_tag(6):
        to.incarnation = from.fixed64();
        break;
      case varint_tag(7):
        to.link_generation = from.number();
        break;
      case varint_tag(8):
        to.sent_us = from.signed_number();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.name.size() > kMaxNameBytes || to.cluster.size() > kMaxNameBytes) return kLongName;
  return end_of(from);
}

Fault get(Reader from, Welcome& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.version = from.number32();
        break;
      case bytes_tag(2):
        to.name = from.bytes();
        break;
      case bytes_tag(3):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(4):
        to.max_payload = std::min(from.number(), kMaxMaxPayload);
        break;
      case varint_tag(5):
        to.heartbeat_us = budget(from.number());
        break;
      case varint_tag(6):
        to.dead_after_us = budget(from.number());
        break;
      case varint_tag(7):
        to.sent_us = from.signed_number();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.name.size() > kMaxNameBytes) return kLongName;
  return end_of(from);
}

Fault get(Reader from, Goodbye& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      // A reason of a newer version is still a goodbye.
      case varint_tag(1):
        if (!to_enum(from.number(), CloseReason::kStopping, to.reason)) to.reason = CloseReason::kNone;
        break;
      case bytes_tag(2):
        to.text = from.bytes();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.text.size() > kMaxTextBytes) return kLongText;
  return end_of(from);
}

Fault get(Reader from, Dummy& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.answer = from.flag();
        break;
      case varint_tag(2):
        to.sent_us = from.signed_number();
        break;
      case varint_tag(3):
        to.echo_us = from.signed_number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Level& to) {
  to.service.clear();
  to.copies = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        to.service = from.bytes();
        break;
      case varint_tag(2):
        to.copies = from.number32();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

// The next of the items that are used again from message to message; what is left over is cut off at the end.
template <class T>
T& next_item(std::vector<T>& items, size_t& used) {
  if (used == items.size()) items.emplace_back();
  return items[used++];
}

Fault get(Reader from, Request& to, uint32_t& payload_size) {
  to.seq = to.deadline_us = to.wait_limit_us = 0;
  to.disposal = Disposal::kNone;
  to.resend = false;
  to.payload = {};
  payload_size = 0;
  size_t levels = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.seq = from.number();
        break;
      case bytes_tag(2):
        if (const Fault fault = get(Reader(from.bytes()), next_item(to.levels, levels))) return fault;
        break;
      case varint_tag(3):
        to.deadline_us = budget(from.number());
        break;
      case varint_tag(4):
        to.wait_limit_us = budget(from.number());
        break;
      case varint_tag(5):
        if (!to_enum(from.number(), Disposal::kOnStart, to.disposal))
          return {CloseReason::kMalformed, "an unknown disposal"};
        break;
      case varint_tag(6):
        to.resend = from.flag();
        break;
      case varint_tag(7):
        payload_size = from.number32();
        break;
      default:
        return kUnknown;
    }
  }
  to.levels.resize(levels);
  return end_of(from);
}

Fault get(Reader from, Submit& to, std::vector<uint32_t>& shares) {
  to.low_water = 0;
  to.sent_us = 0;
  shares.clear();
  size_t requests = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.low_water = from.number();
        break;
      case varint_tag(2):
        to.sent_us = from.signed_number();
        break;
      case bytes_tag(3):
        if (requests == kMaxBatch) return {CloseReason::kOversize, "a batch of too many requests"};
        if (const Fault fault =
                get(Reader(from.bytes()), next_item(to.requests, requests), shares.emplace_back()))
          return fault;
        break;
      default:
        return kUnknown;
    }
  }
  if (requests == 0) return {CloseReason::kMalformed, "a batch of no request"};
  to.requests.resize(requests);
  return end_of(from);
}

Fault get_ids(Reader from, bool fixed, std::vector<uint64_t>& to) {
  while (from.ok() && !from.at_end()) {
    if (to.size() == kMaxBatch) return {CloseReason::kOversize, "too many ids in one message"};
    to.push_back(fixed ? from.fixed64() : from.number());
  }
  return end_of(from);
}

Fault get(Reader from, Cancel& to) {
  to.low_water = 0;
  to.seqs.clear();
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.low_water = from.number();
        break;
      case bytes_tag(2):
        if (const Fault fault = get_ids(Reader(from.bytes()), false, to.seqs)) return fault;
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Acknowledge& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.low_water = from.number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, LevelReport& to) {
  to.service.clear();
  to.replica.clear();
  to.copies = 0;
  to.wait_us = to.service_us = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        to.service = from.bytes();
        break;
      case bytes_tag(2):
        to.replica = from.bytes();
        break;
      case varint_tag(3):
        to.copies = from.number32();
        break;
      case varint_tag(4):
        to.wait_us = from.number();
        break;
      case varint_tag(5):
        to.service_us = from.number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Reply& to) {
  to.seq = to.wait_us = 0;
  to.status = Status::kOk;
  to.reason = Refusal::kNone;
  to.text.clear();
  to.level = 0;
  to.running = false;
  size_t levels = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.seq = from.number();
        break;
      case varint_tag(2):
        if (!to_enum(from.number(), Status::kCancelled, to.status))
          return {CloseReason::kMalformed, "an unknown status"};
        break;
      case varint_tag(3):
        if (!to_enum(from.number(), Refusal::kResultGone, to.reason))
          return {CloseReason::kMalformed, "an unknown reason"};
        break;
      case bytes_tag(4):
        to.text = from.bytes();
        break;
      case varint_tag(5):
        to.level = from.number32();
        break;
      case varint_tag(6):
        to.running = from.flag();
        break;
      case varint_tag(7):
        to.wait_us = from.number();
        break;
      case bytes_tag(8):
        if (const Fault fault = get(Reader(from.bytes()), next_item(to.levels, levels))) return fault;
        break;
      default:
        return kUnknown;
    }
  }
  to.levels.resize(levels);
  return end_of(from);
}

Fault get(Reader from, Register& to) {
  to = {};
  to.workers = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        to.services.emplace_back(from.bytes());
        break;
      case varint_tag(2):
        to.workers = from.number32();
        break;
      case varint_tag(3):
        to.queue_limit = from.number32();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.services.empty() || to.services.size() > kMaxServices)
    return {CloseReason::kOversize, "a replica of no service or too many"};
  if (to.workers == 0 || to.workers > kMaxWorkers)
    return {CloseReason::kOversize, "a replica of no worker or too many"};
  for (const std::string& service : to.services)
    if (service.empty() || service.size() > kMaxNameBytes)
      return {CloseReason::kOversize, "a service name that is empty or over the limit"};
  return end_of(from);
}

Fault get(Reader from, Copy& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case fixed_tag(1):
        to.copy = from.fixed64();
        break;
      case bytes_tag(2):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(3):
        to.service = from.number32();
        break;
      case varint_tag(4):
        to.level = from.number32();
        break;
      case fixed_tag(5):
        to.request.client = from.fixed64();
        break;
      case varint_tag(6):
        to.request.seq = from.number();
        break;
      case varint_tag(7):
        to.attempt = from.number32();
        break;
      case varint_tag(8):
        to.deadline_us = budget(from.number());
        break;
      case varint_tag(9):
        to.wait_us = budget(from.number());
        break;
      case varint_tag(10):
        to.limits_wait = from.flag();
        break;
      case varint_tag(11):
        to.tell_start = from.flag();
        break;
      case varint_tag(12):
        to.sent_us = from.signed_number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Halt& to) {
  to.copies.clear();
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get_ids(Reader(from.bytes()), true, to.copies)) return fault;
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Started& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case fixed_tag(1):
        to.copy = from.fixed64();
        break;
      case bytes_tag(2):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case bytes_tag(3):
        if (const Fault fault = get(Reader(from.bytes()), to.load)) return fault;
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Done& to) {
  constexpr uint64_t kMaxNs = kMaxBudgetUs * 1000;
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case fixed_tag(1):
        to.copy = from.fixed64();
        break;
      case bytes_tag(2):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(3):
        to.level = from.number32();
        break;
      case varint_tag(4):
        if (!to_enum(from.number(), Fate::kHaltedRunning, to.fate))
          return {CloseReason::kMalformed, "an unknown fate"};
        break;
      case bytes_tag(5):
        to.text = from.bytes();
        break;
      case varint_tag(6):
        to.wait_ns = std::min(from.number(), kMaxNs);
        break;
      case varint_tag(7):
        to.service_ns = std::min(from.number(), kMaxNs);
        break;
      case varint_tag(8):
        to.started_expired = from.flag();
        break;
      case bytes_tag(9):
        if (const Fault fault = get(Reader(from.bytes()), to.load)) return fault;
        break;
      default:
        return kUnknown;
    }
  }
  if (to.text.size() > kMaxTextBytes) return kLongText;
  return end_of(from);
}

Fault get_empty(Reader from) { return from.next() ? kUnknown : end_of(from); }

// One message of the envelope. `carries` tells whether a payload may follow it.
Fault get(std::string_view envelope, Message& out, std::vector<uint32_t>& shares, bool& carries) {
  Reader from(envelope);
  const uint32_t kind = from.next();
  if (!from.ok()) return kBroken;
  if (kind == 0) return {CloseReason::kUnknownMessage, "a frame without a message"};
  if ((kind & 7) != static_cast<uint32_t>(WireType::kBytes)) return kBroken;
  const Reader body(from.bytes());
  if (!from.ok()) return kBroken;
  if (!from.at_end()) return {CloseReason::kMalformed, "an envelope of more than one message"};
  carries = false;
  switch (kind) {
    case bytes_tag(1):
      return get(body, reuse<Hello>(out));
    case bytes_tag(2):
      return get(body, reuse<Welcome>(out));
    case bytes_tag(3):
      return get(body, reuse<Goodbye>(out));
    case bytes_tag(4):
      return get(body, reuse<Dummy>(out));
    case bytes_tag(16):
      carries = true;
      return get(body, reuse<Submit>(out), shares);
    case bytes_tag(17):
      return get(body, reuse<Cancel>(out));
    case bytes_tag(18):
      return get(body, reuse<Acknowledge>(out));
    case bytes_tag(19):
      carries = true;
      return get(body, reuse<Reply>(out));
    case bytes_tag(32):
      return get(body, reuse<Register>(out));
    case bytes_tag(33):
      carries = true;
      return get(body, reuse<Copy>(out));
    case bytes_tag(34):
      return get(body, reuse<Halt>(out));
    case bytes_tag(35):
      return get(body, reuse<Started>(out));
    case bytes_tag(36):
      carries = true;
      return get(body, reuse<Done>(out));
    case bytes_tag(37):
      reuse<Leaving>(out);
      return get_empty(body);
    case bytes_tag(48):
      reuse<StatusQuery>(out);
      return get_empty(body);
    case bytes_tag(49):
      carries = true;
      reuse<StatusReply>(out);
      return get_empty(body);
    default:
      return {CloseReason::kUnknownMessage, "a kind of message this version does not know"};
  }
}

// A batch's shares of the frame's payload must add up to it.
bool add_up(const std::vector<uint32_t>& shares, uint64_t payload_size) {
  uint64_t sum = 0;
  for (const uint32_t share : shares) sum += share;
  return sum == payload_size;
}

void attach(Submit& submit, const Payload& whole, std::vector<uint32_t>& shares) {
  size_t offset = 0;
  for (size_t i = 0; i < submit.requests.size(); ++i) {
    // A small share gets bytes of its own: one slow request must not keep a whole batch in memory.
    constexpr uint32_t kOwnBelow = 4096;
    const Payload part = whole.empty() ? Payload() : whole.slice(offset, shares[i]);
    submit.requests[i].payload = shares[i] < kOwnBelow ? Payload(part.view()) : part;
    offset += shares[i];
  }
  shares.clear();
}

}  // namespace

void Decoder::set_max(uint64_t max_payload) {
  max_payload_ = max_payload;
  max_envelope_ = kMaxEnvelope;
}

Decoded Decoder::fail(CloseReason reason, std::string text) {
  why_ = reason;
  bad_text_ = std::move(text);
  input_ = {};
  return Decoded::kBad;
}

// Makes `wanted` bytes of the frame stand in one piece: in `input_` alone, or in `partial_`.
bool Decoder::gather(size_t wanted) {
  if (partial_.empty() && input_.size() >= wanted) return true;
  const size_t missing = wanted - std::min(wanted, partial_.size());
  const size_t taken = std::min(missing, input_.size());
  partial_.append(input_.substr(0, taken));
  input_.remove_prefix(taken);
  return partial_.size() >= wanted;
}

Decoded Decoder::next(Message& out) {
  if (why_ != CloseReason::kNone) return Decoded::kBad;
  if (in_payload_) return finish(out);
  if (input_.empty()) return Decoded::kNeedMore;
  if (!gather(kFrameHead)) return Decoded::kNeedMore;
  const char* head = partial_.empty() ? input_.data() : partial_.data();
  uint32_t payload_size = 0;
  std::memcpy(&envelope_size_, head, 4);
  std::memcpy(&payload_size, head + 4, 4);
  payload_size_ = payload_size;
  if (envelope_size_ > max_envelope_)
    return fail(CloseReason::kOversize, "an envelope of " + std::to_string(envelope_size_) +
                                            " bytes, the limit is " + std::to_string(max_envelope_));
  const uint64_t hard_limit = max_payload_ == 0 ? 0 : kMaxMaxPayload;
  if (payload_size_ > hard_limit)
    return fail(CloseReason::kOversize, "a payload of " + std::to_string(payload_size_) +
                                            " bytes, the limit is " + std::to_string(max_payload_));

  const size_t whole = kFrameHead + envelope_size_;
  if (!gather(whole)) return Decoded::kNeedMore;
  if (partial_.empty()) {
    const std::string_view envelope = input_.substr(kFrameHead, envelope_size_);
    input_.remove_prefix(whole);
    return parse(envelope, out);
  }
  const std::string frame = std::move(partial_);
  partial_ = {};
  return parse(std::string_view(frame).substr(kFrameHead), out);
}

Decoded Decoder::parse(std::string_view envelope, Message& out) {
  const bool complete = input_.size() >= payload_size_;
  Message& to = complete ? out : waiting_;
  bool carries = false;
  if (const Fault fault = get(envelope, to, shares_, carries)) return fail(fault.reason, fault.text);
  if (payload_size_ > 0 && !carries)
    return fail(CloseReason::kMalformed, "a payload behind a message that has none");
  if (std::get_if<Submit>(&to) && !add_up(shares_, payload_size_))
    return fail(CloseReason::kMalformed, "payload sizes that do not add up to the payload");
  skipped_ = payload_size_ > max_payload_;
  payload_ = skipped_ ? Payload() : Payload::uninitialised(payload_size_);
  payload_at_ = 0;
  in_payload_ = true;
  return finish(out);
}

// Takes in the payload's bytes; with the last one the message is whole.
Decoded Decoder::finish(Message& out) {
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(payload_size_ - payload_at_, input_.size()));
  if (taken > 0 && !skipped_) std::memcpy(payload_.writable() + payload_at_, input_.data(), taken);
  input_.remove_prefix(taken);
  payload_at_ += taken;
  if (payload_at_ < payload_size_) return Decoded::kNeedMore;
  if (waiting_.index() != 0) out = std::exchange(waiting_, Message{});
  in_payload_ = false;
  if (Submit* submit = std::get_if<Submit>(&out)) {
    if (submit->requests.size() == 1)
      submit->requests.front().payload = std::move(payload_);
    else
      skipped_ ? shares_.clear() : attach(*submit, payload_, shares_);
    payload_ = {};
  } else if (Copy* copy = std::get_if<Copy>(&out)) {
    copy->payload = std::move(payload_);
  } else if (Reply* reply = std::get_if<Reply>(&out)) {
    reply->payload = std::move(payload_);
  } else if (Done* done = std::get_if<Done>(&out)) {
    done->payload = std::move(payload_);
  } else if (StatusReply* status = std::get_if<StatusReply>(&out)) {
    status->payload = std::move(payload_);
  }
  return Decoded::kMessage;
}

std::span<char> Decoder::direct() {
  constexpr uint64_t kWorthIt = 16 * 1024;
  if (!in_payload_ || skipped_ || payload_size_ - payload_at_ < kWorthIt) return {};
  return {payload_.writable() + payload_at_, static_cast<size_t>(payload_size_ - payload_at_)};
}

}  // namespace redoubt::wire
