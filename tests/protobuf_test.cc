// The codec of wire/ against code generated from proto/: what one writes the other reads, field by field.
#include <gtest/gtest.h>

#include <cstring>

#include "frame.pb.h"
#include "tests/frames.h"
#include "tests/random_message.h"

namespace redoubt::testing {
namespace {

struct Frame {
  std::string envelope, payload;
};

Frame split(const std::string& bytes) {
  uint32_t envelope = 0;
  std::memcpy(&envelope, bytes.data(), 4);
  return {bytes.substr(wire::kFrameHead, envelope), bytes.substr(wire::kFrameHead + envelope)};
}

std::string join(const Frame& frame) {
  const auto envelope = static_cast<uint32_t>(frame.envelope.size());
  const auto payload = static_cast<uint32_t>(frame.payload.size());
  std::string head(wire::kFrameHead, '\0');
  std::memcpy(head.data(), &envelope, 4);
  std::memcpy(head.data() + 4, &payload, 4);
  return head + frame.envelope + frame.payload;
}

TEST(Protobuf, GeneratedCodeReadsAndWritesTheSame) {
  RandomMessages random(7);
  for (int round = 0; round < 200; ++round) {
    for (size_t kind = 1; kind < kKinds; ++kind) {
      const wire::Message message = random.of_kind(kind);
      Frame frame = split(frame_of(message));

      proto::Envelope generated;
      ASSERT_TRUE(generated.ParseFromString(frame.envelope)) << wire::name_of(message);
      EXPECT_NE(generated.message_case(), proto::Envelope::MESSAGE_NOT_SET) << wire::name_of(message);
      frame.envelope = generated.SerializeAsString();

      wire::Decoder decoder;
      decoder.set_max(wire::kDefaultMaxPayload);
      const std::string bytes = join(frame);
      decoder.feed(bytes);
      wire::Message again;
      ASSERT_EQ(decoder.next(again), wire::Decoded::kMessage) << wire::name_of(message) << decoder.bad_text();
      EXPECT_TRUE(again == message) << wire::name_of(message);
    }
  }
}

}  // namespace
}  // namespace redoubt::testing
