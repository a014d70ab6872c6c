// What the parts of the decoder share: how a field is recognised, what can be wrong, and which message is
// read where. Private to wire/.
#pragma once

#include <algorithm>
#include <vector>

#include "wire/codec.h"
#include "wire/limits.h"
#include "wire/protobuf.h"

namespace redoubt::wire {

constexpr uint32_t varint_tag(uint32_t field) { return tag_of(field, WireType::kVarint); }
constexpr uint32_t fixed_tag(uint32_t field) { return tag_of(field, WireType::kFixed64); }
constexpr uint32_t bytes_tag(uint32_t field) { return tag_of(field, WireType::kBytes); }

// What a parse found wrong, or nothing.
struct Fault {
  CloseReason reason = CloseReason::kNone;
  const char* text = "";
  explicit operator bool() const { return reason != CloseReason::kNone; }
};
inline constexpr Fault kFine{};
inline constexpr Fault kUnknown{CloseReason::kUnknownField, "a field this version does not know"};
inline constexpr Fault kBroken{CloseReason::kMalformed, "an envelope that is no protobuf"};
inline constexpr Fault kLongName{CloseReason::kOversize, "a name over the limit"};
inline constexpr Fault kHugeSeq{CloseReason::kMalformed, "a sequence number beyond any count"};
inline constexpr Fault kUnknownDisposal{CloseReason::kMalformed, "an unknown disposal"};
inline constexpr Fault kUnknownRedundancy{CloseReason::kMalformed, "an unknown redundancy"};
inline constexpr Fault kTooManyThousandths{CloseReason::kMalformed, "a share above the whole"};
inline constexpr Fault kUnknownStatus{CloseReason::kMalformed, "an unknown status"};
inline constexpr Fault kUnknownReason{CloseReason::kMalformed, "an unknown reason"};
inline constexpr Fault kLongText{CloseReason::kOversize, "a text over the limit"};

// What the fields of a message left wrong: bytes that make no sense, or nothing.
inline Fault end_of(const Reader& from) { return from.ok() ? kFine : kBroken; }

// An enumeration's number; one beyond the last makes the field's message malformed.
template <class Enum>
bool to_enum(uint64_t number, Enum last, Enum& out) {
  if (number > static_cast<uint64_t>(last)) return false;
  out = static_cast<Enum>(number);
  return true;
}

// A share of the whole, in thousandths.
template <class Number>
bool get_thousandths(Reader& from, Number& out) {
  const uint64_t number = from.number();
  if (number > 1000) return false;
  out = static_cast<Number>(number);
  return true;
}

// The next of the items that are used again from message to message; what is left over is cut off at the end.
// Beyond `most` the last one is overwritten: a small frame must not become a large message, and one too many
// is enough to refuse it by name.
template <class Items>
auto& next_item(Items& items, size_t& used, size_t most) {
  if (used > most) return items[most];
  if (used == items.size()) items.emplace_back();
  return items[used++];
}

// A list of ids in one field, added to those that are there; more than `most` altogether are a fault.
Fault get_ids(Reader from, bool fixed, std::vector<uint64_t>& to, size_t most = kMaxBatch);

// decode_link.cc
Fault get(Reader from, Epoch& to);
Fault get(Reader from, Hello& to);
Fault get(Reader from, Welcome& to);
Fault get(Reader from, Announce& to);
Fault get(Reader from, Goodbye& to);
Fault get(Reader from, Dummy& to);

// decode_client.cc. `shares`: each request's part of the payload.
Fault get(Reader from, Level& to);
Fault get(Reader from, Submit& to, std::vector<uint32_t>& shares);
Fault get(Reader from, Cancel& to);
Fault get(Reader from, Acknowledge& to);
Fault get(Reader from, Reply& to);

// decode_replica.cc
Fault get(Reader from, Register& to);
Fault get(Reader from, Copy& to);
Fault get(Reader from, Halt& to);
Fault get(Reader from, Started& to);
Fault get(Reader from, Done& to);
Fault get(Reader from, Holding& to);
Fault get(Reader from, Adopt& to);

// decode_broker.cc
Fault get(Reader from, Enlist& to);
Fault get(Reader from, Pulse& to);
Fault get(Reader from, VoteAsk& to);
Fault get(Reader from, Vote& to);
Fault get(Reader from, HandOver& to);

// decode_stream.cc
Fault get(Reader from, Collect& to);
Fault get(Reader from, Add& to);
Fault get(Reader from, Remove& to);
Fault get(Reader from, Mark& to);
Fault get(Reader from, ClientGone& to);

}  // namespace redoubt::wire
