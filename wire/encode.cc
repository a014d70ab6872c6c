// Messages -> bytes: what clients, replicas and the manager say; see codec.h. Between brokers:
// encode_broker.cc.
#include "wire/encode.h"

namespace redoubt::wire {
namespace {

void put(uint32_t field, const Load& load, Writer& to) {
  to.message(field, [&](Writer& in) {
    in.number(1, load.queued);
    in.number(2, load.running);
  });
}

void put(uint32_t field, const Request& request, Writer& to) {
  to.message(field, [&](Writer& in) {
    in.number(1, request.seq);
    put(2, request.levels, in);
    in.number(3, request.deadline_us);
    in.number(4, request.wait_limit_us);
    in.number(5, request.service_class);
    in.flag(6, request.resend);
    in.number(7, request.payload.size());
    in.number(8, request.service_time_us);
  });
}

}  // namespace

void encode(const Hello& message, Outbox& out) {
  write_envelope(kHello, 8 * kMaxField + message.name.size() + message.cluster.size(), 0, out,
                 [&](Writer& to) {
                   to.number(1, message.version_min);
                   to.number(2, message.version_max);
                   to.number(3, static_cast<uint64_t>(message.role));
                   to.bytes(4, message.name);
                   to.bytes(5, message.cluster);
                   to.fixed64(6, message.incarnation);
                   to.number(7, message.link_generation);
                   to.signed_number(8, message.sent_us);
                 });
}

void encode(const Welcome& message, Outbox& out) {
  write_envelope(kWelcome, 10 * kMaxField + message.name.size(), 0, out, [&](Writer& to) {
    to.number(1, message.version);
    to.bytes(2, message.name);
    put(3, message.epoch, to);
    to.number(4, message.max_payload);
    to.number(5, message.heartbeat_us);
    to.number(6, message.dead_after_us);
    to.signed_number(7, message.sent_us);
    to.flag(8, message.rules);
  });
}

void encode(const Announce& message, Outbox& out) {
  write_envelope(kAnnounce, kMostOfEpoch + 2 * kMaxField, 0, out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.flag(2, message.rules);
    to.signed_number(3, message.sent_us);
  });
}

void encode(const Goodbye& message, Outbox& out) {
  write_envelope(kGoodbye, 2 * kMaxField + message.text.size(), 0, out, [&](Writer& to) {
    to.number(1, static_cast<uint64_t>(message.reason));
    to.bytes(2, message.text);
  });
}

void encode(const Dummy& message, Outbox& out) {
  write_envelope(kDummy, 3 * kMaxField, 0, out, [&](Writer& to) {
    to.flag(1, message.answer);
    to.signed_number(2, message.sent_us);
    to.signed_number(3, message.echo_us);
  });
}

void encode(const Submit& message, Outbox& out) {
  CHECK(message.requests.size() <= kMaxBatch);
  size_t most = 3 * kMaxField;
  uint64_t payload_size = 0;
  for (const Request& request : message.requests) {
    most += 9 * kMaxField + most_of(request.levels);
    payload_size += request.payload.size();
  }
  write_envelope(kSubmit, most, payload_size, out, [&](Writer& to) {
    to.number(1, message.low_water);
    to.signed_number(2, message.sent_us);
    for (const Request& request : message.requests) put(3, request, to);
    to.flag(4, message.all_open);
  });
  for (const Request& request : message.requests) out.append(request.payload);
}

void encode(const Cancel& message, Outbox& out) {
  CHECK(message.seqs.size() <= kMaxBatch);
  write_envelope(kCancel, (2 + message.seqs.size()) * kMaxField, 0, out, [&](Writer& to) {
    to.number(1, message.low_water);
    put_packed(2, message.seqs, false, to);
  });
}

void encode(const Acknowledge& message, Outbox& out) {
  write_envelope(kAcknowledge, kMaxField, 0, out, [&](Writer& to) { to.number(1, message.low_water); });
}

void encode(const Reply& message, Outbox& out) {
  size_t most = 7 * kMaxField + message.text.size();
  for (const LevelReport& level : message.levels)
    most += 6 * kMaxField + level.service.size() + level.replica.size();
  write_envelope(kReply, most, message.payload.size(), out, [&](Writer& to) {
    to.number(1, message.seq);
    to.number(2, static_cast<uint64_t>(message.status));
    to.number(3, static_cast<uint64_t>(message.reason));
    to.bytes(4, message.text);
    to.number(5, message.level);
    to.flag(6, message.running);
    to.number(7, message.wait_us);
    for (const LevelReport& level : message.levels) {
      to.message(8, [&](Writer& one) {
        one.bytes(1, level.service);
        one.bytes(2, level.replica);
        one.number(3, level.copies);
        one.number(4, level.wait_us);
        one.number(5, level.service_us);
      });
    }
  });
  out.append(message.payload);
}

void encode(const Register& message, Outbox& out) {
  size_t most = 3 * kMaxField;
  for (const std::string& service : message.services) most += kMaxField + service.size();
  write_envelope(kRegister, most, 0, out, [&](Writer& to) {
    for (const std::string& service : message.services) to.repeated_bytes(1, service);
    to.number(2, message.workers);
    to.number(3, message.queue_limit);
    to.flag(4, message.spare);
  });
}

void encode(const Copy& message, Outbox& out) {
  write_envelope(kCopy, 17 * kMaxField, message.payload.size(), out, [&](Writer& to) {
    to.fixed64(1, message.copy);
    put(2, message.epoch, to);
    to.number(3, message.service);
    to.number(4, message.level);
    to.fixed64(5, message.request.client);
    to.number(6, message.request.seq);
    to.number(7, message.attempt);
    to.number(8, message.deadline_us);
    to.number(9, message.wait_us);
    to.flag(10, message.limits_wait);
    to.flag(11, message.tell_start);
    to.signed_number(12, message.sent_us);
    to.flag(13, message.extra);
    to.number(14, message.phase_us);
  });
  out.append(message.payload);
}

void encode(const Halt& message, Outbox& out) {
  CHECK(message.copies.size() <= kMaxBatch);
  write_envelope(kHalt, 2 * kMaxField + message.copies.size() * 8, 0, out, [&](Writer& to) {
    put_packed(1, message.copies, true, to);
    to.flag(2, message.at_once);
  });
}

void encode(const Started& message, Outbox& out) {
  write_envelope(kStarted, 8 * kMaxField, 0, out, [&](Writer& to) {
    to.fixed64(1, message.copy);
    put(2, message.epoch, to);
    put(3, message.load, to);
  });
}

void encode(const Done& message, Outbox& out) {
  const size_t most = 14 * kMaxField + message.text.size();
  write_envelope(kDone, most, message.payload.size(), out, [&](Writer& to) {
    to.fixed64(1, message.copy);
    put(2, message.epoch, to);
    to.number(3, message.level);
    to.number(4, static_cast<uint64_t>(message.fate));
    to.bytes(5, message.text);
    to.number(6, message.wait_ns);
    to.number(7, message.service_ns);
    to.flag(8, message.started_expired);
    put(9, message.load, to);
  });
  out.append(message.payload);
}

void encode(const Leaving&, Outbox& out) {
  write_envelope(kLeaving, 0, 0, out, [](Writer&) {});
}

void encode(const Holding& message, Outbox& out) {
  CHECK(message.held.size() <= kMaxHeld);
  write_envelope(kHolding, (1 + 8 * message.held.size()) * kMaxField, 0, out, [&](Writer& to) {
    for (const Held& held : message.held) {
      to.message(1, [&](Writer& one) {
        one.fixed64(1, held.handle);
        one.fixed64(2, held.request.client);
        one.number(3, held.request.seq);
        one.number(4, held.level);
        one.number(5, held.service);
        one.number(6, held.attempt);
        one.flag(7, held.running);
      });
    }
    to.flag(2, message.more);
  });
}

void encode(const Adopt& message, Outbox& out) {
  CHECK(message.adopted.size() + message.dropped.size() <= kMaxHeld);
  const size_t fields = 1 + 3 * message.adopted.size() + message.dropped.size();
  write_envelope(kAdopt, kMostOfEpoch + fields * kMaxField, 0, out, [&](Writer& to) {
    put(1, message.epoch, to);
    for (const Adopted& adopted : message.adopted) {
      to.message(2, [&](Writer& one) {
        one.fixed64(1, adopted.handle);
        one.fixed64(2, adopted.copy);
      });
    }
    put_packed(3, message.dropped, true, to);
  });
}

void encode(const StatusQuery&, Outbox& out) {
  write_envelope(kStatusQuery, 0, 0, out, [](Writer&) {});
}

void encode(const StatusReply& message, Outbox& out) {
  write_envelope(kStatusReply, 0, message.payload.size(), out, [](Writer&) {});
  out.append(message.payload);
}

void encode(const Message& message, Outbox& out) {
  std::visit(
      [&](const auto& one) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(one)>, std::monostate>) encode(one, out);
      },
      message);
}

}  // namespace redoubt::wire
