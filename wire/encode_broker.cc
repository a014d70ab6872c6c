// Messages -> bytes: what brokers say to each other, proto/broker.proto; see codec.h.
#include "wire/encode.h"

namespace redoubt::wire {
namespace {

constexpr size_t kMostOfSet = kMostOfEpoch + 3 * kMaxField;
constexpr size_t kMostOfPosition = kMostOfEpoch + 2 * kMaxField;

void put(uint32_t field, const SyncSet& set, Writer& to) {
  to.message(field, [&](Writer& in) {
    put(1, set.epoch, in);
    in.number(2, set.version);
    in.number(3, set.members);
  });
}

void put(uint32_t field, const Position& position, Writer& to) {
  to.message(field, [&](Writer& in) {
    put(1, position.epoch, in);
    in.number(2, position.seq);
  });
}

}  // namespace

void encode(const Enlist& message, Outbox& out) {
  write_envelope(kEnlist, 8 * kMaxField + message.name.size() + message.address.size(), 0, out,
                 [&](Writer& to) {
                   to.number(1, message.broker);
                   to.number(2, static_cast<uint64_t>(message.kind));
                   to.fixed64(3, message.group);
                   to.fixed64(4, message.incarnation);
                   to.bytes(5, message.name);
                   to.bytes(6, message.address);
                   to.flag(7, message.any_survivor);
                   to.number(8, message.demote_after_us);
                 });
}

void encode(const Pulse& message, Outbox& out) {
  CHECK(message.succession.size() <= kMaxGroup);
  const size_t most =
      kMostOfEpoch + kMostOfPosition + kMostOfSet + (9 + message.succession.size()) * kMaxField;
  write_envelope(kPulse, most, 0, out, [&](Writer& to) {
    put(1, message.known, to);
    to.flag(2, message.rules);
    to.flag(3, message.blank);
    to.flag(4, message.answer);
    put(5, message.position, to);
    to.fixed64(6, message.hash);
    to.number(7, message.received);
    put(8, message.set, to);
    put_packed(9, message.succession, false, to);
    to.signed_number(10, message.sent_us);
    to.signed_number(11, message.echo_us);
    to.flag(12, message.obeys);
  });
}

void encode(const VoteAsk& message, Outbox& out) {
  write_envelope(kVoteAsk, kMostOfEpoch + kMostOfSet + kMostOfPosition + 3 * kMaxField, 0, out,
                 [&](Writer& to) {
                   put(1, message.epoch, to);
                   to.flag(2, message.trial);
                   to.flag(3, message.stale);
                   put(4, message.set, to);
                   put(5, message.position, to);
                   to.signed_number(6, message.sent_us);
                 });
}

void encode(const Vote& message, Outbox& out) {
  write_envelope(kVote, 2 * kMostOfEpoch + 3 * kMaxField, 0, out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.flag(2, message.trial);
    to.flag(3, message.granted);
    put(4, message.known, to);
    to.signed_number(5, message.echo_us);
  });
}

void encode(const HandOver& message, Outbox& out) {
  write_envelope(kHandOver, kMostOfEpoch + 2 * kMaxField, 0, out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.number(2, message.seq);
    to.number(3, message.successor);
  });
}

void encode(const Collect& message, Outbox& out) {
  write_envelope(kCollect, kMostOfEpoch + 4 * kMaxField, 0, out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.flag(2, message.end);
    to.number(3, message.seq);
    to.number(4, message.count);
    to.fixed64(5, message.hash);
  });
}

void encode(const Add& message, Outbox& out) {
  CHECK(message.levels.size() <= kMaxLevels);
  const size_t most = kMostOfEpoch + 15 * kMaxField + most_of(message.levels);
  write_envelope(kAdd, most, message.payload.size(), out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.number(2, message.seq);
    to.fixed64(3, message.request.client);
    to.number(4, message.request.seq);
    to.flag(5, message.progress);
    to.flag(6, message.same_payload);
    put(7, message.levels, to);
    to.number(8, message.deadline_us);
    to.number(9, message.wait_limit_us);
    to.number(10, message.service_class);
    to.number(11, message.level);
    to.number(12, message.waited_us);
    to.number(13, message.attempts);
    to.number(14, message.low_water);
    to.signed_number(15, message.sent_us);
    to.number(16, message.order);
    to.number(17, message.service_time_us);
  });
  out.append(message.payload);
}

void encode(const Remove& message, Outbox& out) {
  write_envelope(kRemove, kMostOfEpoch + 7 * kMaxField, message.payload.size(), out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.number(2, message.seq);
    to.fixed64(3, message.request.client);
    to.number(4, message.request.seq);
    to.number(5, static_cast<uint64_t>(message.status));
    to.number(6, static_cast<uint64_t>(message.reason));
    to.flag(7, message.body_dropped);
    to.number(8, message.low_water);
  });
  out.append(message.payload);
}

void encode(const Mark& message, Outbox& out) {
  write_envelope(kMark, kMostOfEpoch + 5 * kMaxField + message.name.size(), 0, out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.number(2, message.seq);
    to.fixed64(3, message.client);
    to.number(4, message.generation);
    to.number(5, message.low_water);
    to.bytes(6, message.name);
  });
}

void encode(const ClientGone& message, Outbox& out) {
  CHECK(message.requests.size() <= kMaxBatch);
  const size_t most = kMostOfEpoch + (5 + message.requests.size()) * kMaxField;
  write_envelope(kClientGone, most, 0, out, [&](Writer& to) {
    put(1, message.epoch, to);
    to.number(2, message.seq);
    to.fixed64(3, message.client);
    to.number(4, message.generation);
    to.flag(5, message.all);
    put_packed(6, message.requests, false, to);
  });
}

}  // namespace redoubt::wire
