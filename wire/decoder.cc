// Frames -> messages; see codec.h. Whatever arrives, the answer is a message, "need more" or a named reason.
#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/decode.h"

namespace redoubt::wire {
namespace {

// The alternative's object with its memory, if `message` held one already.
template <class T>
T& reuse(Message& message) {
  if (T* same = std::get_if<T>(&message)) return *same;
  return message.emplace<T>();
}

Fault get_empty(Reader from) { return from.next() ? kUnknown : end_of(from); }

// What brokers say to each other.
Fault get_of_broker(uint32_t kind, const Reader& body, Message& out, bool& carries) {
  switch (kind) {
    case bytes_tag(64):
      return get(body, reuse<Enlist>(out));
    case bytes_tag(65):
      return get(body, reuse<Pulse>(out));
    case bytes_tag(66):
      return get(body, reuse<VoteAsk>(out));
    case bytes_tag(67):
      return get(body, reuse<Vote>(out));
    case bytes_tag(68):
      return get(body, reuse<HandOver>(out));
    case bytes_tag(69):
      return get(body, reuse<Collect>(out));
    case bytes_tag(70):
      carries = true;
      return get(body, reuse<Add>(out));
    case bytes_tag(71):
      carries = true;
      return get(body, reuse<Remove>(out));
    case bytes_tag(72):
      return get(body, reuse<Mark>(out));
    case bytes_tag(73):
      return get(body, reuse<ClientGone>(out));
    default:
      return {CloseReason::kUnknownMessage, "a kind of message this version does not know"};
  }
}

// One message of the envelope. `carries` tells whether a payload may follow it.
Fault get(std::string_view envelope, Message& out, std::vector<uint32_t>& shares, bool& carries) {
  Reader from(envelope);
  const uint32_t kind = from.next();
  if (!from.ok()) return kBroken;
  if (kind == 0) return {CloseReason::kUnknownMessage, "a frame without a message"};
  if ((kind & 7) != static_cast<uint32_t>(WireType::kBytes)) return kBroken;
  const Reader body(from.bytes());
  if (!from.ok()) return kBroken;
  if (!from.at_end()) return {CloseReason::kMalformed, "an envelope of more than one message"};
  carries = false;
  switch (kind) {
    case bytes_tag(1):
      return get(body, reuse<Hello>(out));
    case bytes_tag(2):
      return get(body, reuse<Welcome>(out));
    case bytes_tag(3):
      return get(body, reuse<Goodbye>(out));
    case bytes_tag(4):
      return get(body, reuse<Dummy>(out));
    case bytes_tag(5):
      return get(body, reuse<Announce>(out));
    case bytes_tag(16):
      carries = true;
      return get(body, reuse<Submit>(out), shares);
    case bytes_tag(17):
      return get(body, reuse<Cancel>(out));
    case bytes_tag(18):
      return get(body, reuse<Acknowledge>(out));
    case bytes_tag(19):
      carries = true;
      return get(body, reuse<Reply>(out));
    case bytes_tag(32):
      return get(body, reuse<Register>(out));
    case bytes_tag(33):
      carries = true;
      return get(body, reuse<Copy>(out));
    case bytes_tag(34):
      return get(body, reuse<Halt>(out));
    case bytes_tag(35):
      return get(body, reuse<Started>(out));
    case bytes_tag(36):
      carries = true;
      return get(body, reuse<Done>(out));
    case bytes_tag(37):
      reuse<Leaving>(out);
      return get_empty(body);
    case bytes_tag(38):
      return get(body, reuse<Holding>(out));
    case bytes_tag(39):
      return get(body, reuse<Adopt>(out));
    case bytes_tag(48):
      reuse<StatusQuery>(out);
      return get_empty(body);
    case bytes_tag(49):
      carries = true;
      reuse<StatusReply>(out);
      return get_empty(body);
    default:
      return get_of_broker(kind, body, out, carries);
  }
}

// A batch's shares of the frame's payload must add up to it.
bool add_up(const std::vector<uint32_t>& shares, uint64_t payload_size) {
  uint64_t sum = 0;
  for (const uint32_t share : shares) sum += share;
  return sum == payload_size;
}

// What to say to a frame that begins so, if it is the beginning of HTTP.
const char* http(std::string_view head) {
  if (head == "HTTP") return "it answers in HTTP: is this an --admin port? Give the address of --listen";
  for (const char* method : {"GET ", "HEAD", "POST", "PUT "})
    if (head == method) return "an HTTP request: these are answered at the --admin port, not at --listen";
  return nullptr;
}

void attach(Submit& submit, const Payload& whole, std::vector<uint32_t>& shares) {
  size_t offset = 0;
  for (size_t i = 0; i < submit.requests.size(); ++i) {
    // A small share gets bytes of its own: one slow request must not keep a whole batch in memory.
    constexpr uint32_t kOwnBelow = 4096;
    const bool copies = shares[i] < kOwnBelow && shares[i] < whole.size();
    Payload part = whole.empty() ? Payload() : whole.slice(offset, shares[i]);
    submit.requests[i].payload = copies ? Payload(part.view()) : std::move(part);
    offset += shares[i];
  }
  shares.clear();
}

}  // namespace

void Decoder::set_max(uint64_t max_payload) {
  max_payload_ = max_payload;
  max_envelope_ = kMaxEnvelope;
}

Decoded Decoder::fail(CloseReason reason, std::string text) {
  why_ = reason;
  bad_text_ = std::move(text);
  input_ = {};
  return Decoded::kBad;
}

// Makes `wanted` bytes of the frame stand in one piece: in `input_` alone, or in `partial_`.
bool Decoder::gather(size_t wanted) {
  if (partial_.empty() && input_.size() >= wanted) return true;
  const size_t missing = wanted - std::min(wanted, partial_.size());
  const size_t taken = std::min(missing, input_.size());
  partial_.append(input_.substr(0, taken));
  input_.remove_prefix(taken);
  return partial_.size() >= wanted;
}

Decoded Decoder::next(Message& out) {
  if (why_ != CloseReason::kNone) return Decoded::kBad;
  if (in_payload_) return finish(out);
  if (input_.empty()) return Decoded::kNeedMore;
  if (!gather(kFrameHead)) return Decoded::kNeedMore;
  const char* head = partial_.empty() ? input_.data() : partial_.data();
  uint32_t payload_size = 0;
  std::memcpy(&envelope_size_, head, 4);
  std::memcpy(&payload_size, head + 4, 4);
  payload_size_ = payload_size;
  if (envelope_size_ > max_envelope_ && http({head, 4}) != nullptr)
    return fail(CloseReason::kMalformed, http({head, 4}));
  if (envelope_size_ > max_envelope_)
    return fail(CloseReason::kOversize, "an envelope of " + std::to_string(envelope_size_) +
                                            " bytes, the limit is " + std::to_string(max_envelope_));
  const uint64_t hard_limit = max_payload_ == 0 ? 0 : kMaxMaxPayload;
  if (payload_size_ > hard_limit)
    return fail(CloseReason::kOversize, "a payload of " + std::to_string(payload_size_) +
                                            " bytes, the limit is " + std::to_string(max_payload_));

  const size_t whole = kFrameHead + envelope_size_;
  if (!gather(whole)) return Decoded::kNeedMore;
  if (partial_.empty()) {
    const std::string_view envelope = input_.substr(kFrameHead, envelope_size_);
    input_.remove_prefix(whole);
    return parse(envelope, out);
  }
  const std::string frame = std::move(partial_);
  partial_ = {};
  return parse(std::string_view(frame).substr(kFrameHead), out);
}

Decoded Decoder::parse(std::string_view envelope, Message& out) {
  const bool complete = input_.size() >= payload_size_;
  Message& to = complete ? out : waiting_;
  bool carries = false;
  if (const Fault fault = get(envelope, to, shares_, carries)) return fail(fault.reason, fault.text);
  if (payload_size_ > 0 && !carries)
    return fail(CloseReason::kMalformed, "a payload behind a message that has none");
  if (std::get_if<Submit>(&to) && !add_up(shares_, payload_size_))
    return fail(CloseReason::kMalformed, "payload sizes that do not add up to the payload");
  skipped_ = payload_size_ > max_payload_;
  payload_ = skipped_ ? Payload() : Payload::uninitialised(payload_size_);
  payload_at_ = 0;
  in_payload_ = true;
  return finish(out);
}

// Takes in the payload's bytes; with the last one the message is whole.
Decoded Decoder::finish(Message& out) {
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(payload_size_ - payload_at_, input_.size()));
  if (taken > 0 && !skipped_) std::memcpy(payload_.writable() + payload_at_, input_.data(), taken);
  input_.remove_prefix(taken);
  payload_at_ += taken;
  if (payload_at_ < payload_size_) return Decoded::kNeedMore;
  if (waiting_.index() != 0) out = std::exchange(waiting_, Message{});
  in_payload_ = false;
  if (Submit* submit = std::get_if<Submit>(&out)) {
    if (submit->requests.size() == 1)
      submit->requests.front().payload = std::move(payload_);
    else
      skipped_ ? shares_.clear() : attach(*submit, payload_, shares_);
    payload_ = {};
  } else if (Copy* copy = std::get_if<Copy>(&out)) {
    copy->payload = std::move(payload_);
  } else if (Reply* reply = std::get_if<Reply>(&out)) {
    reply->payload = std::move(payload_);
  } else if (Done* done = std::get_if<Done>(&out)) {
    done->payload = std::move(payload_);
  } else if (Add* add = std::get_if<Add>(&out)) {
    add->payload = std::move(payload_);
  } else if (Remove* remove = std::get_if<Remove>(&out)) {
    remove->payload = std::move(payload_);
  } else if (StatusReply* status = std::get_if<StatusReply>(&out)) {
    status->payload = std::move(payload_);
  }
  return Decoded::kMessage;
}

std::span<char> Decoder::direct() {
  constexpr uint64_t kWorthIt = 16 * 1024;
  if (!in_payload_ || skipped_ || payload_size_ - payload_at_ < kWorthIt) return {};
  return {payload_.writable() + payload_at_, static_cast<size_t>(payload_size_ - payload_at_)};
}

}  // namespace redoubt::wire
