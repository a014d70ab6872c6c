// Reads the checkpoint stream from the manager to its standbys: the second half of proto/broker.proto.
#include "wire/decode.h"

namespace redoubt::wire {

namespace {

// All but the levels and the payload, whose memory is used again.
void clear(Add& to) {
  to.epoch = {};
  to.request = {};
  to.seq = to.deadline_us = to.wait_limit_us = to.waited_us = to.low_water = to.order = 0;
  to.service_time_us = 0;
  to.service_class = 0;
  to.progress = to.same_payload = false;
  to.level = to.attempts = 0;
  to.sent_us = 0;
}

// What the manager's admission refuses must not come in by way of the stream.
Fault check(const Add& add) {
  if (add.request.seq > kMaxSeq || add.low_water > kMaxSeq || add.order > kMaxSeq) return kHugeSeq;
  if (add.levels.size() > kMaxLevels) return {CloseReason::kOversize, "too many levels"};
  for (const Level& level : add.levels) {
    if (level.service.size() > kMaxNameBytes) return kLongName;
    if (level.copies > kMaxCopies) return {CloseReason::kOversize, "too many copies at a level"};
    if (level.service.empty() || level.copies == 0)
      return {CloseReason::kMalformed, "a level of no service or no copy"};
    if (level.policy.redundancy == Redundancy::kDefault || level.policy.disposal == Disposal::kDefault)
      return {CloseReason::kMalformed, "a level whose policy has been left open"};
  }
  return kFine;
}

}  // namespace

Fault get(Reader from, Collect& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.end = from.flag();
        break;
      case varint_tag(3):
        to.seq = from.number();
        break;
      case varint_tag(4):
        to.count = from.number();
        break;
      case fixed_tag(5):
        to.hash = from.fixed64();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.seq > kMaxSeq) return kHugeSeq;
  return end_of(from);
}

Fault get(Reader from, Add& to) {
  clear(to);
  size_t levels = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.seq = from.number();
        break;
      case fixed_tag(3):
        to.request.client = from.fixed64();
        break;
      case varint_tag(4):
        to.request.seq = from.number();
        break;
      case varint_tag(5):
        to.progress = from.flag();
        break;
      case varint_tag(6):
        to.same_payload = from.flag();
        break;
      case bytes_tag(7):
        if (const Fault fault = get(Reader(from.bytes()), next_item(to.levels, levels, kMaxLevels)))
          return fault;
        break;
      case varint_tag(8):
        to.deadline_us = budget_us(from.number());
        break;
      case varint_tag(9):
        to.wait_limit_us = budget_us(from.number());
        break;
      case varint_tag(10):
        if (!get_thousandths(from, to.service_class)) return kTooManyThousandths;
        break;
      case varint_tag(11):
        to.level = from.number32();
        break;
      case varint_tag(12):
        to.waited_us = budget_us(from.number());
        break;
      case varint_tag(13):
        to.attempts = from.number32();
        break;
      case varint_tag(14):
        to.low_water = from.number();
        break;
      case varint_tag(15):
        to.sent_us = from.signed_number();
        break;
      case varint_tag(16):
        to.order = from.number();
        break;
      case varint_tag(17):
        to.service_time_us = budget_us(from.number());
        break;
      default:
        return kUnknown;
    }
  }
  to.levels.resize(levels);
  if (const Fault fault = check(to)) return fault;
  return end_of(from);
}

Fault get(Reader from, Remove& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.seq = from.number();
        break;
      case fixed_tag(3):
        to.request.client = from.fixed64();
        break;
      case varint_tag(4):
        to.request.seq = from.number();
        break;
      case varint_tag(5):
        if (!to_enum(from.number(), Status::kCancelled, to.status)) return kUnknownStatus;
        break;
      case varint_tag(6):
        if (!to_enum(from.number(), Refusal::kTooLate, to.reason)) return kUnknownReason;
        break;
      case varint_tag(7):
        to.body_dropped = from.flag();
        break;
      case varint_tag(8):
        to.low_water = from.number();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.request.seq > kMaxSeq || to.low_water > kMaxSeq) return kHugeSeq;
  return end_of(from);
}

Fault get(Reader from, Mark& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.seq = from.number();
        break;
      case fixed_tag(3):
        to.client = from.fixed64();
        break;
      case varint_tag(4):
        to.generation = from.number();
        break;
      case varint_tag(5):
        to.low_water = from.number();
        break;
      case bytes_tag(6):
        to.name = from.bytes();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.name.size() > kMaxNameBytes) return kLongName;
  if (to.low_water > kMaxSeq) return kHugeSeq;
  return end_of(from);
}

Fault get(Reader from, ClientGone& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.seq = from.number();
        break;
      case fixed_tag(3):
        to.client = from.fixed64();
        break;
      case varint_tag(4):
        to.generation = from.number();
        break;
      case varint_tag(5):
        to.all = from.flag();
        break;
      case bytes_tag(6):
        if (const Fault fault = get_ids(Reader(from.bytes()), false, to.requests)) return fault;
        break;
      default:
        return kUnknown;
    }
  }
  for (const uint64_t request : to.requests)
    if (request > kMaxSeq) return kHugeSeq;
  return end_of(from);
}

}  // namespace redoubt::wire
