// Reads what clients and the manager say: the fields of proto/client.proto.
#include "wire/decode.h"

namespace redoubt::wire {

Fault get(Reader from, Level& to) {
  to.service.clear();
  to.copies = 0;
  to.policy = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        to.service = from.bytes();
        break;
      case varint_tag(2):
        to.copies = from.number32();
        break;
      case varint_tag(3):
        if (!to_enum(from.number(), Redundancy::kAuto, to.policy.redundancy)) return kUnknownRedundancy;
        break;
      case varint_tag(4):
        if (!to_enum(from.number(), Disposal::kOnStart, to.policy.disposal)) return kUnknownDisposal;
        break;
      case varint_tag(5):
        if (!get_thousandths(from, to.policy.first_phase)) return kTooManyThousandths;
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

namespace {

Fault get(Reader from, Request& to, uint32_t& payload_size) {
  to.seq = to.deadline_us = to.wait_limit_us = to.service_time_us = 0;
  to.service_class = 0;
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
        if (const Fault fault = get(Reader(from.bytes()), next_item(to.levels, levels, kMaxLevels)))
          return fault;
        break;
      case varint_tag(3):
        to.deadline_us = budget_us(from.number());
        break;
      case varint_tag(4):
        to.wait_limit_us = budget_us(from.number());
        break;
      case varint_tag(5):
        if (!get_thousandths(from, to.service_class)) return kTooManyThousandths;
        break;
      case varint_tag(6):
        to.resend = from.flag();
        break;
      case varint_tag(7):
        payload_size = from.number32();
        break;
      case varint_tag(8):
        to.service_time_us = budget_us(from.number());
        break;
      default:
        return kUnknown;
    }
  }
  to.levels.resize(levels);
  if (to.seq > kMaxSeq) return kHugeSeq;
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

}  // namespace

Fault get(Reader from, Submit& to, std::vector<uint32_t>& shares) {
  to.low_water = 0;
  to.sent_us = 0;
  to.all_open = false;
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
                get(Reader(from.bytes()), next_item(to.requests, requests, kMaxBatch), shares.emplace_back()))
          return fault;
        break;
      case varint_tag(4):
        to.all_open = from.flag();
        break;
      default:
        return kUnknown;
    }
  }
  // A client that has nothing open says so to a new manager.
  if (requests == 0 && !to.all_open) return {CloseReason::kMalformed, "a batch of no request"};
  to.requests.resize(requests);
  if (to.low_water > kMaxSeq) return kHugeSeq;
  return end_of(from);
}

Fault get_ids(Reader from, bool fixed, std::vector<uint64_t>& to, size_t most) {
  while (from.ok() && !from.at_end()) {
    if (to.size() == most) return {CloseReason::kOversize, "too many ids in one message"};
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
  if (to.low_water > kMaxSeq) return kHugeSeq;
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
  if (to.low_water > kMaxSeq) return kHugeSeq;
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
        if (!to_enum(from.number(), Status::kCancelled, to.status)) return kUnknownStatus;
        break;
      case varint_tag(3):
        if (!to_enum(from.number(), Refusal::kTooLate, to.reason)) return kUnknownReason;
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
        if (const Fault fault = get(Reader(from.bytes()), next_item(to.levels, levels, kMaxLevels)))
          return fault;
        break;
      default:
        return kUnknown;
    }
  }
  if (levels > kMaxLevels) return {CloseReason::kOversize, "too many levels"};
  to.levels.resize(levels);
  return end_of(from);
}

}  // namespace redoubt::wire
