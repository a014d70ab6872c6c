// Messages -> bytes; see codec.h. The hot ones by hand (hot.h), the others through protobuf, on one arena a
// thread.
#include <bit>
#include <cstring>

#include "core/check.h"
#include "frame.pb.h"
#include "wire/codec.h"
#include "wire/hot.h"
#include "wire/limits.h"
#include "wire/scratch.h"

namespace redoubt::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "frame heads are written in the machine's order");

void write_head(size_t envelope_size, uint64_t payload_size, char* at) {
  CHECK(envelope_size <= kMaxEnvelope);
  CHECK(payload_size <= kMaxMaxPayload);
  const auto envelope_length = static_cast<uint32_t>(envelope_size);
  const auto payload_length = static_cast<uint32_t>(payload_size);
  std::memcpy(at, &envelope_length, 4);
  std::memcpy(at + 4, &payload_length, 4);
}

void write_frame(const proto::Envelope& envelope, const Payload& payload, Outbox& out) {
  const size_t size = envelope.ByteSizeLong();
  char* const at = out.append(kFrameHead + size);
  write_head(size, payload.size(), at);
  envelope.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(at + kFrameHead));
  out.append(payload);
}

void write_frame(const proto::Envelope& envelope, Outbox& out) { write_frame(envelope, Payload(), out); }

template <class Hot>
void write_hot(const Hot& message, uint64_t payload_size, Outbox& out) {
  const size_t most = hot::most_of(message);
  char* const at = out.append(kFrameHead + most);
  const auto size = static_cast<size_t>(hot::write(message, at + kFrameHead) - at) - kFrameHead;
  write_head(size, payload_size, at);
  out.take_back(most - size);
}

void put(const Epoch& epoch, proto::Epoch& out) {
  out.set_number(epoch.number);
  out.set_broker(epoch.broker);
}

void put(const Load& load, proto::Load& out) {
  out.set_queued(load.queued);
  out.set_running(load.running);
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
  uint64_t payload_size = 0;
  for (const Request& request : message.requests) payload_size += request.payload.size();
  write_hot(message, payload_size, out);
  for (const Request& request : message.requests) out.append(request.payload);
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
  write_hot(message, message.payload.size(), out);
  out.append(message.payload);
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
  write_hot(message, message.payload.size(), out);
  out.append(message.payload);
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
  write_hot(message, message.payload.size(), out);
  out.append(message.payload);
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
