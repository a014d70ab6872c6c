// When held bytes may go on; see held.h.
#include "lab/proxy/held.h"

#include <algorithm>

#include "core/check.h"
#include "core/duration_text.h"
#include "lab/proxy/limits.h"

namespace redoubt::lab {

using Kind = Treatment::Kind;

std::string to_text(const Treatment& treatment) {
  switch (treatment.kind) {
    case Kind::kPass:
      return "pass";
    case Kind::kDelay:
      return "delay " + format_duration(treatment.delay);
    case Kind::kStall:
      return "stall";
    case Kind::kDrop:
      return "drop";
    case Kind::kRate:
      return "rate " + std::to_string(treatment.rate);
  }
  return {};
}

size_t Held::room() const { return arrivals_.size() < kHeldArrivals ? kHeldLimit - size() : 0; }

void Held::add(std::string_view bytes, Time now) {
  CHECK(bytes.size() <= room());
  if (bytes.empty()) return;
  // Moving what is left costs no more than what has gone since the last time.
  if (begin_ > size()) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  bytes_ += bytes;
  arrivals_.push_back({now, bytes.size()});
}

size_t Held::due(const Treatment& treatment, Time now) const {
  if (empty()) return 0;
  switch (treatment.kind) {
    case Kind::kPass:
      return size();
    case Kind::kDelay:
      return next_due(treatment) <= now ? arrivals_.front().bytes : 0;
    case Kind::kRate:
      if (next_due(treatment) > now) return 0;
      return std::min<size_t>(size(),
                              std::max<uint64_t>(1, treatment.rate * kPortion / std::chrono::seconds(1)));
    case Kind::kStall:
    case Kind::kDrop:
      return 0;
  }
  return 0;
}

Time Held::next_due(const Treatment& treatment) const {
  if (empty()) return kNever;
  if (treatment.kind == Kind::kDelay) return later(arrivals_.front().at, treatment.delay);
  if (treatment.kind == Kind::kRate) return paid_until_;
  return kNever;
}

void Held::gone(size_t count, const Treatment& treatment, Time now) {
  CHECK(count <= size());
  if (treatment.kind == Kind::kRate) {
    // A timer that rings late must not lower the rate, a long rest must not raise it.
    paid_until_ = std::max(paid_until_, now - kPortion) +
                  duration_from_seconds(static_cast<double>(count) / static_cast<double>(treatment.rate));
  }
  begin_ += count;
  if (empty()) {
    clear();
    return;
  }
  while (count >= arrivals_.front().bytes) {
    count -= arrivals_.front().bytes;
    arrivals_.pop_front();
  }
  arrivals_.front().bytes -= count;
}

void Held::clear() {
  constexpr size_t kKept = 64 * 1024;  // what one burst needed does not stay with an idle connection
  if (bytes_.capacity() > kKept) bytes_ = std::string();
  bytes_.clear();
  begin_ = 0;
  arrivals_.clear();
}

}  // namespace redoubt::lab
