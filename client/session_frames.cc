// What the session has gathered, made into frames of bounded size; see session.h.
#include <algorithm>

#include "client/session.h"
#include "client/words.h"
#include "wire/limits.h"

namespace redoubt::client {
namespace {

// From above: what a request takes in a Submit's envelope.
size_t envelope_size(const wire::Request& request) {
  size_t size = kRequestEnvelope;
  for (const wire::Level& level : request.levels) size += level.service.size() + kLevelEnvelope;
  return size;
}

// What a broker is told to leave of a deadline, so that its word about an expiry comes before the client's
// own: a fiftieth, at most a millisecond.
Duration margin(Duration left) { return std::min<Duration>(left / 50, std::chrono::milliseconds(1)); }

}  // namespace

void Session::flush(Time now, size_t room) {
  held_back_until_ = kNever;
  if (link_ == kNoLink) return;
  const size_t before = effects_.submits.size();
  to_send_ = std::max(to_send_, window_.begin());
  while ((to_send_ < window_.end() || owes_all_open_) && held_back_until_ == kNever) {
    wire::Submit& frame = effects_.submits.add();
    if (fill_frame(now, frame, room)) held_back_until_ = now + kHeldBackPause;
    // What came later no other manager can have: under load the end of all would never be reached.
    frame.all_open = owes_all_open_ && to_send_ >= open_end_;
    if (frame.requests.empty() && !frame.all_open) {
      effects_.submits.drop_last();
      break;
    }
    if (frame.all_open) owes_all_open_ = false;
  }
  // Only now is the mark final: what is refused while frames are filled is settled too.
  for (size_t i = before; i < effects_.submits.size(); ++i) effects_.submits[i].low_water = window_.begin();
  const bool carried = effects_.submits.size() > before || !cancels_.empty();
  send_cancels();
  if (carried || acknowledge_at_ <= now) acknowledge(carried);
}

bool Session::fill_frame(Time now, wire::Submit& frame, size_t& room) {
  frame.sent_us = to_us(now);
  size_t used = 0, envelope = 0, payload = 0;
  bool held_back = false;
  for (; to_send_ < window_.end() && used < wire::kMaxBatch; ++to_send_) {
    if (to_send_ < window_.begin() || !window_[to_send_]) continue;
    const Id id = window_[to_send_];
    Pending& pending = pending_[id];
    const size_t size = pending.request.payload.size();
    if (size > max_payload_) {
      Reply& reply = settle(now, id, Status::kRefused);
      reply.reason = Refusal::kTooLarge;
      reply.text = too_large_text(size, max_payload_);
      continue;
    }
    const size_t head = envelope_size(pending.request);
    if (used > 0 && (envelope + head > kMaxFrameEnvelope || payload + size > kMaxFramePayload)) break;
    if (room == 0) {
      held_back = true;
      break;
    }
    room -= std::min(room, head + size);
    envelope += head;
    payload += size;
    put(now, pending, add_request(frame, used++));
    if (pending.sent) ++stats_.resent;
    // Only who has been asked can have a word to wait for.
    if (!pending.sent && overtime_ > Duration::zero()) deadlines_.set(id, later(pending.deadline, overtime_));
    pending.sent = true;
  }
  cut(frame, used);
  return held_back;
}

void Session::put(Time now, const Pending& pending, wire::Request& out) const {
  const wire::Request& from = pending.request;
  out.seq = from.seq;
  out.levels = from.levels;
  const Duration left = pending.deadline - now;
  const Duration told = overtime_ > Duration::zero() ? left : left - margin(left);
  out.deadline_us = static_cast<uint64_t>(std::max<int64_t>(to_us(told), 1));
  out.wait_limit_us = from.wait_limit_us;
  out.service_class = from.service_class;
  out.service_time_us = from.service_time_us;
  out.resend = pending.sent;
  out.payload = from.payload;
}

// Frames are of all sizes; the memory of the requests that one has too many is kept for the next that has too
// few.
wire::Request& Session::add_request(wire::Submit& frame, size_t index) {
  if (index < frame.requests.size()) return frame.requests[index];
  if (spare_.empty()) return frame.requests.emplace_back();
  frame.requests.push_back(std::move(spare_.back()));
  spare_.pop_back();
  return frame.requests.back();
}

void Session::cut(wire::Submit& frame, size_t size) {
  while (frame.requests.size() > size) {
    if (spare_.size() < wire::kMaxBatch) {
      frame.requests.back().payload = {};
      spare_.push_back(std::move(frame.requests.back()));
    }
    frame.requests.pop_back();
  }
}

void Session::send_cancels() {
  for (size_t at = 0; at < cancels_.size(); at += wire::kMaxBatch) {
    const auto begin = cancels_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto size = static_cast<std::ptrdiff_t>(std::min<size_t>(wire::kMaxBatch, cancels_.size() - at));
    wire::Cancel& frame = effects_.cancels.add();
    frame.low_water = window_.begin();
    frame.seqs.assign(begin, begin + size);
  }
  cancels_.clear();
}

// The broker knows the mark, either because a frame of this turn carried it or because one is added here.
void Session::acknowledge(bool carried) {
  if (!carried && window_.begin() > acknowledged_) effects_.acknowledges.add().low_water = window_.begin();
  acknowledged_ = window_.begin();
  unacknowledged_ = unacknowledged_bytes_ = 0;
  acknowledge_at_ = kNever;
}

}  // namespace redoubt::client
