// RandomMessages: messages of every kind within the bounds of wire/limits.h, the same for the same seed.
// Small, empty and extreme values come often: that is where codecs break.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/random.h"
#include "wire/limits.h"
#include "wire/message.h"

namespace redoubt::testing {

inline constexpr size_t kKinds = std::variant_size_v<wire::Message>;  // the first one is "nothing"

class RandomMessages {
 public:
  explicit RandomMessages(uint64_t seed) : random_(seed) {}

  // Payloads have at most this many bytes.
  void set_payload_limit(size_t limit) { payload_limit_ = limit; }

  // A message of the kind at this index of the variant, from 1.
  wire::Message of_kind(size_t kind);
  wire::Submit batch(size_t requests);
  Payload payload(size_t size);

 private:
  void fill(wire::Hello& to);
  void fill(wire::Welcome& to);
  void fill(wire::Announce& to);
  void fill(wire::Goodbye& to);
  void fill(wire::Dummy& to);
  void fill(wire::Submit& to);
  void fill(wire::Cancel& to);
  void fill(wire::Acknowledge& to);
  void fill(wire::Reply& to);
  void fill(wire::Register& to);
  void fill(wire::Copy& to);
  void fill(wire::Halt& to);
  void fill(wire::Started& to);
  void fill(wire::Done& to);
  void fill(wire::Leaving&) {}
  void fill(wire::StatusQuery&) {}
  void fill(wire::StatusReply& to);
  void fill(wire::Holding& to);
  void fill(wire::Adopt& to);
  void fill(wire::Enlist& to);
  void fill(wire::Pulse& to);
  void fill(wire::VoteAsk& to);
  void fill(wire::Vote& to);
  void fill(wire::HandOver& to);
  void fill(wire::Collect& to);
  void fill(wire::Add& to);
  void fill(wire::Remove& to);
  void fill(wire::Mark& to);
  void fill(wire::ClientGone& to);
  void fill(wire::Request& to);

  bool coin() { return random_.chance(0.5); }
  uint64_t number();
  uint64_t number(uint64_t most);
  uint32_t small() { return static_cast<uint32_t>(number()); }
  int64_t time() { return static_cast<int64_t>(number()); }
  uint64_t budget() { return number(wire::kMaxBudgetUs); }
  uint32_t thousandths() { return static_cast<uint32_t>(number(1000)); }
  wire::Policy policy() {
    return {one_of(wire::Redundancy::kAuto), one_of(wire::Disposal::kOnStart),
            static_cast<uint16_t>(thousandths())};
  }
  // One that leaves nothing open.
  wire::Policy resolved_policy() {
    wire::Policy some = policy();
    if (some.redundancy == wire::Redundancy::kDefault) some.redundancy = wire::Redundancy::kAuto;
    if (some.disposal == wire::Disposal::kDefault) some.disposal = wire::Disposal::kNone;
    return some;
  }
  std::string text(size_t most);
  std::vector<uint64_t> ids(size_t most_ids = wire::kMaxBatch, uint64_t most = ~uint64_t{0});
  wire::Epoch epoch() { return {number(wire::kMaxSeq), small()}; }
  wire::SyncSet set() { return {epoch(), number(), number()}; }
  wire::Position position() { return {epoch(), number(wire::kMaxSeq)}; }
  wire::Load load() { return {small(), small()}; }
  Payload payload() { return payload(number(payload_limit_)); }
  template <class Enum>
  Enum one_of(Enum last) {
    return static_cast<Enum>(random_.below(static_cast<uint64_t>(last) + 1));
  }

  Random random_;
  size_t payload_limit_ = 300;
};

}  // namespace redoubt::testing
