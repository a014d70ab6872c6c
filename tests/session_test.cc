// The client's session core: every call ends exactly once, whatever happens. No sockets, no waiting: time is
// a number here.
#include "session_fixture.h"

namespace redoubt::client {
namespace {

using SessionTest = SessionFixture;

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
  flush();
  submit(echo());

  session.cancel(now, 1);

  EXPECT_TRUE(flush().empty());
  EXPECT_EQ(session.effects().cancels.size(), 0u);
  EXPECT_EQ(ended.at(1).status, Status::kCancelled);
  session.cancel(now, 1);
  session.cancel(now, 99);
  collect();
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

TEST_F(SessionTest, SecondReplyOfALaterManagerIsARepetitionOnce) {
  up(1);
  submit(echo());
  submit(echo());
  flush();
  reply(1);
  up(2);
  flush();

  reply(1, 2);
  EXPECT_EQ(session.stats().repeated, 1u);
  EXPECT_EQ(session.stats().duplicated, 0u);
  reply(1, 2);
  EXPECT_EQ(session.stats().repeated, 1u);
  EXPECT_EQ(session.stats().duplicated, 1u) << "the same manager said it twice";
  EXPECT_EQ(ended.size(), 1u);
}

TEST_F(SessionTest, WhatWasSentAgainMayBeAnsweredTwiceAndWhatWasNotMayNot) {
  up(1);
  submit(echo());
  flush();
  up(2);
  submit(echo());
  flush();

  // The answer to 1 may have been under way when it was sent again; a third one is nobody's.
  for (const uint64_t seq : {1u, 1u, 1u, 2u, 2u}) reply(seq, 2);

  EXPECT_EQ(session.stats().duplicated, 2u);
  EXPECT_EQ(session.stats().repeated, 1u);
  EXPECT_EQ(ended.size(), 2u);
}

TEST_F(SessionTest, AnotherManagerOnTheSameLinkGetsEverythingOpenAndMayRepeat) {
  up(1);
  submit(echo());
  submit(echo());
  flush();
  reply(1);

  up(1);
  const auto frames = flush();
  reply(1);
  reply(2);

  ASSERT_EQ(frames.size(), 1u);
  ASSERT_EQ(frames[0].requests.size(), 1u);
  EXPECT_EQ(frames[0].requests[0].seq, 2u);
  EXPECT_TRUE(frames[0].requests[0].resend);
  EXPECT_EQ(session.stats().repeated, 1u);
  EXPECT_EQ(ended.at(2).status, Status::kOk);
  EXPECT_EQ(session.stats().stale, 0u);
}

TEST_F(SessionTest, RepetitionsAreKnownHoweverManyRequestsWereAnsweredBeforeAndAfter) {
  constexpr uint64_t kHalf = 5000;
  up(1);
  for (uint64_t i = 0; i < kHalf; ++i) submit(echo());
  flush();
  for (uint64_t seq = 1; seq <= kHalf; ++seq) reply(seq, 1);
  up(2);
  for (uint64_t i = 0; i < kHalf; ++i) submit(echo());
  flush();
  for (uint64_t seq = kHalf + 1; seq <= 2 * kHalf; ++seq) reply(seq, 2);

  for (uint64_t seq = 1; seq <= 2 * kHalf; ++seq) reply(seq, 2);

  EXPECT_EQ(session.stats().repeated, kHalf);
  EXPECT_EQ(session.stats().duplicated, kHalf);
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

TEST_F(SessionTest, InvalidRequestsAreRefusedHere) {
  up();
  flush();
  Request too_deep;
  for (int i = 0; i < 17; ++i) too_deep.levels.push_back({"s", 1});
  const std::vector<Request> invalid{
      {.levels = {}},
      too_deep,
      {.levels = {{"s", 65}}},
      {.levels = {{"", 1}}},
      {.levels = {{std::string(256, 's'), 1}}},
      {.levels = {{"s", 1}}, .payload = {}, .deadline = 0s},
      {.levels = {{"s", 1}}, .first_phase = 0},
      {.levels = {{"s", 1}}, .first_phase = 1.1},
      {.levels = {{"s", 1}}, .service_class = 0},
      {.levels = {{"s", 1}}, .service_class = 1},
      {.levels = {{"s", 1}}, .service_time = -1ms},
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

}  // namespace
}  // namespace redoubt::client
