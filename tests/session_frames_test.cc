// What the client's session core sends, when, and within which bounds.
#include "session_fixture.h"

namespace redoubt::client {
namespace {

using testing::HasSubstr;
using SessionFramesTest = SessionFixture;

TEST_F(SessionFramesTest, SubmitsOfOneTurnShareAFrame) {
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

TEST_F(SessionFramesTest, RequestTravelsAsItWasAsked) {
  up();
  Request request{.levels = {{"decode", 2}, {"detect", 3}}, .payload = "bytes", .deadline = 50ms};
  request.wait_limit = 20ms;
  request.disposal = Disposal::kExpire;
  request.redundancy = Redundancy::kHedge;
  request.service_class = 0.9;
  request.service_time = 4ms;
  submit(request);

  const wire::Request sent = flush().at(0).requests.at(0);

  const wire::Policy expire{wire::Redundancy::kHedge, wire::Disposal::kExpire, 0};
  EXPECT_EQ(sent.levels, (wire::Levels{{"decode", 2, expire}, {"detect", 3, expire}}));
  EXPECT_EQ(sent.service_class, 900u);
  EXPECT_EQ(sent.service_time_us, 4000u);
  EXPECT_EQ(sent.payload.view(), "bytes");
  EXPECT_EQ(sent.wait_limit_us, 20000u);
  EXPECT_LE(sent.deadline_us, 50000u);
  EXPECT_GE(sent.deadline_us, 49000u);
}

TEST_F(SessionFramesTest, OpenRequestsAreSentAgainInOrderOnANewLink) {
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

TEST_F(SessionFramesTest, LowWaterMarkIsTheLowestOpenRequest) {
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

TEST_F(SessionFramesTest, MarkTravelsAloneAfterAWhile) {
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

TEST_F(SessionFramesTest, MarkThatAnotherFrameCarriedDoesNotTravelAlone) {
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

TEST_F(SessionFramesTest, MarkTravelsAtOnceAfterManyReplies) {
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

TEST_F(SessionFramesTest, MarkTravelsAtOnceAfterLargeResults) {
  up();
  submit(echo());
  flush();

  reply(1, 1, 64 * 1024);
  flush();

  EXPECT_EQ(acknowledges(), 1u);
}

TEST_F(SessionFramesTest, NewLinkIsToldTheMarkAndThatNothingIsOpen) {
  up(1);
  submit(echo());
  flush();
  reply(1);
  session.link_down();

  up(2);
  const auto frames = flush();

  ASSERT_EQ(frames.size(), 1u);
  EXPECT_TRUE(frames[0].requests.empty());
  EXPECT_TRUE(frames[0].all_open);
  EXPECT_EQ(frames[0].low_water, 2u);
  EXPECT_EQ(acknowledges(), 0u);
  EXPECT_TRUE(flush().empty());
}

TEST_F(SessionFramesTest, FrameWithTheLastOfWhatWasOpenSaysSoOnceALink) {
  for (uint32_t i = 0; i < wire::kMaxBatch + 1; ++i) submit(echo());

  up(1);
  const auto first = flush();
  submit(echo());
  const auto later = flush();
  up(2);
  const auto second = flush();

  ASSERT_EQ(first.size(), 2u);
  EXPECT_FALSE(first[0].all_open);
  EXPECT_TRUE(first[1].all_open);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_FALSE(later[0].all_open);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_FALSE(second[0].all_open);
  EXPECT_TRUE(second[1].all_open);
}

TEST_F(SessionFramesTest, WhatIsHeldBackIsWaitedForAndWhatCameLaterIsNot) {
  submit(echo(1 << 20));
  submit(echo(1 << 20));
  up();
  submit(echo(1 << 20));

  EXPECT_FALSE(flush(1000).at(0).all_open);
  EXPECT_TRUE(flush(0).empty());
  const auto last = flush(1000);

  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].requests.at(0).seq, 2u);
  EXPECT_TRUE(last[0].all_open);
  EXPECT_FALSE(flush(1000).at(0).all_open);
}

TEST_F(SessionFramesTest, WhatEndedWhileItWasHeldBackIsNotWaitedFor) {
  submit(echo(0));
  submit(echo(0, 50ms));
  up();
  EXPECT_FALSE(flush(1).at(0).all_open);

  now += 50ms;
  session.tick(now);
  const auto frames = flush();

  ASSERT_EQ(frames.size(), 1u);
  EXPECT_TRUE(frames[0].requests.empty());
  EXPECT_TRUE(frames[0].all_open);
}

TEST_F(SessionFramesTest, BrokersAreToldALittleLessSoThatTheirWordComesFirst) {
  up();
  submit(echo(0, 10ms));
  submit(echo(0, 10s));

  const auto requests = flush().at(0).requests;

  EXPECT_EQ(requests[0].deadline_us, 9800u);
  EXPECT_EQ(requests[1].deadline_us, 9'999'000u);
}

TEST_F(SessionFramesTest, ManyCancelsAreSplitIntoFrames) {
  up();
  for (int i = 0; i < 5000; ++i) submit(echo());
  flush();
  for (uint64_t seq = 1; seq <= 5000; ++seq) session.cancel(now, seq);

  flush();

  ASSERT_EQ(session.effects().cancels.size(), 2u);
  EXPECT_EQ(session.effects().cancels[0].seqs.size(), wire::kMaxBatch);
}

TEST_F(SessionFramesTest, FramesStayBelowTheBatchLimit) {
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

TEST_F(SessionFramesTest, FramesStayBelowTheEnvelopeLimitWithLongNames) {
  up();
  Request wordy;
  for (int i = 0; i < 16; ++i) wordy.levels.push_back({std::string(255, 's'), 64});
  for (int i = 0; i < 300; ++i) submit(wordy);

  const auto frames = flush();

  for (const auto& frame : frames) EXPECT_LE(frame.requests.size() * 16 * 260, kMaxFrameEnvelope);
  EXPECT_GT(frames.size(), 4u);
}

TEST_F(SessionFramesTest, FramesStayBelowThePayloadLimitUnlessOneRequestIsLarger) {
  up();
  submit(echo(3 << 20));
  submit(echo(2 << 20));
  submit(echo(8 << 20));
  submit(echo(1));

  const auto frames = flush();

  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[2].requests.size(), 1u);
}

TEST_F(SessionFramesTest, WhatHasNoRoomIsSentALittleLater) {
  up();
  submit(echo(1 << 20));
  submit(echo(1 << 20));

  EXPECT_EQ(flush(1000).at(0).requests.size(), 1u);
  EXPECT_EQ(session.next_deadline(), now + kHeldBackPause);
  EXPECT_TRUE(flush(0).empty());
  EXPECT_EQ(flush(1000).at(0).requests.at(0).seq, 2u);
  EXPECT_GT(session.next_deadline(), now + kHeldBackPause);
}

TEST_F(SessionFramesTest, PayloadOverTheLimitIsRefusedNamingBothSizes) {
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

TEST_F(SessionFramesTest, SentFramesHoldNoPayload) {
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
