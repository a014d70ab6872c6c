// Arbitrary bytes in arbitrary pieces: the decoder must survive them, must not care how they were split, and
// what it takes for a message must encode and decode to itself; and the two readers of hot messages must
// agree.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/check.h"
#include "core/random.h"
#include "tests/frames.h"
#include "wire/hot.h"
#include "wire/limits.h"
#include "wire/parse.h"

namespace redoubt {
namespace {

using testing::frame_of;
using testing::receive;
using testing::Received;

// Large enough for direct(), small enough for skipping.
constexpr uint64_t kMaxPayload = 40'000;

void round_trips(const wire::Message& message) {
  const std::string frame = frame_of(message);
  wire::Decoder decoder;
  decoder.set_max(wire::kDefaultMaxPayload);
  const Received again = receive(decoder, frame);
  CHECK(again.last == wire::Decoded::kNeedMore && again.messages.size() == 1);
  CHECK(again.messages[0].index() == message.index());
  CHECK(frame_of(again.messages[0]) == frame);
}

// What the reader by hand takes, protobuf must read in the same way.
void readers_agree(std::string_view bytes) {
  if (bytes.size() < wire::kFrameHead) return;
  uint32_t size = 0;
  std::memcpy(&size, bytes.data(), 4);
  const std::string_view envelope = bytes.substr(wire::kFrameHead, size);
  wire::Message fast, slow;
  std::vector<uint32_t> fast_shares, slow_shares;
  if (!wire::hot::read(envelope, fast, fast_shares)) return;
  CHECK(wire::parse(envelope, slow, slow_shares).reason == wire::CloseReason::kNone);
  CHECK(fast == slow && fast_shares == slow_shares);
}

void run(uint8_t how, std::string_view bytes) {
  Random sizes(how);
  const uint64_t most = uint64_t{1} << (how % 16);
  wire::Decoder whole, split;
  if (how != 0) whole.set_max(kMaxPayload), split.set_max(kMaxPayload);

  const Received at_once = receive(whole, bytes);
  const Received in_parts = receive(split, bytes, [&] { return sizes.below(most + 1); });

  CHECK(at_once == in_parts);
  CHECK(whole.why() == split.why() && whole.bad_text() == split.bad_text());
  CHECK((at_once.last == wire::Decoded::kBad) == (whole.why() != wire::CloseReason::kNone));
  for (const wire::Message& message : at_once.messages) round_trips(message);
  readers_agree(bytes);
}

}  // namespace
}  // namespace redoubt

// One byte says how to split what follows.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) redoubt::run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
