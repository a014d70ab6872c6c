// The hot messages have a codec by hand beside protobuf's: the two must never differ.
#include <gtest/gtest.h>

#include "tests/frames.h"
#include "tests/random_message.h"
#include "wire/hot.h"
#include "wire/parse.h"

namespace redoubt::testing {
namespace {

using namespace wire;

template <class T>
class HotCodec : public ::testing::Test {};
using HotMessages = ::testing::Types<Submit, Copy, Done, Reply>;
TYPED_TEST_SUITE(HotCodec, HotMessages);

template <class T>
T random_message(uint64_t seed) {
  return std::get<T>(RandomMessages(seed).of_kind(Message(T{}).index()));
}

std::string envelope_of(const Message& message) {
  const std::string frame = frame_of(message);
  uint32_t size = 0;
  std::memcpy(&size, frame.data(), 4);
  return frame.substr(kFrameHead, size);
}

struct Read {
  bool good = false;
  Message message;
  std::vector<uint32_t> shares;
};

Read by_hand(std::string_view envelope, Message reused = {}) {
  Read read{false, std::move(reused), {}};
  read.good = hot::read(envelope, read.message, read.shares);
  return read;
}

Read by_protobuf(std::string_view envelope) {
  Read read;
  read.good = parse(envelope, read.message, read.shares).reason == CloseReason::kNone;
  return read;
}

TYPED_TEST(HotCodec, WritesWhatBothReadersUnderstand) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const std::string envelope = envelope_of(random_message<TypeParam>(seed));

    const Read fast = by_hand(envelope), slow = by_protobuf(envelope);

    ASSERT_TRUE(fast.good && slow.good) << "seed " << seed;
    ASSERT_TRUE(fast.message == slow.message) << "seed " << seed;
    ASSERT_EQ(fast.shares, slow.shares) << "seed " << seed;
  }
}

TYPED_TEST(HotCodec, StaysWithinTheRoomItAsksFor) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const auto message = random_message<TypeParam>(seed);
    std::vector<char> room(hot::most_of(message));

    const char* const end = hot::write(message, room.data());

    ASSERT_LE(static_cast<size_t>(end - room.data()), room.size()) << "seed " << seed;
  }
}

TYPED_TEST(HotCodec, NothingOfAnEarlierMessageStays) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::string envelope = envelope_of(random_message<TypeParam>(seed));
    const Message earlier = random_message<TypeParam>(seed + 1000);

    Message reused = by_hand(envelope, earlier).message, fresh = by_hand(envelope).message;

    // A single payload is the decoder's to set.
    std::visit(
        [](auto& one) {
          if constexpr (requires { one.payload; }) one.payload = {};
        },
        reused);
    ASSERT_TRUE(reused == fresh) << "seed " << seed;
  }
}

TYPED_TEST(HotCodec, TakesNothingThatProtobufReadsDifferently) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::string envelope = envelope_of(random_message<TypeParam>(seed));
    if (envelope.size() > 300) continue;
    for (size_t at = 0; at < envelope.size(); ++at) {
      const char right = envelope[at];
      for (const int change : {1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff}) {
        envelope[at] = static_cast<char>(right ^ change);
        const Read fast = by_hand(envelope);
        if (!fast.good) continue;
        const Read slow = by_protobuf(envelope);
        ASSERT_TRUE(slow.good) << "seed " << seed << ", byte " << at << ", change " << change;
        ASSERT_TRUE(fast.message == slow.message) << "seed " << seed << ", byte " << at;
        ASSERT_EQ(fast.shares, slow.shares);
      }
      envelope[at] = right;
    }
  }
}

}  // namespace
}  // namespace redoubt::testing
