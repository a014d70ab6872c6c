// What the parts of the encoder share: a frame's head, and the messages within messages. Private to wire/.
// Field numbers are those of proto/.
#pragma once

#include <cstring>

#include "core/check.h"
#include "wire/codec.h"
#include "wire/limits.h"
#include "wire/protobuf.h"

namespace redoubt::wire {

// Field numbers of proto/frame.proto, Envelope.
enum FrameKind : uint32_t {
  kHello = 1,
  kWelcome = 2,
  kGoodbye = 3,
  kDummy = 4,
  kAnnounce = 5,
  kSubmit = 16,
  kCancel = 17,
  kAcknowledge = 18,
  kReply = 19,
  kRegister = 32,
  kCopy = 33,
  kHalt = 34,
  kStarted = 35,
  kDone = 36,
  kLeaving = 37,
  kHolding = 38,
  kAdopt = 39,
  kStatusQuery = 48,
  kStatusReply = 49,
  kEnlist = 64,
  kPulse = 65,
  kVoteAsk = 66,
  kVote = 67,
  kHandOver = 68,
  kCollect = 69,
  kAdd = 70,
  kRemove = 71,
  kMark = 72,
  kClientGone = 73,
};

// One frame's head and envelope: `body` writes the message's fields, which take at most `most` bytes.
template <class Body>
void write_envelope(FrameKind kind, size_t most, uint64_t payload_size, Outbox& out, Body body) {
  CHECK(payload_size <= kMaxMaxPayload);
  const size_t room = kFrameHead + 2 * kMaxField + most;
  char* const frame = out.reserve(room);
  Writer writer(frame + kFrameHead);
  writer.message(kind, body);
  const auto size = static_cast<size_t>(writer.at() - frame);
  CHECK(size <= room && size - kFrameHead <= kMaxEnvelope);
  const auto envelope_length = static_cast<uint32_t>(size - kFrameHead);
  const auto payload_length = static_cast<uint32_t>(payload_size);
  std::memcpy(frame, &envelope_length, 4);
  std::memcpy(frame + 4, &payload_length, 4);
  out.commit(size);
}

inline constexpr size_t kMostOfEpoch = 3 * kMaxField;

inline void put(uint32_t field, const Epoch& epoch, Writer& to) {
  to.message(field, [&](Writer& in) {
    in.number(1, epoch.number);
    in.number(2, epoch.broker);
  });
}

inline size_t most_of(const Levels& levels) {
  size_t most = 0;
  for (const Level& level : levels) most += 6 * kMaxField + level.service.size();
  return most;
}

inline void put(uint32_t field, const Levels& levels, Writer& to) {
  for (const Level& level : levels) {
    to.message(field, [&](Writer& one) {
      one.bytes(1, level.service);
      one.number(2, level.copies);
      one.number(3, static_cast<uint64_t>(level.policy.redundancy));
      one.number(4, static_cast<uint64_t>(level.policy.disposal));
      one.number(5, level.policy.first_phase);
    });
  }
}

// A list of ids in one field.
inline void put_packed(uint32_t field, const std::vector<uint64_t>& ids, bool fixed, Writer& to) {
  if (ids.empty()) return;
  to.message(field, [&](Writer& in) {
    for (const uint64_t id : ids) fixed ? in.raw_fixed64(id) : in.raw(id);
  });
}

}  // namespace redoubt::wire
