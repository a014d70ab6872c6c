// Reads what brokers say about who rules: the first half of proto/broker.proto. The checkpoint stream is in
// decode_stream.cc.
#include "wire/decode.h"

namespace redoubt::wire {

namespace {

Fault get(Reader from, SyncSet& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.version = from.number();
        break;
      case varint_tag(3):
        to.members = from.number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Position& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.seq = from.number();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.seq > kMaxSeq) return kHugeSeq;
  return end_of(from);
}

}  // namespace

Fault get(Reader from, Enlist& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case varint_tag(1):
        to.broker = from.number32();
        break;
      case varint_tag(2):
        if (!to_enum(from.number(), Kind::kLearner, to.kind))
          return {CloseReason::kMalformed, "an unknown kind of broker"};
        break;
      case fixed_tag(3):
        to.group = from.fixed64();
        break;
      case fixed_tag(4):
        to.incarnation = from.fixed64();
        break;
      case bytes_tag(5):
        to.name = from.bytes();
        break;
      case bytes_tag(6):
        to.address = from.bytes();
        break;
      case varint_tag(7):
        to.any_survivor = from.flag();
        break;
      case varint_tag(8):
        to.demote_after_us = budget_us(from.number());
        break;
      default:
        return kUnknown;
    }
  }
  if (to.name.size() > kMaxNameBytes || to.address.size() > kMaxNameBytes) return kLongName;
  return end_of(from);
}

Fault get(Reader from, Pulse& to) {
  to.known = {};
  to.rules = to.blank = to.answer = to.obeys = false;
  to.position = {};
  to.hash = to.received = 0;
  to.set = {};
  to.succession.clear();
  to.sent_us = to.echo_us = 0;
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.known)) return fault;
        break;
      case varint_tag(2):
        to.rules = from.flag();
        break;
      case varint_tag(3):
        to.blank = from.flag();
        break;
      case varint_tag(4):
        to.answer = from.flag();
        break;
      case bytes_tag(5):
        if (const Fault fault = get(Reader(from.bytes()), to.position)) return fault;
        break;
      case fixed_tag(6):
        to.hash = from.fixed64();
        break;
      case varint_tag(7):
        to.received = from.number();
        break;
      case bytes_tag(8):
        if (const Fault fault = get(Reader(from.bytes()), to.set)) return fault;
        break;
      case bytes_tag(9):
        if (const Fault fault = get_ids(Reader(from.bytes()), false, to.succession, kMaxGroup)) return fault;
        break;
      case varint_tag(10):
        to.sent_us = from.signed_number();
        break;
      case varint_tag(11):
        to.echo_us = from.signed_number();
        break;
      case varint_tag(12):
        to.obeys = from.flag();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, VoteAsk& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.trial = from.flag();
        break;
      case varint_tag(3):
        to.stale = from.flag();
        break;
      case bytes_tag(4):
        if (const Fault fault = get(Reader(from.bytes()), to.set)) return fault;
        break;
      case bytes_tag(5):
        if (const Fault fault = get(Reader(from.bytes()), to.position)) return fault;
        break;
      case varint_tag(6):
        to.sent_us = from.signed_number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Vote& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.trial = from.flag();
        break;
      case varint_tag(3):
        to.granted = from.flag();
        break;
      case bytes_tag(4):
        if (const Fault fault = get(Reader(from.bytes()), to.known)) return fault;
        break;
      case varint_tag(5):
        to.echo_us = from.signed_number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, HandOver& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.seq = from.number();
        break;
      case varint_tag(3):
        to.successor = from.number32();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

}  // namespace redoubt::wire
