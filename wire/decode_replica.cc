// Reads what the manager and replicas say: the fields of proto/replica.proto.
#include "wire/decode.h"

namespace redoubt::wire {

namespace {

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

constexpr Fault kManyHeld{CloseReason::kOversize, "too many held copies in one message"};

Fault get(Reader from, Held& to) {
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case fixed_tag(1):
        to.handle = from.fixed64();
        break;
      case fixed_tag(2):
        to.request.client = from.fixed64();
        break;
      case varint_tag(3):
        to.request.seq = from.number();
        break;
      case varint_tag(4):
        to.level = from.number32();
        break;
      case varint_tag(5):
        to.service = from.number32();
        break;
      case varint_tag(6):
        to.attempt = from.number32();
        break;
      case varint_tag(7):
        to.running = from.flag();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.request.seq > kMaxSeq) return kHugeSeq;
  return end_of(from);
}

Fault get(Reader from, Adopted& to) {
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case fixed_tag(1):
        to.handle = from.fixed64();
        break;
      case fixed_tag(2):
        to.copy = from.fixed64();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

}  // namespace

Fault get(Reader from, Register& to) {
  constexpr Fault kServices{CloseReason::kOversize, "a replica of no service or too many"};
  to = {};
  to.workers = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (to.services.size() > kMaxServices) return kServices;
        to.services.emplace_back(from.bytes());
        break;
      case varint_tag(2):
        to.workers = from.number32();
        break;
      case varint_tag(3):
        to.queue_limit = from.number32();
        break;
      case varint_tag(4):
        to.spare = from.flag();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.services.empty() || to.services.size() > kMaxServices) return kServices;
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
        to.deadline_us = budget_us(from.number());
        break;
      case varint_tag(9):
        to.wait_us = budget_us(from.number());
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
      case varint_tag(13):
        to.extra = from.flag();
        break;
      case varint_tag(14):
        to.phase_us = budget_us(from.number());
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Halt& to) {
  to.copies.clear();
  to.at_once = false;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get_ids(Reader(from.bytes()), true, to.copies)) return fault;
        break;
      case varint_tag(2):
        to.at_once = from.flag();
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
  to.copy = to.wait_ns = to.service_ns = 0;
  to.epoch = {};
  to.level = 0;
  to.fate = Fate::kOk;
  to.text.clear();
  to.started_expired = false;
  to.load = {};
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

Fault get(Reader from, Holding& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (to.held.size() == kMaxHeld) return kManyHeld;
        if (const Fault fault = get(Reader(from.bytes()), to.held.emplace_back())) return fault;
        break;
      case varint_tag(2):
        to.more = from.flag();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

// It answers a Holding, so both lists together have as many copies as one may have.
Fault get(Reader from, Adopt& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case bytes_tag(2):
        if (to.adopted.size() == kMaxHeld) return kManyHeld;
        if (const Fault fault = get(Reader(from.bytes()), to.adopted.emplace_back())) return fault;
        break;
      case bytes_tag(3):
        if (const Fault fault = get_ids(Reader(from.bytes()), true, to.dropped, kMaxHeld)) return fault;
        break;
      default:
        return kUnknown;
    }
  }
  if (to.adopted.size() + to.dropped.size() > kMaxHeld) return kManyHeld;
  return end_of(from);
}

}  // namespace redoubt::wire
