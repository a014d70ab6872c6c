// Reads what every link speaks: the fields of proto/link.proto.
#include "wire/decode.h"

namespace redoubt::wire {

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
  // Whoever wants to rule next counts on from it.
  if (to.number > kMaxSeq) return kHugeSeq;
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
        to.heartbeat_us = budget_us(from.number());
        break;
      case varint_tag(6):
        to.dead_after_us = budget_us(from.number());
        break;
      case varint_tag(7):
        to.sent_us = from.signed_number();
        break;
      case varint_tag(8):
        to.rules = from.flag();
        break;
      default:
        return kUnknown;
    }
  }
  if (to.name.size() > kMaxNameBytes) return kLongName;
  return end_of(from);
}

Fault get(Reader from, Announce& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      case bytes_tag(1):
        if (const Fault fault = get(Reader(from.bytes()), to.epoch)) return fault;
        break;
      case varint_tag(2):
        to.rules = from.flag();
        break;
      case varint_tag(3):
        to.sent_us = from.signed_number();
        break;
      default:
        return kUnknown;
    }
  }
  return end_of(from);
}

Fault get(Reader from, Goodbye& to) {
  to = {};
  while (const uint32_t tag = from.next()) {
    switch (tag) {
      // A reason of a newer version is still a goodbye.
      case varint_tag(1):
        if (!to_enum(from.number(), CloseReason::kGroup, to.reason)) to.reason = CloseReason::kNone;
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

}  // namespace redoubt::wire
