// The standby: sees to it that nothing of a manager's stream is missing, and keeps what is whole. What the
// changes do to the state: table_test.cc.
#include "broker/group/standby.h"

#include <gmock/gmock.h>

#include "broker/digest.h"
#include "tests/stream_fixture.h"
#include "wire/stream.h"

namespace redoubt::broker {
namespace {

using testing::HasSubstr;

class StandbyTest : public testing::Test {
 protected:
  template <class Change>
  std::string take(Change change) {
    wire::Message message = std::move(change);
    return standby_.take(now_, Duration::zero(), message);
  }
  // The same as change number `seq` of its epoch.
  template <class Change>
  std::string change(uint64_t seq, Change change) {
    change.seq = seq;
    return take(std::move(change));
  }
  std::string begin(wire::Epoch epoch = kEpoch) { return take(wire::Collect{epoch, false, 0, 0, 0}); }
  std::string end(uint64_t seq, uint64_t count, uint64_t hash, wire::Epoch epoch = kEpoch) {
    return take(wire::Collect{epoch, true, seq, count, hash});
  }
  // One that follows: one request is open, and change 10 was the last.
  void collect_one_request() {
    ASSERT_EQ(begin(), "");
    ASSERT_EQ(take(mark(1, "camera")), "");
    ASSERT_EQ(take(add(1)), "");
    ASSERT_EQ(end(10, 1, kOne), "");
  }

  static constexpr uint64_t kOne = digest_of({kClient, 1}, 0, 0, 2);
  static constexpr uint64_t kTwo = kOne + digest_of({kClient, 2}, 0, 0, 2);
  const Time now_ = Time{} + std::chrono::hours(1);
  Standby standby_{kHeldLimit};
};

TEST_F(StandbyTest, OneThatHasCollectedFollows) {
  EXPECT_EQ(standby_.position(), wire::Position{});
  EXPECT_FALSE(standby_.follows());

  collect_one_request();
  EXPECT_TRUE(standby_.follows());
  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 10}));
  EXPECT_EQ(standby_.hash(), kOne);
  EXPECT_EQ(change(11, add(2)), "");
  EXPECT_EQ(change(12, remove(1)), "");
  EXPECT_EQ(change(13, gone({2})), "");

  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 13}));
  EXPECT_EQ(standby_.hash(), 0u);
}

TEST_F(StandbyTest, ChangesThatComeBetweenThePiecesOfACollectionAreTakenIn) {
  begin();
  take(mark(1));
  take(add(1));

  EXPECT_EQ(change(4, progress(1, 1, 0)), "") << "of what the walk has passed";
  EXPECT_EQ(take(add(2)), "");
  EXPECT_EQ(change(9, remove(1)), "") << "numbers between were of what the walk has not reached";
  EXPECT_EQ(end(9, 1, digest_of({kClient, 2}, 0, 0, 2)), "");

  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 9}));
  EXPECT_EQ(standby_.table()->records(), 1u);
}

TEST_F(StandbyTest, AChangeTwiceWithinACollectionIsRefused) {
  begin();
  take(mark(1));
  change(4, add(1));

  EXPECT_THAT(change(4, progress(1, 0, 1)), HasSubstr("twice"));
}

TEST_F(StandbyTest, TheEndOfACollectionLiesBehindItsChanges) {
  begin();
  change(4, add(1));

  EXPECT_THAT(end(3, 1, kOne), HasSubstr("did not begin"));
  EXPECT_FALSE(standby_.follows());
}

TEST_F(StandbyTest, AGapInTheNumbersIsRefusedAndNothingIsTakenIn) {
  collect_one_request();

  EXPECT_THAT(change(12, add(2)), HasSubstr("change 12 after change 10"));
  EXPECT_THAT(change(10, add(2)), HasSubstr("change 10 after change 10"));

  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 10}));
  EXPECT_EQ(standby_.hash(), kOne);
}

TEST_F(StandbyTest, AChangeThatCannotBeIsRefusedAndNotCounted) {
  collect_one_request();
  wire::Add nowhere = add(2);
  nowhere.level = 2;

  EXPECT_THAT(change(11, nowhere), HasSubstr("a level that cannot be"));
  EXPECT_THAT(change(11, add(2, std::string(kHeldLimit, 'x'))), HasSubstr("--held-limit"));
  EXPECT_THAT(change(11, progress(2, 0, 1)), HasSubstr("not open"));

  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 10})) << "what it could rule with is whole";
  EXPECT_EQ(standby_.hash(), kOne);
  EXPECT_EQ(standby_.table()->open(), 1u);
}

TEST_F(StandbyTest, AChangeOfAnotherEpochIsRefused) {
  collect_one_request();
  wire::Add foreign = add(2);
  foreign.epoch = {2, 2};

  EXPECT_THAT(change(11, foreign), HasSubstr("another epoch"));
  begin();
  EXPECT_THAT(take(foreign), HasSubstr("another epoch"));
  EXPECT_THAT(end(11, 0, 0, {2, 2}), HasSubstr("did not begin"));

  EXPECT_EQ(standby_.hash(), kOne);
}

TEST_F(StandbyTest, AChangeBeforeACollectionIsRefused) {
  EXPECT_THAT(change(1, add(1)), HasSubstr("before a collection"));
  EXPECT_THAT(end(1, 0, 0), HasSubstr("did not begin"));
  EXPECT_THAT(take(wire::Dummy{}), HasSubstr("not part of the checkpoint stream"));
}

TEST_F(StandbyTest, ACollectionOfAnotherCountOrHashIsNotBelieved) {
  begin();
  take(add(1));
  EXPECT_THAT(end(10, 2, kOne), HasSubstr("1 requests of 2"));

  begin();
  take(add(1));
  EXPECT_THAT(end(10, 1, kOne + 1), HasSubstr("not the manager's"));

  EXPECT_FALSE(standby_.follows());
  EXPECT_EQ(standby_.position(), wire::Position{});
}

TEST_F(StandbyTest, AnOldStateStaysUntilTheNewOneIsWhole) {
  collect_one_request();
  const wire::Epoch next{3, 2};
  wire::Add other = add(2);
  other.epoch = next;

  EXPECT_EQ(begin(next), "");
  EXPECT_EQ(take(other), "");
  EXPECT_FALSE(standby_.follows());
  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 10}));
  EXPECT_EQ(standby_.hash(), kOne);
  EXPECT_EQ(end(5, 1, kTwo - kOne, next), "");

  EXPECT_TRUE(standby_.follows());
  EXPECT_EQ(standby_.position(), (wire::Position{next, 5}));
  EXPECT_EQ(standby_.hash(), kTwo - kOne);
}

TEST_F(StandbyTest, AStreamThatEndsInMidCollectionLeavesTheOldState) {
  collect_one_request();
  begin({3, 2});

  standby_.stream_lost();

  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 10}));
  EXPECT_EQ(standby_.hash(), kOne);
  EXPECT_EQ(standby_.received(), 0u);
  EXPECT_THAT(end(0, 0, 0, {3, 2}), HasSubstr("did not begin"));
}

TEST_F(StandbyTest, AStreamThatIsLostIsNotGoneOnWithWithoutACollection) {
  collect_one_request();

  standby_.stream_lost();

  EXPECT_THAT(change(11, add(2)), HasSubstr("before a collection"));
  EXPECT_EQ(standby_.position(), (wire::Position{kEpoch, 10}));
}

TEST_F(StandbyTest, ANewCollectionThrowsAwayTheOneBeforeThatDidNotEnd) {
  begin();
  take(add(1));

  begin();
  take(add(2));
  EXPECT_EQ(end(10, 1, kTwo - kOne), "");

  EXPECT_EQ(standby_.table()->open(), 1u);
}

TEST_F(StandbyTest, WhatHasArrivedIsCountedAsTheManagerCountsIt) {
  begin();
  const wire::Add first = add(1), second = add(2, "longer");
  const wire::Mark name = mark(1, "camera");
  const wire::ClientGone link = gone({1, 2});

  take(name);
  take(first);
  end(10, 1, kOne);
  change(11, second);
  change(12, link);
  EXPECT_EQ(standby_.received(), wire::stream_bytes(name) + wire::stream_bytes(first) +
                                     wire::stream_bytes(second) + wire::stream_bytes(link));
  begin();

  EXPECT_EQ(standby_.received(), 0u) << "it counts from the begin of a stream";
}

TEST_F(StandbyTest, AManagerIsMadeOfTheStateAndNothingStays) {
  collect_one_request();

  const std::unique_ptr<Table> table = standby_.give_up();

  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->hash(), kOne);
  EXPECT_EQ(standby_.position(), wire::Position{});
  EXPECT_EQ(standby_.hash(), 0u);
  EXPECT_EQ(standby_.table(), nullptr);
  EXPECT_FALSE(standby_.follows());
}

TEST_F(StandbyTest, WhatADeposedManagerLeavesIsAStateButNoStream) {
  auto table = std::make_unique<Table>(kHeldLimit);
  wire::Add open = add(1);
  table->apply(now_, {}, open);

  Standby standby(kHeldLimit, std::move(table), {kEpoch, 10});

  EXPECT_EQ(standby.position(), (wire::Position{kEpoch, 10}));
  EXPECT_EQ(standby.hash(), kOne);
  EXPECT_FALSE(standby.follows());
}

}  // namespace
}  // namespace redoubt::broker
