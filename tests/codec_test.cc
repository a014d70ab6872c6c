// The codec on good frames: whatever the kind, the size and the way in which bytes arrive, what was encoded
// comes out again. Bad frames are in codec_bad_test.cc.
#include "wire/codec.h"

#include <gtest/gtest.h>

#include "tests/frames.h"
#include "tests/random_message.h"
#include "wire/stream.h"

namespace redoubt::testing {
namespace {

using namespace wire;

Decoder open_decoder(uint64_t max_payload = kDefaultMaxPayload) {
  Decoder decoder;
  decoder.set_max(max_payload);
  return decoder;
}

template <class T>
T with_payload(const Payload& payload) {
  T message;
  message.payload = payload;
  return message;
}

Done done_of(uint64_t copy, const Payload& payload) {
  Done done;
  done.copy = copy;
  done.payload = payload;
  return done;
}

std::vector<Message> one_of_each(RandomMessages& random) {
  std::vector<Message> messages;
  for (size_t kind = 1; kind < kKinds; ++kind) messages.push_back(random.of_kind(kind));
  return messages;
}

std::string frames_of(const std::vector<Message>& messages) {
  ChunkPool pool;
  Outbox out(pool);
  for (const Message& message : messages) encode(message, out);
  return written(out);
}

class CodecKinds : public ::testing::TestWithParam<size_t> {};

TEST_P(CodecKinds, RoundTripsWhateverItHolds) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Message message = RandomMessages(seed).of_kind(GetParam());
    Decoder decoder = open_decoder();

    const Received received = receive(decoder, frame_of(message));

    ASSERT_EQ(received.messages.size(), 1u) << "seed " << seed << ": " << decoder.bad_text();
    ASSERT_TRUE(received.messages[0] == message) << "seed " << seed;
    ASSERT_EQ(received.last, Decoded::kNeedMore);
  }
}

TEST_P(CodecKinds, RoundTripsEmpty) {
  // Only Submit and Register have no empty form: a batch of nothing and a replica of nothing are no messages.
  Message message = RandomMessages(1).of_kind(GetParam());
  std::visit([]<class T>(T& one) { one = T{}; }, message);
  if (auto* submit = std::get_if<Submit>(&message)) submit->requests.resize(1);
  if (auto* registering = std::get_if<Register>(&message)) registering->services = {"s"};
  Decoder decoder = open_decoder();

  const Received received = receive(decoder, frame_of(message));

  ASSERT_EQ(received.messages.size(), 1u) << decoder.bad_text();
  EXPECT_TRUE(received.messages[0] == message);
}

TEST_P(CodecKinds, TruncatedAsksForMoreAndGoesOnWhenItComes) {
  RandomMessages random(7);
  const Message message = random.of_kind(GetParam());
  const std::string frame = frame_of(message);
  for (size_t cut = 0; cut < frame.size(); cut += cut < 400 ? 1 : 97) {
    Decoder decoder = open_decoder();

    const Received before = receive(decoder, std::string_view(frame).substr(0, cut));
    const Received after = receive(decoder, std::string_view(frame).substr(cut));

    ASSERT_EQ(before.last, Decoded::kNeedMore) << "cut at " << cut;
    ASSERT_TRUE(before.messages.empty()) << "cut at " << cut;
    ASSERT_TRUE(after.messages == std::vector{message}) << "cut at " << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CodecKinds, ::testing::Range<size_t>(1, kKinds), [](const auto& kind) {
  return std::string(name_of(RandomMessages(0).of_kind(kind.param)));
});

TEST(Codec, ByteByByteGivesTheSameMessages) {
  RandomMessages random(11);
  const std::vector<Message> messages = one_of_each(random);
  Decoder decoder = open_decoder();

  const Received received = receive(decoder, frames_of(messages), [] { return 1; });

  EXPECT_TRUE(received.messages == messages);
  EXPECT_EQ(received.last, Decoded::kNeedMore);
}

TEST(Codec, AnySplitGivesTheSameMessages) {
  for (uint64_t seed = 0; seed < 28; ++seed) {
    RandomMessages random(seed);
    random.set_payload_limit(40'000);
    const std::vector<Message> messages = one_of_each(random);
    Random sizes(seed);
    const uint64_t most = uint64_t{1} << (4 + seed % 14);
    Decoder decoder = open_decoder();

    const Received received = receive(decoder, frames_of(messages), [&] { return sizes.below(most); });

    ASSERT_TRUE(received.messages == messages) << "seed " << seed;
    ASSERT_EQ(received.last, Decoded::kNeedMore);
  }
}

TEST(Codec, ManyFramesInOneFeedComeOutInOrder) {
  RandomMessages random(3);
  std::vector<Message> messages;
  for (int i = 0; i < 20; ++i)
    for (Message& message : one_of_each(random)) messages.push_back(std::move(message));
  Decoder decoder = open_decoder();

  const Received received = receive(decoder, frames_of(messages));

  EXPECT_TRUE(received.messages == messages);
}

TEST(Codec, PayloadsOfEverySizeArriveWhole) {
  RandomMessages random(5);
  for (const size_t size : {0u, 1u, 4095u, 4096u, 16'384u, 70'000u, 1u << 20}) {
    const Payload payload = random.payload(size);
    Submit submit = random.batch(1);
    submit.requests[0].payload = payload;
    std::vector<Message> messages{std::move(submit),
                                  with_payload<Copy>(payload),
                                  with_payload<Done>(payload),
                                  with_payload<Reply>(payload),
                                  with_payload<StatusReply>(payload),
                                  with_payload<Add>(payload),
                                  with_payload<Remove>(payload)};
    const std::string frames = frames_of(messages);
    for (const size_t read : {size_t{1'000}, size_t{65'536}, frames.size()}) {
      Decoder decoder = open_decoder();

      const Received received = receive(decoder, frames, [&] { return read; });

      ASSERT_TRUE(received.messages == messages) << size << " bytes, read by " << read;
    }
  }
}

TEST(Codec, ALargePayloadByteByByteArrivesWhole) {
  const Message message = StatusReply{RandomMessages(1).payload(1 << 20)};
  const std::string frame = frame_of(message);
  Decoder decoder = open_decoder();
  Message out;

  for (const char& byte : frame) {
    decoder.feed({&byte, 1});
    const Decoded last = decoder.next(out);
    ASSERT_EQ(last, &byte == &frame.back() ? Decoded::kMessage : Decoded::kNeedMore);
  }

  EXPECT_TRUE(out == message);
}

TEST(Codec, OnlyALargePayloadIsReceivedInPlace) {
  const std::string large = frame_of(StatusReply{RandomMessages(1).payload(70'000)});
  const std::string small = frame_of(StatusReply{RandomMessages(1).payload(5'000)});
  Decoder decoder = open_decoder();
  Message out;

  EXPECT_TRUE(decoder.direct().empty());
  decoder.feed(std::string_view(small).substr(0, 100));
  EXPECT_EQ(decoder.next(out), Decoded::kNeedMore);
  EXPECT_TRUE(decoder.direct().empty());
  decoder.feed(std::string_view(small).substr(100));
  EXPECT_EQ(decoder.next(out), Decoded::kMessage);
  decoder.feed(std::string_view(large).substr(0, 100));
  EXPECT_EQ(decoder.next(out), Decoded::kNeedMore);

  ASSERT_EQ(decoder.direct().size(), large.size() - 100);
  std::memcpy(decoder.direct().data(), large.data() + 100, large.size() - 100);
  decoder.received_direct(large.size() - 100);
  EXPECT_TRUE(decoder.direct().empty());
  decoder.feed({});
  EXPECT_EQ(decoder.next(out), Decoded::kMessage);
  EXPECT_EQ(std::get<StatusReply>(out).payload, RandomMessages(1).payload(70'000));
}

TEST(Codec, BatchesKeepTheirRequestsApart) {
  for (const size_t requests : {1u, 2u, 100u, kMaxBatch}) {
    RandomMessages random(requests);
    Message message = random.batch(requests);
    std::vector<Request>& all = std::get<Submit>(message).requests;
    constexpr std::array<size_t, 6> kSizes{0, 1, 70'000, 4'095, 0, 4'096};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].levels.resize(std::min<size_t>(1, all[i].levels.size()));
      all[i].payload = random.payload(i < 100 ? kSizes[i % kSizes.size()] : i % 3);
    }
    Random sizes(requests);
    const std::string frame = frame_of(message);
    Decoder whole = open_decoder(), split = open_decoder();

    EXPECT_TRUE(receive(whole, frame).messages == std::vector{message}) << requests;
    EXPECT_TRUE(receive(split, frame, [&] { return sizes.below(50'000); }).messages == std::vector{message});
  }
}

TEST(Codec, ABatchOfNothingSaysThatNothingIsOpen) {
  const Message message = Submit{.low_water = 7, .sent_us = 1, .requests = {}, .all_open = true};
  Decoder decoder = open_decoder();

  const Received received = receive(decoder, frame_of(message));

  EXPECT_TRUE(received.messages == std::vector{message}) << decoder.bad_text();
}

TEST(Codec, SmallSharesOfABatchDoNotKeepItsMemory) {
  RandomMessages random(1);
  Submit batch = random.batch(3);
  batch.requests[0].payload = random.payload(4'095);
  batch.requests[1].payload = random.payload(70'000);
  batch.requests[2].payload = random.payload(4'096);
  const std::string frame = frame_of(batch);
  Decoder decoder = open_decoder();
  Message out;

  decoder.feed(frame);
  ASSERT_EQ(decoder.next(out), Decoded::kMessage);

  const std::vector<Request>& requests = std::get<Submit>(out).requests;
  EXPECT_EQ(requests[0].payload.sharers(), 1u);
  EXPECT_EQ(requests[1].payload.sharers(), 2u);
  EXPECT_EQ(requests[2].payload.data(), requests[1].payload.data() + 70'000);
}

TEST(Codec, APayloadOverTheLimitIsSkippedAndTheNextFrameIsGood) {
  RandomMessages random(2);
  for (const size_t size : {1'001u, 20'000u, 1u << 20}) {
    const Payload too_large = random.payload(size);
    const std::vector<Message> messages{done_of(1, too_large), Dummy{.sent_us = 2},
                                        done_of(3, random.payload(1'000)), StatusReply{too_large},
                                        Acknowledge{4}};
    const std::string frames = frames_of(messages);
    for (const size_t read : {size_t{1}, size_t{4'000}, frames.size()}) {
      Decoder decoder = open_decoder(1'000);

      const Received received = receive(decoder, frames, [&] { return read; });

      EXPECT_EQ(received.skipped, (std::vector{true, false, false, true, false})) << size;
      ASSERT_EQ(received.messages.size(), 5u);
      EXPECT_TRUE(received.messages[0] == Message(done_of(1, {})));
      EXPECT_TRUE(received.messages[1] == messages[1]);
      EXPECT_TRUE(received.messages[2] == messages[2]);
      EXPECT_TRUE(received.messages[4] == messages[4]);
    }
  }
}

TEST(Codec, ASkippedPayloadLeavesNothingOfAnEarlierMessage) {
  RandomMessages random(2);
  Submit small = random.batch(2), large = random.batch(2);
  for (Request& request : small.requests) request.payload = random.payload(10);
  for (Request& request : large.requests) request.payload = random.payload(1'000);
  const std::string frames = frames_of({small, large});
  Decoder decoder = open_decoder(1'000);
  Message out;

  decoder.feed(frames);
  ASSERT_EQ(decoder.next(out), Decoded::kMessage);
  ASSERT_EQ(decoder.next(out), Decoded::kMessage);

  EXPECT_TRUE(decoder.payload_skipped());
  for (const Request& request : std::get<Submit>(out).requests) EXPECT_TRUE(request.payload.empty());
}

TEST(Codec, ADecoderUsesTheMemoryOfTheLastMessage) {
  Reply reply;
  reply.text = std::string(300, 'x');
  const std::string frame = frame_of(reply);
  Decoder decoder = open_decoder();
  Message out;
  decoder.feed(frame);
  ASSERT_EQ(decoder.next(out), Decoded::kMessage);
  const char* memory = std::get<Reply>(out).text.data();

  decoder.feed(frame);
  ASSERT_EQ(decoder.next(out), Decoded::kMessage);

  EXPECT_EQ(std::get<Reply>(out).text.data(), memory);
}

TEST(Codec, AnAddUsesTheMemoryOfTheLastOneAndKeepsNothingElseOfIt) {
  RandomMessages random(9);
  Add long_one = std::get<Add>(random.of_kind(Message(Add{}).index()));
  long_one.levels.clear();
  const Policy policy{Redundancy::kPerLevel, Disposal::kNone, 0};
  for (uint32_t i = 0; i < kMaxLevels; ++i) long_one.levels.push_back({std::string(100, 's'), 2, policy});
  long_one.payload = random.payload(10);
  Add short_one;
  short_one.levels = {{std::string(50, 't'), 1, policy}};
  const std::string frames = frames_of({long_one, short_one});
  Decoder decoder = open_decoder();
  Message out;
  decoder.feed(frames);
  ASSERT_EQ(decoder.next(out), Decoded::kMessage);
  const char* memory = std::get<Add>(out).levels[0].service.data();

  ASSERT_EQ(decoder.next(out), Decoded::kMessage);

  EXPECT_TRUE(out == Message(short_one));
  EXPECT_EQ(std::get<Add>(out).levels[0].service.data(), memory);
}

TEST(Stream, BothEndsCountTheSame) {
  Add add;
  add.payload = Payload(std::string(1000, 'x'));
  Remove remove;
  remove.payload = Payload("gone");
  Mark mark;
  mark.name = "client";
  ClientGone gone;
  gone.requests = {1, 2, 3};
  Decoder decoder = open_decoder();

  const Received received = receive(decoder, frames_of({add, remove, mark, gone}));

  ASSERT_EQ(received.messages.size(), 4u);
  EXPECT_EQ(stream_bytes(std::get<Add>(received.messages[0])), 64u + 1000u);
  EXPECT_EQ(stream_bytes(std::get<Remove>(received.messages[1])), 64u + 4u);
  EXPECT_EQ(stream_bytes(std::get<Mark>(received.messages[2])), 64u + 6u);
  EXPECT_EQ(stream_bytes(std::get<ClientGone>(received.messages[3])), 64u + 3u * 8u);
}

}  // namespace
}  // namespace redoubt::testing
