// Bytes <-> messages. A frame is: u32 envelope length, u32 payload length (little-endian), envelope
// (protobuf), payload. Pure and not thread-safe; different objects may be used by different threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/message.h"
#include "wire/outbox.h"

namespace redoubt::wire {

inline constexpr size_t kFrameHead = 8;

// Appends the message as one frame. The message must be within limits.h (CHECKed): senders cut texts
// themselves.
void encode(const Hello& message, Outbox& out);
void encode(const Welcome& message, Outbox& out);
void encode(const Announce& message, Outbox& out);
void encode(const Goodbye& message, Outbox& out);
void encode(const Dummy& message, Outbox& out);
void encode(const Submit& message, Outbox& out);
void encode(const Cancel& message, Outbox& out);
void encode(const Acknowledge& message, Outbox& out);
void encode(const Reply& message, Outbox& out);
void encode(const Register& message, Outbox& out);
void encode(const Copy& message, Outbox& out);
void encode(const Halt& message, Outbox& out);
void encode(const Started& message, Outbox& out);
void encode(const Done& message, Outbox& out);
void encode(const Leaving& message, Outbox& out);
void encode(const Holding& message, Outbox& out);
void encode(const Adopt& message, Outbox& out);
void encode(const StatusQuery& message, Outbox& out);
void encode(const StatusReply& message, Outbox& out);
void encode(const Enlist& message, Outbox& out);
void encode(const Pulse& message, Outbox& out);
void encode(const VoteAsk& message, Outbox& out);
void encode(const Vote& message, Outbox& out);
void encode(const HandOver& message, Outbox& out);
void encode(const Collect& message, Outbox& out);
void encode(const Add& message, Outbox& out);
void encode(const Remove& message, Outbox& out);
void encode(const Mark& message, Outbox& out);
void encode(const ClientGone& message, Outbox& out);
void encode(const Message& message, Outbox& out);

enum class Decoded : uint8_t {
  kMessage,   // `out` holds the next message
  kNeedMore,  // all bytes are taken in; feed more
  kBad,       // the peer broke the protocol: why() and bad_text() say how; the decoder is finished
};

class Decoder {
 public:
  // Until set_max() only a handshake passes: small envelopes and no payload.
  Decoder() = default;

  // What the peer may send from now on. A payload above `max_payload` is skipped without being stored, and
  // its message arrives with payload_skipped() set: refusing a request must not cost the link. Above
  // kMaxMaxPayload it does.
  void set_max(uint64_t max_payload);

  // More bytes from the peer. They must stay until next() has answered kNeedMore or kBad.
  void feed(std::string_view bytes) { input_ = bytes; }

  // Overwrites `out` (its memory is used again). Call until it answers something other than kMessage.
  Decoded next(Message& out);

  // The last message's payload was above the limit and is missing.
  bool payload_skipped() const { return skipped_; }

  // While a large payload is coming in: where its next bytes belong, so that a link can receive them in
  // place.
  std::span<char> direct();
  void received_direct(size_t size) { payload_at_ += size; }

  CloseReason why() const { return why_; }
  const std::string& bad_text() const { return bad_text_; }

 private:
  Decoded fail(CloseReason reason, std::string text);
  Decoded parse(std::string_view envelope, Message& out);
  bool gather(size_t wanted);
  Decoded finish(Message& out);

  std::string_view input_;
  std::string partial_;  // the begin of a frame whose envelope is not complete yet
  uint32_t envelope_size_ = 0;
  uint64_t payload_size_ = 0;
  uint64_t payload_at_ = 0;  // bytes of the payload that are in
  Payload payload_;
  Message waiting_;               // the message whose payload is coming in
  std::vector<uint32_t> shares_;  // of a batch: each request's part of the payload
  bool in_payload_ = false;
  bool skipped_ = false;
  uint64_t max_payload_ = 0;
  uint32_t max_envelope_ = 4096;
  CloseReason why_ = CloseReason::kNone;
  std::string bad_text_;
};

}  // namespace redoubt::wire
