// The client's session core: what it sends when, and that every call ends exactly once. No sockets, no
// waiting: time is a number here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "client/session.h"
#include "wire/limits.h"

namespace redoubt::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr size_t kRoom = size_t{16} << 20;
constexpr uint64_t kMaxPayload = 16 << 20;

Request echo(size_t payload = 0, Duration deadline = 5s) {
  return {.levels = {{"echo", 1}}, .payload = std::string(payload, 'x'), .deadline = deadline};
}

// A session with a clock, and everything that came out of it.
struct Fixture : testing::Test {
  Session session;
  Time now = Time(1000s);
  uint64_t next_token = 1;
  std::map<uint64_t, Reply> ended;  // by token

  uint64_t submit(const Request& request) { return session.submit(now, request, Token{next_token++}); }

  void up(uint64_t link = 1, uint64_t max_payload = kMaxPayload) { session.link_up(now, link, max_payload); }

  void reply(uint64_t seq, uint64_t link = 1, size_t payload = 0) {
    wire::Reply reply;
    reply.seq = seq;
    reply.payload = std::string(payload, 'r');
    session.replied(now, link, reply, false);
    collect();
  }

  void collect() {
    auto& completions = session.effects().completions;
    for (size_t i = 0; i < completions.size(); ++i) {
      const auto token = static_cast<uint64_t>(completions[i].token);
      EXPECT_FALSE(ended.contains(token)) << "two outcomes of one call";
      ended[token] = completions[i].reply;
    }
    completions.clear();
  }

  // The frames of this turn.
  std::vector<wire::Submit> flush(size_t room = kRoom) {
    session.effects().clear_frames();
    session.flush(now, room);
    collect();
    std::vector<wire::Submit> frames;
    for (size_t i = 0; i < session.effects().submits.size(); ++i)
      frames.push_back(session.effects().submits[i]);
    return frames;
  }
  size_t acknowledges() { return session.effects().acknowledges.size(); }
};

using SessionTest = Fixture;

TEST_F(SessionTest, SubmitsOfOneTurnShareAFrame) {
  up();
  submit(echo());
  submit(echo());

  const auto frames = flush();

  ASSERT_EQ(frames.size(), 1u);
  ASSERT_EQ(frames[0].requests.size(), 2u);
  EXPECT_EQ(frames[0].requests[0].seq, 1u);
  EXPECT_EQ(frames[0].requests[1].seq, 2u);
  EXPECT_EQ(frames[0].low_water, 1u);
  EXPECT_EQ(frames[0].sent_us, to_us(now));
  EXPECT_FALSE(frames[0].requests[0].resend);
  EXPECT_TRUE(flush().empty());
}

TEST_F(SessionTest, RequestTravelsAsItWasAsked) {
  up();
  Request request{.levels = {{"decode", 2}, {"detect", 3}}, .payload = "bytes", .deadline = 50ms};
  request.wait_limit = 20ms;
  request.disposal = Disposal::kExpire;
  submit(request);

  const wire::Request sent = flush().at(0).requests.at(0);

  EXPECT_EQ(sent.levels, (std::vector<wire::Level>{{"decode", 2}, {"detect", 3}}));
  EXPECT_EQ(sent.payload.view(), "bytes");
  EXPECT_EQ(sent.wait_limit_us, 20000u);
  EXPECT_EQ(sent.disposal, wire::Disposal::kExpire);
  EXPECT_LE(sent.deadline_us, 50000u);
  EXPECT_GE(sent.deadline_us, 49000u);
}

TEST_F(SessionTest, WithoutALinkRequestsWaitAndAgeMeanwhile) {
  submit(echo(0, 100ms));
  EXPECT_TRUE(flush().empty());

  now += 60ms;
  up();
  const auto frames = flush();

  ASSERT_EQ(frames.size(), 1u);
  EXPECT_LE(frames[0].requests[0].deadline_us, 40000u);
  EXPECT_FALSE(frames[0].requests[0].resend);
}

TEST_F(SessionTest, OpenRequestsAreSentAgainInOrderOnANewLink) {
  up();
  for (int i = 0; i < 4; ++i) submit(echo());
  flush();
  reply(2);
  session.link_down();
  submit(echo());

  up(2);
  const auto frames = flush();

  ASSERT_EQ(frames.size(), 1u);
  std::vector<uint64_t> seqs;
  std::vector<bool> resends;
  for (const auto& request : frames[0].requests)
    seqs.push_back(request.seq), resends.push_back(request.resend);
  EXPECT_EQ(seqs, (std::vector<uint64_t>{1, 3, 4, 5}));
  EXPECT_EQ(resends, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(session.stats().resent, 3u);
}

TEST_F(SessionTest, RepliesOfAnEarlierLinkAreNotTaken) {
  up(1);
  submit(echo());
  flush();
  up(2);
  flush();

  reply(1, 1);

  EXPECT_TRUE(ended.empty());
  EXPECT_EQ(session.stats().stale, 1u);
  reply(1, 2);
  EXPECT_EQ(ended.size(), 1u);
}

TEST_F(SessionTest, LowWaterMarkIsTheLowestOpenRequest) {
  up();
  for (int i = 0; i < 3; ++i) submit(echo());
  flush();

  reply(2);
  EXPECT_EQ(session.low_water(), 1u);
  reply(1);
  EXPECT_EQ(session.low_water(), 3u);
  submit(echo());

  EXPECT_EQ(flush().at(0).low_water, 3u);
}

TEST_F(SessionTest, MarkTravelsAloneAfterAWhile) {
  up();
  submit(echo());
  flush();
  reply(1);
  flush();
  EXPECT_EQ(acknowledges(), 0u);
  EXPECT_EQ(session.next_deadline(), now + 20ms);

  now += 20ms;
  flush();

  ASSERT_EQ(acknowledges(), 1u);
  EXPECT_EQ(session.effects().acknowledges[0].low_water, 2u);
  EXPECT_EQ(session.next_deadline(), kNever);
}

TEST_F(SessionTest, MarkThatAnotherFrameCarriedDoesNotTravelAlone) {
  up();
  submit(echo());
  flush();
  reply(1);
  submit(echo());
  flush();

  now += 20ms;
  flush();

  EXPECT_EQ(acknowledges(), 0u);
}

TEST_F(SessionTest, MarkTravelsAtOnceAfterManyReplies) {
  up();
  for (int i = 0; i < 64; ++i) submit(echo());
  flush();
  for (uint64_t seq = 1; seq < 64; ++seq) reply(seq);
  flush();
  EXPECT_EQ(acknowledges(), 0u);

  reply(64);
  flush();

  EXPECT_EQ(acknowledges(), 1u);
}

TEST_F(SessionTest, MarkTravelsAtOnceAfterLargeResults) {
  up();
  submit(echo());
  flush();

  reply(1, 1, 64 * 1024);
  flush();

  EXPECT_EQ(acknowledges(), 1u);
}

TEST_F(SessionTest, NewLinkIsToldTheMark) {
  up(1);
  submit(echo());
  flush();
  reply(1);
  session.link_down();

  up(2);
  flush();

  EXPECT_EQ(acknowledges(), 1u);
}

TEST_F(SessionTest, SilentBrokerCostsTheDeadline) {
  up();
  submit(echo(0, 50ms));
  flush();
  EXPECT_EQ(session.next_deadline(), now + 50ms);

  now += 50ms;
  session.tick(now);
  collect();

  EXPECT_EQ(ended.at(1).status, Status::kExpired);
  EXPECT_FALSE(ended.at(1).answered);
  EXPECT_EQ(ended.at(1).latency, 50ms);
  EXPECT_EQ(session.pending(), 0u);
  EXPECT_EQ(session.low_water(), 2u);
}

TEST_F(SessionTest, WithoutAnyBrokerTheOutcomeSaysSo) {
  submit(echo(0, 50ms));

  now += 50ms;
  session.tick(now);
  collect();

  EXPECT_EQ(ended.at(1).status, Status::kNoBroker);
}

TEST_F(SessionTest, BrokersAreToldALittleLessSoThatTheirWordComesFirst) {
  up();
  submit(echo(0, 10ms));
  submit(echo(0, 10s));

  const auto requests = flush().at(0).requests;

  EXPECT_EQ(requests[0].deadline_us, 9800u);
  EXPECT_EQ(requests[1].deadline_us, 9'999'000u);
}

TEST(SessionOvertimeTest, WaitsForTheBrokersWordAndTellsTheWholeDeadline) {
  Session session(100ms);
  const Time now(10s);
  session.link_up(now, 1, kMaxPayload);
  session.submit(now, echo(0, 50ms), Token{1});
  session.flush(now, kRoom);

  EXPECT_EQ(session.effects().submits[0].requests[0].deadline_us, 50000u);
  session.tick(now + 149ms);
  EXPECT_TRUE(session.effects().completions.empty());
  session.tick(now + 150ms);
  EXPECT_EQ(session.effects().completions[0].reply.status, Status::kExpired);
}

TEST_F(SessionTest, ExpiryOfTheBrokerSaysWhere) {
  up();
  submit({.levels = {{"decode", 1}, {"detect", 1}}});
  flush();
  wire::Reply reply;
  reply.seq = 1;
  reply.status = wire::Status::kExpired;
  reply.level = 1;
  session.replied(now, 1, reply, false);
  collect();

  EXPECT_EQ(ended.at(1).text, "expired at level 2 (detect), waiting in a queue");
  EXPECT_TRUE(ended.at(1).answered);
}

TEST_F(SessionTest, CancelEndsTheCallAndTellsTheBroker) {
  up();
  submit(echo());
  submit(echo());
  flush();

  session.cancel(now, 2);
  flush();

  EXPECT_EQ(ended.at(2).status, Status::kCancelled);
  ASSERT_EQ(session.effects().cancels.size(), 1u);
  EXPECT_EQ(session.effects().cancels[0].seqs, (std::vector<uint64_t>{2}));
  EXPECT_EQ(session.effects().cancels[0].low_water, 1u);
}

TEST_F(SessionTest, CancelOfWhatWasNeverSentStaysHere) {
  up();
  submit(echo());

  session.cancel(now, 1);

  EXPECT_TRUE(flush().empty());
  EXPECT_EQ(session.effects().cancels.size(), 0u);
  EXPECT_EQ(ended.at(1).status, Status::kCancelled);
  session.cancel(now, 1);
  session.cancel(now, 99);
  collect();
}

TEST_F(SessionTest, ManyCancelsAreSplitIntoFrames) {
  up();
  for (int i = 0; i < 5000; ++i) submit(echo());
  flush();
  for (uint64_t seq = 1; seq <= 5000; ++seq) session.cancel(now, seq);

  flush();

  ASSERT_EQ(session.effects().cancels.size(), 2u);
  EXPECT_EQ(session.effects().cancels[0].seqs.size(), wire::kMaxBatch);
}

TEST_F(SessionTest, SecondReplyIsCountedAndDropped) {
  up();
  submit(echo());
  flush();

  reply(1);
  reply(1);

  EXPECT_EQ(ended.size(), 1u);
  EXPECT_EQ(session.stats().duplicated, 1u);
  EXPECT_EQ(session.stats().unexpected, 0u);
}

TEST_F(SessionTest, ReplyToAnUnknownIdIsCountedAndDropped) {
  up();
  submit(echo());

  reply(0);
  reply(7);
  reply(1);  // not sent yet: a broker cannot know it

  EXPECT_TRUE(ended.empty());
  EXPECT_EQ(session.stats().unexpected, 3u);
}

TEST_F(SessionTest, ReplyAfterTheCallsOwnEndIsNoDuplicate) {
  up();
  submit(echo(0, 10ms));
  submit(echo());
  flush();
  now += 10ms;
  session.tick(now);
  session.cancel(now, 2);
  collect();

  reply(1);
  reply(2);
  reply(2);

  EXPECT_EQ(ended.size(), 2u);
  EXPECT_EQ(session.stats().late, 2u);
  EXPECT_EQ(session.stats().duplicated, 1u);
  EXPECT_EQ(session.stats().unexpected, 0u);
}

TEST_F(SessionTest, FramesStayBelowTheBatchLimit) {
  up();
  for (uint32_t i = 0; i < wire::kMaxBatch + 1; ++i) submit(echo());

  const auto frames = flush();

  size_t sum = 0;
  for (const auto& frame : frames) {
    EXPECT_LE(frame.requests.size(), wire::kMaxBatch);
    sum += frame.requests.size();
  }
  EXPECT_EQ(sum, wire::kMaxBatch + 1);
}

TEST_F(SessionTest, FramesStayBelowTheEnvelopeLimitWithLongNames) {
  up();
  Request wordy;
  for (int i = 0; i < 16; ++i) wordy.levels.push_back({std::string(255, 's'), 64});
  for (int i = 0; i < 300; ++i) submit(wordy);

  const auto frames = flush();

  for (const auto& frame : frames) EXPECT_LE(frame.requests.size() * 16 * 260, kMaxFrameEnvelope);
  EXPECT_GT(frames.size(), 4u);
}

TEST_F(SessionTest, FramesStayBelowThePayloadLimitUnlessOneRequestIsLarger) {
  up();
  submit(echo(3 << 20));
  submit(echo(2 << 20));
  submit(echo(8 << 20));
  submit(echo(1));

  const auto frames = flush();

  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[2].requests.size(), 1u);
}

TEST_F(SessionTest, WhatHasNoRoomIsSentALittleLater) {
  up();
  submit(echo(1 << 20));
  submit(echo(1 << 20));

  EXPECT_EQ(flush(1000).at(0).requests.size(), 1u);
  EXPECT_EQ(session.next_deadline(), now + kHeldBackPause);
  EXPECT_TRUE(flush(0).empty());
  EXPECT_EQ(flush(1000).at(0).requests.at(0).seq, 2u);
  EXPECT_GT(session.next_deadline(), now + kHeldBackPause);
}

TEST_F(SessionTest, WindowIsLimited) {
  const Request request = echo();
  for (uint64_t i = 0; i < kMaxUnsettled; ++i) submit(request);
  ASSERT_EQ(session.next_seq(), 0u);

  const uint64_t seq = submit(request);
  collect();

  EXPECT_EQ(seq, 0u);
  EXPECT_EQ(ended.at(kMaxUnsettled + 1).reason, Refusal::kClientLimit);
  session.cancel(now, 1);
  EXPECT_NE(submit(request), 0u);
}

TEST_F(SessionTest, PayloadOverTheLimitIsRefusedNamingBothSizes) {
  up(1, 1024);
  submit(echo(2048));
  submit(echo(1024));

  const auto frames = flush();

  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].requests.size(), 1u);
  EXPECT_EQ(frames[0].low_water, 2u);
  EXPECT_EQ(ended.at(1).reason, Refusal::kTooLarge);
  EXPECT_THAT(ended.at(1).text, HasSubstr("2KiB"));
  EXPECT_THAT(ended.at(1).text, HasSubstr("1KiB"));
}

TEST_F(SessionTest, InvalidRequestsAreRefusedHere) {
  up();
  Request too_deep;
  for (int i = 0; i < 17; ++i) too_deep.levels.push_back({"s", 1});
  const std::vector<Request> invalid{
      {.levels = {}},
      too_deep,
      {.levels = {{"s", 0}}},
      {.levels = {{"s", 65}}},
      {.levels = {{"", 1}}},
      {.levels = {{std::string(256, 's'), 1}}},
      {.levels = {{"s", 1}}, .payload = {}, .deadline = 0s},
  };
  for (const Request& request : invalid) submit(request);

  EXPECT_TRUE(flush().empty());

  ASSERT_EQ(ended.size(), invalid.size());
  for (const auto& [token, reply] : ended) {
    EXPECT_EQ(reply.reason, Refusal::kInvalid);
    EXPECT_FALSE(reply.text.empty());
  }
}

TEST_F(SessionTest, ResultOverOurLimitIsAFailure) {
  up();
  submit(echo());
  flush();
  wire::Reply reply;
  reply.seq = 1;

  session.replied(now, 1, reply, true);
  collect();

  EXPECT_EQ(ended.at(1).status, Status::kFailed);
}

TEST_F(SessionTest, StopEndsEverything) {
  up();
  for (int i = 0; i < 10; ++i) submit(echo());
  flush();
  reply(5);

  session.stop(now);
  collect();

  EXPECT_EQ(ended.size(), 10u);
  EXPECT_EQ(ended.at(1).status, Status::kCancelled);
  EXPECT_EQ(ended.at(5).status, Status::kOk);
  EXPECT_EQ(session.pending(), 0u);
}

TEST_F(SessionTest, SentFramesHoldNoPayload) {
  up();
  const Payload payload(std::string(100, 'x'));
  Request request = echo();
  request.payload = payload;
  submit(request);
  flush();
  reply(1);
  request.payload = {};

  session.effects().clear_frames();

  EXPECT_EQ(payload.sharers(), 1u);
}

}  // namespace
}  // namespace redoubt::client
