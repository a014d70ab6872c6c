// The codec on bad frames: whatever a peer sends, the answer is a message, "need more" or a named reason, and
// a decoder that has called a peer bad stays with it.
#include <gtest/gtest.h>

#include "tests/frames.h"
#include "tests/random_message.h"

namespace redoubt::testing {
namespace {

using namespace wire;

// ---- frames by hand

std::string u32(uint32_t value) { return {reinterpret_cast<const char*>(&value), 4}; }

std::string frame(const std::string& envelope, const std::string& payload = {}) {
  return u32(static_cast<uint32_t>(envelope.size())) + u32(static_cast<uint32_t>(payload.size())) + envelope +
         payload;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string number(uint32_t field, uint64_t value) { return varint(field << 3) + varint(value); }

std::string nested(uint32_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}

// Numbers of Envelope's fields.
constexpr uint32_t kHello = 1, kWelcome = 2, kGoodbye = 3, kDummy = 4, kAnnounce = 5, kSubmit = 16,
                   kReply = 19, kRegister = 32, kCopy = 33, kHalt = 34, kStarted = 35, kDone = 36,
                   kHolding = 38, kAdopt = 39, kEnlist = 64, kPulse = 65, kVoteAsk = 66, kVote = 67,
                   kHandOver = 68, kCollect = 69, kAdd = 70, kRemove = 71, kMark = 72, kClientGone = 73;
constexpr uint32_t kRequests = 3, kPayloadSize = 7;
const std::string kUnknownField = number(99, 1);

struct Verdict {
  Decoded last;
  CloseReason why;
  std::string text;
};

Verdict verdict_on(const std::string& bytes) {
  Decoder decoder;
  decoder.set_max(1 << 20);
  const Received received = receive(decoder, bytes);
  return {received.last, decoder.why(), decoder.bad_text()};
}

void expect_bad(const std::string& bytes, CloseReason why, const std::string& part) {
  const Verdict verdict = verdict_on(bytes);

  EXPECT_EQ(verdict.last, Decoded::kBad) << part;
  EXPECT_EQ(verdict.why, why) << part << ": " << name_of(verdict.why);
  EXPECT_NE(verdict.text.find(part), std::string::npos) << verdict.text;
}

// ---- lengths

TEST(BadFrame, EnvelopeOverTheLimitIsOversize) {
  expect_bad(u32(kMaxEnvelope + 1) + u32(0), CloseReason::kOversize, "an envelope of 1048577 bytes");
  expect_bad(u32(~0u) + u32(0), CloseReason::kOversize, "an envelope of 4294967295 bytes");
}

TEST(BadFrame, HttpIsCalledByItsName) {
  expect_bad("HTTP/1.1 400 Bad Request\r\n\r\n", CloseReason::kMalformed,
             "answers in HTTP: is this an --admin port?");
  for (const char* request :
       {"GET / HTTP/1.1\r\n\r\n", "HEAD / HTTP/1.1\r\n\r\n", "POST /x HTTP/1.1\r\n\r\n"})
    expect_bad(request, CloseReason::kMalformed, "an HTTP request: these are answered at the --admin port");
  expect_bad("HTTQ/1.1 400 Bad Request\r\n\r\n", CloseReason::kOversize, "an envelope of");
}

TEST(BadFrame, PayloadOfTwoGigabytesIsOversize) {
  expect_bad(u32(2) + u32(1u << 31), CloseReason::kOversize, "a payload of 2147483648 bytes");
  expect_bad(u32(2) + u32(kMaxMaxPayload + 1), CloseReason::kOversize, "a payload of 1073741825 bytes");
}

TEST(BadFrame, BeforeTheHandshakeOnlySmallEnvelopesPass) {
  Decoder with_payload, with_envelope, fine;

  EXPECT_EQ(receive(with_payload, frame_of(StatusReply{"x"})).last, Decoded::kBad);
  EXPECT_EQ(receive(with_envelope, u32(4097) + u32(0)).last, Decoded::kBad);
  EXPECT_EQ(receive(fine, frame_of(Hello{})).messages.size(), 1u);

  EXPECT_EQ(with_payload.why(), CloseReason::kOversize);
  EXPECT_EQ(with_envelope.why(), CloseReason::kOversize);
}

TEST(BadFrame, AGoodHandshakeOpensTheDecoder) {
  Decoder decoder;
  EXPECT_EQ(receive(decoder, frame_of(Hello{})).last, Decoded::kNeedMore);

  decoder.set_max(10);

  EXPECT_EQ(receive(decoder, frame_of(StatusReply{"x"})).messages.size(), 1u);
}

// ---- kinds and fields

TEST(BadFrame, AnUnknownKindIsAnUnknownMessage) {
  expect_bad(frame(nested(15, "")), CloseReason::kUnknownMessage, "a kind of message");
  expect_bad(frame(nested(kDummy, "") + nested(200, "x")), CloseReason::kMalformed, "more than one message");
}

TEST(BadFrame, NoMessageIsAnUnknownMessage) {
  expect_bad(frame(""), CloseReason::kUnknownMessage, "without a message");
}

TEST(BadFrame, AnUnknownFieldIsNamedWhereverItIs) {
  const std::string epoch = nested(2, kUnknownField), load = nested(4, kUnknownField);
  std::vector<std::string> envelopes{
      nested(kDummy, kUnknownField),
      nested(kHello, kUnknownField),
      nested(kWelcome, nested(3, kUnknownField)),
      nested(kSubmit, nested(kRequests, "") + kUnknownField),
      nested(kSubmit, nested(kRequests, kUnknownField)),
      nested(kSubmit, nested(kRequests, nested(2, kUnknownField))),
      nested(kReply, kUnknownField),
      nested(kReply, nested(8, kUnknownField)),
      nested(kCopy, kUnknownField),
      nested(kCopy, epoch),
      nested(kStarted, epoch),
      nested(kStarted, nested(3, kUnknownField)),
      nested(kDone, kUnknownField),
      nested(kDone, epoch),
      nested(kDone, nested(9, kUnknownField)),
      nested(kHolding, nested(1, kUnknownField)),
      nested(kAdopt, nested(2, kUnknownField)),
      nested(kPulse, nested(5, kUnknownField)),
      nested(kPulse, nested(5, nested(1, kUnknownField))),
      nested(kPulse, nested(8, kUnknownField)),
      nested(kPulse, nested(8, nested(1, kUnknownField))),
      nested(kVoteAsk, nested(4, kUnknownField)),
      nested(kVoteAsk, nested(5, kUnknownField)),
      nested(kVote, nested(4, kUnknownField)),
      nested(kAdd, nested(7, kUnknownField)),
  };
  for (const uint32_t kind : {kAnnounce, kHolding, kAdopt, kEnlist, kPulse, kVoteAsk, kVote, kHandOver,
                              kCollect, kAdd, kRemove, kMark, kClientGone})
    envelopes.push_back(nested(kind, kUnknownField));
  for (const uint32_t kind :
       {kAnnounce, kAdopt, kPulse, kVoteAsk, kVote, kHandOver, kCollect, kAdd, kRemove, kMark, kClientGone})
    envelopes.push_back(nested(kind, nested(1, kUnknownField)));

  for (const std::string& envelope : envelopes)
    expect_bad(frame(envelope), CloseReason::kUnknownField, "a field");
}

TEST(BadFrame, BytesThatAreNoProtobufAreMalformed) {
  expect_bad(frame("\xff\xff\xff"), CloseReason::kMalformed, "no protobuf");
  expect_bad(frame(nested(kDummy, "").substr(0, 1)), CloseReason::kMalformed, "no protobuf");
  expect_bad(frame(nested(kDone, nested(5, "text").substr(0, 4))), CloseReason::kMalformed, "no protobuf");
  expect_bad(frame(nested(kCopy, number(3, 1).substr(0, 1))), CloseReason::kMalformed, "no protobuf");
}

TEST(BadFrame, UnknownEnumerationValues) {
  expect_bad(frame(nested(kHello, number(3, 4))), CloseReason::kMalformed, "role");
  expect_bad(frame(nested(kSubmit, nested(kRequests, nested(2, number(4, 6))))), CloseReason::kMalformed,
             "disposal");
  expect_bad(frame(nested(kSubmit, nested(kRequests, nested(2, number(3, 8))))), CloseReason::kMalformed,
             "redundancy");
  expect_bad(frame(nested(kSubmit, nested(kRequests, number(5, 1001)))), CloseReason::kMalformed, "share");
  expect_bad(frame(nested(kReply, number(2, 5))), CloseReason::kMalformed, "status");
  expect_bad(frame(nested(kReply, number(3, 10))), CloseReason::kMalformed, "reason");
  expect_bad(frame(nested(kDone, number(4, 5))), CloseReason::kMalformed, "fate");
  expect_bad(frame(nested(kEnlist, number(2, 3))), CloseReason::kMalformed, "kind of broker");
  expect_bad(frame(nested(kAdd, nested(7, number(4, 6)))), CloseReason::kMalformed, "disposal");
  expect_bad(frame(nested(kAdd, nested(7, nested(1, "s") + number(2, 1) + number(3, 1)))),
             CloseReason::kMalformed, "left open");
  expect_bad(frame(nested(kRemove, number(5, 5))), CloseReason::kMalformed, "status");
  expect_bad(frame(nested(kRemove, number(6, 10))), CloseReason::kMalformed, "reason");
}

TEST(BadFrame, AnUnknownReasonOfAGoodbyeIsStillAGoodbye) {
  Decoder decoder;
  const Received received = receive(decoder, frame(nested(kGoodbye, number(1, 77) + nested(2, "newer"))));

  ASSERT_EQ(received.messages.size(), 1u);
  EXPECT_TRUE(received.messages[0] == Message(Goodbye{CloseReason::kNone, "newer"}));
}

TEST(BadFrame, BudgetsBeyondAYearAreCutToOne) {
  Decoder decoder;
  decoder.set_max(10);
  const Received received = receive(decoder, frame(nested(kCopy, number(8, ~0ull) + number(9, ~0ull))));

  ASSERT_EQ(received.messages.size(), 1u);
  EXPECT_EQ(std::get<Copy>(received.messages[0]).deadline_us, kMaxBudgetUs);
  EXPECT_EQ(std::get<Copy>(received.messages[0]).wait_us, kMaxBudgetUs);

  const Received stream =
      receive(decoder, frame(nested(kAdd, number(8, ~0ull) + number(9, ~0ull) + number(12, ~0ull))));

  ASSERT_EQ(stream.messages.size(), 1u);
  EXPECT_EQ(std::get<Add>(stream.messages[0]).deadline_us, kMaxBudgetUs);
  EXPECT_EQ(std::get<Add>(stream.messages[0]).wait_limit_us, kMaxBudgetUs);
  EXPECT_EQ(std::get<Add>(stream.messages[0]).waited_us, kMaxBudgetUs);
}

TEST(BadFrame, CountsOverTheirLimitsAreOversize) {
  std::string requests, copies, services;
  for (uint32_t i = 0; i <= kMaxBatch; ++i) requests += nested(kRequests, ""), copies += std::string(8, 'c');
  for (uint32_t i = 0; i <= kMaxServices; ++i) services += nested(1, "s");

  expect_bad(frame(nested(kSubmit, "")), CloseReason::kMalformed, "a batch of no request");
  expect_bad(frame(nested(kSubmit, requests)), CloseReason::kOversize, "too many requests");
  expect_bad(frame(nested(kHalt, nested(1, copies))), CloseReason::kOversize, "too many ids");
  expect_bad(frame(nested(kRegister, services + number(2, 1))), CloseReason::kOversize, "or too many");
  expect_bad(frame(nested(kRegister, nested(1, "s"))), CloseReason::kOversize, "no worker");
  expect_bad(frame(nested(kRegister, nested(1, "") + number(2, 1))), CloseReason::kOversize, "empty");
}

TEST(BadFrame, HeldCopiesOverTheirLimitAreOversize) {
  std::string held, adopted, dropped;
  for (uint32_t i = 0; i < kMaxHeld; ++i) {
    held += nested(1, "");
    adopted += nested(2, "");
    dropped += std::string(8, 'd');
  }

  EXPECT_EQ(verdict_on(frame(nested(kHolding, held))).last, Decoded::kNeedMore);
  expect_bad(frame(nested(kHolding, held + nested(1, ""))), CloseReason::kOversize, "too many held");
  EXPECT_EQ(verdict_on(frame(nested(kAdopt, adopted))).last, Decoded::kNeedMore);
  expect_bad(frame(nested(kAdopt, adopted + nested(2, ""))), CloseReason::kOversize, "too many held");
  EXPECT_EQ(verdict_on(frame(nested(kAdopt, nested(3, dropped)))).last, Decoded::kNeedMore);
  expect_bad(frame(nested(kAdopt, nested(3, dropped) + nested(3, std::string(8, 'd')))),
             CloseReason::kOversize, "too many ids");
  expect_bad(frame(nested(kAdopt, nested(2, "") + nested(3, dropped))), CloseReason::kOversize,
             "too many held");
}

TEST(BadFrame, ListsBetweenBrokersOverTheirLimitsAreOversize) {
  const std::string succession(kMaxGroup, '\1'), requests(kMaxBatch, '\1');

  EXPECT_EQ(verdict_on(frame(nested(kPulse, nested(9, succession)))).last, Decoded::kNeedMore);
  expect_bad(frame(nested(kPulse, nested(9, succession + '\1'))), CloseReason::kOversize, "too many ids");
  EXPECT_EQ(verdict_on(frame(nested(kClientGone, nested(6, requests)))).last, Decoded::kNeedMore);
  expect_bad(frame(nested(kClientGone, nested(6, requests + '\1'))), CloseReason::kOversize, "too many ids");
}

TEST(BadFrame, AnAddHasLevelsThatAdmissionLetsIn) {
  const auto level = [](const std::string& service, uint64_t copies) {
    return nested(7, nested(1, service) + number(2, copies) + number(3, 1) + number(4, 1));
  };
  std::string levels;
  for (uint32_t i = 0; i < kMaxLevels; ++i) levels += level(std::string(kMaxNameBytes, 's'), kMaxCopies);

  EXPECT_EQ(verdict_on(frame(nested(kAdd, levels))).last, Decoded::kNeedMore);
  expect_bad(frame(nested(kAdd, levels + level("s", 1))), CloseReason::kOversize, "too many levels");
  expect_bad(frame(nested(kAdd, level(std::string(kMaxNameBytes + 1, 's'), 1))), CloseReason::kOversize,
             "a name");
  expect_bad(frame(nested(kAdd, level("s", kMaxCopies + 1))), CloseReason::kOversize, "too many copies");
  expect_bad(frame(nested(kAdd, level("s", 0))), CloseReason::kMalformed, "no copy");
  expect_bad(frame(nested(kAdd, level("", 1))), CloseReason::kMalformed, "no service");
}

TEST(BadFrame, SequenceNumbersBeyondAnyCountAreMalformed) {
  const uint64_t huge = ~0ull;

  expect_bad(frame(nested(kSubmit, nested(kRequests, number(1, huge)))), CloseReason::kMalformed,
             "sequence number");
  expect_bad(frame(nested(kSubmit, number(1, huge) + nested(kRequests, ""))), CloseReason::kMalformed,
             "sequence");
  expect_bad(frame(nested(17, number(1, huge))), CloseReason::kMalformed, "sequence number");
  expect_bad(frame(nested(18, number(1, huge))), CloseReason::kMalformed, "sequence number");
  const uint64_t next = kMaxSeq + 1;
  for (const std::string& envelope :
       {nested(kHolding, nested(1, number(3, next))), nested(kAdd, number(4, next)),
        nested(kAdd, number(14, next)), nested(kRemove, number(4, next)), nested(kRemove, number(8, next)),
        nested(kMark, number(5, next)), nested(kClientGone, nested(6, varint(1) + varint(next))),
        nested(kPulse, nested(1, number(1, next))), nested(kPulse, nested(5, number(2, next))),
        nested(kPulse, nested(8, nested(1, number(1, next)))), nested(kCollect, number(3, next))})
    expect_bad(frame(envelope), CloseReason::kMalformed, "sequence number");
}

TEST(BadFrame, ManyLevelsBecomeOneTooMany) {
  std::string levels;
  for (int i = 0; i < 1000; ++i) levels += nested(2, nested(1, "s"));
  Decoder decoder;
  decoder.set_max(10);

  const Received received = receive(decoder, frame(nested(kSubmit, nested(kRequests, levels))));

  ASSERT_EQ(received.messages.size(), 1u) << "the broker refuses it by name";
  EXPECT_EQ(std::get<Submit>(received.messages[0]).requests[0].levels.size(), kMaxLevels + 1);
  levels.clear();
  for (uint32_t i = 0; i <= kMaxLevels; ++i) levels += nested(8, "");
  expect_bad(frame(nested(kReply, levels)), CloseReason::kOversize, "too many levels");
}

TEST(BadFrame, TextsOverTheirLimitsAreOversize) {
  const std::string name(kMaxNameBytes + 1, 'n'), text(kMaxTextBytes + 1, 't');

  expect_bad(frame(nested(kHello, nested(4, name))), CloseReason::kOversize, "a name");
  expect_bad(frame(nested(kHello, nested(5, name))), CloseReason::kOversize, "a name");
  expect_bad(frame(nested(kWelcome, nested(2, name))), CloseReason::kOversize, "a name");
  expect_bad(frame(nested(kGoodbye, nested(2, text))), CloseReason::kOversize, "a text");
  expect_bad(frame(nested(kDone, nested(5, text))), CloseReason::kOversize, "a text");
  expect_bad(frame(nested(kEnlist, nested(5, name))), CloseReason::kOversize, "a name");
  expect_bad(frame(nested(kEnlist, nested(6, name))), CloseReason::kOversize, "a name");
  expect_bad(frame(nested(kMark, nested(6, name))), CloseReason::kOversize, "a name");
}

// ---- payloads

TEST(BadFrame, APayloadBehindAKindThatHasNoneIsMalformed) {
  for (const uint32_t kind :
       {kHello, kWelcome, kGoodbye, kDummy, kHalt, kStarted, kAnnounce, kHolding, kAdopt, kEnlist, kPulse,
        kVoteAsk, kVote, kHandOver, kCollect, kMark, kClientGone})
    expect_bad(frame(nested(kind, ""), "x"), CloseReason::kMalformed, "a payload behind");
}

TEST(BadFrame, SharesOfABatchMustAddUp) {
  const auto submit = [](uint64_t first, uint64_t second) {
    return nested(kSubmit, nested(kRequests, number(kPayloadSize, first)) +
                               nested(kRequests, number(kPayloadSize, second)));
  };

  expect_bad(frame(submit(2, 2), "xxxxx"), CloseReason::kMalformed, "add up");
  expect_bad(frame(submit(3, 3), "xxxxx"), CloseReason::kMalformed, "add up");
  expect_bad(frame(submit(0, 0), "xxxxx"), CloseReason::kMalformed, "add up");
  expect_bad(frame(submit(1, ~0u), ""), CloseReason::kMalformed, "add up");
  expect_bad(frame(nested(kSubmit, nested(kRequests, number(kPayloadSize, 4))), "xxxxx"),
             CloseReason::kMalformed, "add up");
  EXPECT_EQ(verdict_on(frame(submit(2, 3), "xxxxx")).last, Decoded::kNeedMore);
}

// ---- for good

TEST(BadFrame, BadStaysBad) {
  Decoder decoder;
  decoder.set_max(100);
  EXPECT_EQ(receive(decoder, frame("")).last, Decoded::kBad);
  const std::string text = decoder.bad_text();

  const Received after = receive(decoder, frame_of(Dummy{}) + frame_of(Dummy{}));

  EXPECT_EQ(after.last, Decoded::kBad);
  EXPECT_TRUE(after.messages.empty());
  EXPECT_EQ(decoder.why(), CloseReason::kUnknownMessage);
  EXPECT_EQ(decoder.bad_text(), text);
  EXPECT_TRUE(decoder.direct().empty());
}

TEST(BadFrame, GoodFramesBeforeABadOneAreDelivered) {
  Decoder decoder;
  decoder.set_max(100);

  const Received received =
      receive(decoder, frame_of(Dummy{.sent_us = 1}) + frame_of(StatusReply{"x"}) + u32(~0u) + u32(0));

  EXPECT_EQ(received.last, Decoded::kBad);
  EXPECT_EQ(received.messages.size(), 2u);
}

// Any answer will do, as long as it is one, and a split does not change it.
void survives(const std::string& bytes) {
  Decoder whole, split;
  whole.set_max(1 << 16);
  split.set_max(1 << 16);

  const Received at_once = receive(whole, bytes);
  const Received in_parts = receive(split, bytes, [] { return 7; });

  ASSERT_TRUE(at_once == in_parts);
  ASSERT_EQ(whole.why(), split.why());
  ASSERT_EQ(whole.bad_text(), split.bad_text());
  ASSERT_NE(at_once.last, Decoded::kMessage);
}

TEST(BadFrame, EverySingleByteMayBeWrong) {
  for (size_t kind = 1; kind < kKinds; ++kind) {
    RandomMessages random(kind);
    std::string bytes = frame_of(random.of_kind(kind));
    if (bytes.size() > 600) bytes.resize(600);
    bytes += frame_of(Dummy{.answer = true, .sent_us = 1});
    for (size_t at = 0; at < bytes.size(); ++at) {
      const char right = bytes[at];
      for (const int wrong : {0, 1, 0x7f, 0x80, 0xff, right + 1, right ^ 0x10, right ^ 0x80}) {
        bytes[at] = static_cast<char>(wrong);
        ASSERT_NO_FATAL_FAILURE(survives(bytes)) << "kind " << kind << ", byte " << at << ", " << wrong;
      }
      bytes[at] = right;
    }
  }
}

TEST(BadFrame, NoiseIsSurvived) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::string envelope(random.below(60), '\0');
    for (char& byte : envelope) byte = static_cast<char>(random());
    const std::string payload(random.below(3), 'p');

    ASSERT_NO_FATAL_FAILURE(survives(frame(envelope, payload) + frame_of(Dummy{}))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace redoubt::testing
