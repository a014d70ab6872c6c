// Messages -> bytes; see codec.h. One protobuf arena a thread is used again for every frame.
#include <bit>
#include <cstring>

#include "core/check.h"
#include "frame.pb.h"
#include "wire/codec.h"
#include "wire/limits.h"
#include "wire/scratch.h"

namespace redoubt::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "frame heads are written in the machine's order");

void write_frame(const proto::Envelope& envelope, const Payload* const* payloads, size_t count, Outbox& out) {
  const size_t size = envelope.ByteSizeLong();
  CHECK(size <= kMaxEnvelope);
  uint64_t payload_size = 0;
  for (size_t i = 0; i < count; ++i) payload_size += payloads[i]->size();
  CHECK(payload_size <= kMaxMaxPayload);

  char* at = out.append(kFrameHead + size);
  const auto envelope_length = static_cast<uint32_t>(size);
  const auto payload_length = static_cast<uint32_t>(payload_size);
  std::memcpy(at, &envelope_length, 4);
  std::memcpy(at + 4, &payload_length, 4);
  envelope.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(at + kFrameHead));
  for (size_t i = 0; i < count; ++i) out.append(*payloads[i]);
}

void write_frame(const proto::Envelope& envelope, Outbox& out) { write_frame(envelope, nullptr, 0, out); }

void write_frame(const proto::Envelope& envelope, const Payload& payload, Outbox& out) {
  const Payload* one = &payload;
  write_frame(envelope, &one, 1, out);
}

void put(const Epoch& epoch, proto::Epoch& out) {
  out.set_number(epoch.number);
  out.set_broker(epoch.broker);
}

void put(const Load& load, proto::Load& out) {
  out.set_queued(load.queued);
  out.set_running(load.running);
}

void put(const Request& request, proto::Request& out) {
  out.set_seq(request.seq);
  for (const Level& level : request.levels) {
    proto::Level& to = *out.add_levels();
    to.set_service(level.service);
    to.set_copies(level.copies);
  }
  out.set_deadline_us(request.deadline_us);
  if (request.wait_limit_us) out.set_wait_limit_us(request.wait_limit_us);
  out.set_disposal(static_cast<uint32_t>(request.disposal));
  if (request.resend) out.set_resend(true);
  out.set_payload_size(static_cast<uint32_t>(request.payload.size()));
}

}  // namespace

void encode(const Hello& message, Outbox& out) {
  Scratch scratch;
  proto::Hello& to = *scratch.envelope().mutable_hello();
  to.set_version_min(message.version_min);
  to.set_version_max(message.version_max);
  to.set_role(static_cast<proto::Role>(message.role));
  to.set_name(message.name);
  to.set_cluster(message.cluster);
  to.set_incarnation(message.incarnation);
  to.set_link_generation(message.link_generation);
  to.set_sent_us(message.sent_us);
  write_frame(scratch.envelope(), out);
}

void encode(const Welcome& message, Outbox& out) {
  Scratch scratch;
  proto::Welcome& to = *scratch.envelope().mutable_welcome();
  to.set_version(message.version);
  to.set_name(message.name);
  put(message.epoch, *to.mutable_epoch());
  to.set_max_payload(message.max_payload);
  to.set_heartbeat_us(message.heartbeat_us);
  to.set_dead_after_us(message.dead_after_us);
  to.set_sent_us(message.sent_us);
  write_frame(scratch.envelope(), out);
}

void encode(const Goodbye& message, Outbox& out) {
  Scratch scratch;
  proto::Goodbye& to = *scratch.envelope().mutable_goodbye();
  to.set_reason(static_cast<uint32_t>(message.reason));
  to.set_text(message.text);
  write_frame(scratch.envelope(), out);
}

void encode(const Dummy& message, Outbox& out) {
  Scratch scratch;
  proto::Dummy& to = *scratch.envelope().mutable_dummy();
  to.set_answer(message.answer);
  to.set_sent_us(message.sent_us);
  to.set_echo_us(message.echo_us);
  write_frame(scratch.envelope(), out);
}

void encode(const Submit& message, Outbox& out) {
  CHECK(message.requests.size() <= kMaxBatch);
  Scratch scratch;
  proto::Submit& to = *scratch.envelope().mutable_submit();
  to.set_low_water(message.low_water);
  to.set_sent_us(message.sent_us);
  if (message.requests.size() == 1) {
    put(message.requests.front(), *to.add_requests());
    write_frame(scratch.envelope(), message.requests.front().payload, out);
    return;
  }
  std::vector<const Payload*> payloads;
  payloads.reserve(message.requests.size());
  for (const Request& request : message.requests) {
    put(request, *to.add_requests());
    payloads.push_back(&request.payload);
  }
  write_frame(scratch.envelope(), payloads.data(), payloads.size(), out);
}

void encode(const Cancel& message, Outbox& out) {
  CHECK(message.seqs.size() <= kMaxBatch);
  Scratch scratch;
  proto::Cancel& to = *scratch.envelope().mutable_cancel();
  to.set_low_water(message.low_water);
  for (const uint64_t seq : message.seqs) to.add_seqs(seq);
  write_frame(scratch.envelope(), out);
}

void encode(const Acknowledge& message, Outbox& out) {
  Scratch scratch;
  scratch.envelope().mutable_acknowledge()->set_low_water(message.low_water);
  write_frame(scratch.envelope(), out);
}

void encode(const Reply& message, Outbox& out) {
  Scratch scratch;
  proto::Reply& to = *scratch.envelope().mutable_reply();
  to.set_seq(message.seq);
  if (message.status != Status::kOk) to.set_status(static_cast<uint32_t>(message.status));
  if (message.reason != Refusal::kNone) to.set_reason(static_cast<uint32_t>(message.reason));
  if (!message.text.empty()) to.set_text(message.text);
  if (message.level) to.set_level(message.level);
  if (message.running) to.set_running(true);
  to.set_wait_us(message.wait_us);
  for (const LevelReport& level : message.levels) {
    proto::LevelReport& report = *to.add_levels();
    report.set_service(level.service);
    report.set_replica(level.replica);
    report.set_copies(level.copies);
    report.set_wait_us(level.wait_us);
    report.set_service_us(level.service_us);
  }
  write_frame(scratch.envelope(), message.payload, out);
}

void encode(const Register& message, Outbox& out) {
  Scratch scratch;
  proto::Register& to = *scratch.envelope().mutable_register_();
  for (const std::string& service : message.services) to.add_services(service);
  to.set_workers(message.workers);
  to.set_queue_limit(message.queue_limit);
  write_frame(scratch.envelope(), out);
}

void encode(const Copy& message, Outbox& out) {
  Scratch scratch;
  proto::Copy& to = *scratch.envelope().mutable_copy();
  to.set_copy(message.copy);
  put(message.epoch, *to.mutable_epoch());
  to.set_service(message.service);
  if (message.level) to.set_level(message.level);
  to.set_client(message.request.client);
  to.set_seq(message.request.seq);
  to.set_attempt(message.attempt);
  to.set_deadline_us(message.deadline_us);
  if (message.limits_wait) {
    to.set_limits_wait(true);
    to.set_wait_us(message.wait_us);
  }
  if (message.tell_start) to.set_tell_start(true);
  to.set_sent_us(message.sent_us);
  write_frame(scratch.envelope(), message.payload, out);
}

void encode(const Halt& message, Outbox& out) {
  CHECK(message.copies.size() <= kMaxBatch);
  Scratch scratch;
  proto::Halt& to = *scratch.envelope().mutable_halt();
  for (const uint64_t copy : message.copies) to.add_copies(copy);
  write_frame(scratch.envelope(), out);
}

void encode(const Started& message, Outbox& out) {
  Scratch scratch;
  proto::Started& to = *scratch.envelope().mutable_started();
  to.set_copy(message.copy);
  put(message.epoch, *to.mutable_epoch());
  put(message.load, *to.mutable_load());
  write_frame(scratch.envelope(), out);
}

void encode(const Done& message, Outbox& out) {
  Scratch scratch;
  proto::Done& to = *scratch.envelope().mutable_done();
  to.set_copy(message.copy);
  put(message.epoch, *to.mutable_epoch());
  if (message.level) to.set_level(message.level);
  if (message.fate != Fate::kOk) to.set_fate(static_cast<uint32_t>(message.fate));
  if (!message.text.empty()) to.set_text(message.text);
  to.set_wait_ns(message.wait_ns);
  to.set_service_ns(message.service_ns);
  if (message.started_expired) to.set_started_expired(true);
  put(message.load, *to.mutable_load());
  write_frame(scratch.envelope(), message.payload, out);
}

void encode(const Leaving&, Outbox& out) {
  Scratch scratch;
  scratch.envelope().mutable_leaving();
  write_frame(scratch.envelope(), out);
}

void encode(const StatusQuery&, Outbox& out) {
  Scratch scratch;
  scratch.envelope().mutable_status_query();
  write_frame(scratch.envelope(), out);
}

void encode(const StatusReply& message, Outbox& out) {
  Scratch scratch;
  scratch.envelope().mutable_status_reply();
  write_frame(scratch.envelope(), message.payload, out);
}

void encode(const Message& message, Outbox& out) {
  std::visit(
      [&](const auto& one) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(one)>, std::monostate>) encode(one, out);
      },
      message);
}

}  // namespace redoubt::wire
