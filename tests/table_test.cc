// The table: a manager's state as data, as its stream tells it. Whether anything of the stream is missing is
// the standby's matter: standby_test.cc.
#include "broker/group/table.h"

#include <gmock/gmock.h>

#include "broker/digest.h"
#include "broker/limits.h"
#include "tests/stream_fixture.h"

namespace redoubt::broker {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class TableTest : public testing::Test {
 protected:
  std::string apply(wire::Add change, Duration charge = {}) { return table_.apply(now_, charge, change); }
  std::string apply(wire::Remove change) { return table_.apply(change); }
  std::string apply(const wire::Mark& change) { return table_.apply(change); }
  std::string apply(const wire::ClientGone& change) { return table_.apply(change); }

  // Every request that is open, and the only client.
  std::vector<Table::Request> open() {
    std::vector<Table::Request> found;
    table_.requests().each([&](Table::RequestId, const Table::Request& one) { found.push_back(one); });
    return found;
  }
  Table::Client& client() {
    Table::Client* found = nullptr;
    table_.all_clients().each([&](Table::ClientId, Table::Client& one) { found = &one; });
    return *found;
  }

  const Time now_ = Time{} + std::chrono::hours(1);
  Table table_{kHeldLimit};
};

TEST_F(TableTest, ARequestIsKeptWithAllThatItTakesToRunIt) {
  wire::Add change = add(3, "picture");
  change.levels[0].policy.disposal = wire::Disposal::kExpire;
  change.service_class = 700;
  change.wait_limit_us = 20'000;
  change.waited_us = 5'000;
  change.attempts = 1;

  EXPECT_EQ(apply(std::move(change), milliseconds(100)), "");

  ASSERT_EQ(table_.open(), 1u);
  const Table::Request request = open()[0];
  EXPECT_EQ(request.id, (wire::RequestId{kClient, 3}));
  EXPECT_EQ(request.levels.size(), 2u);
  EXPECT_EQ(request.levels[0].policy.disposal, wire::Disposal::kExpire);
  EXPECT_EQ(request.service_class, 700u);
  EXPECT_EQ(request.deadline, now_ + milliseconds(4900)) << "less what the message took to come";
  EXPECT_EQ(request.wait_limit, milliseconds(20));
  EXPECT_EQ(request.waited, milliseconds(5));
  EXPECT_EQ(request.payload.str(), "picture");
  EXPECT_EQ(table_.held_bytes(), 7u);
  EXPECT_EQ(table_.hash(), digest_of({kClient, 3}, 0, 1, 7));
}

TEST_F(TableTest, ProgressMovesARequestOnAndKeepsWhatItDoesNotTell) {
  apply(add(1, "four"));

  EXPECT_EQ(apply(progress(1, 0, 1)), "");
  EXPECT_EQ(open()[0].payload.str(), "four") << "another attempt works on the same";
  EXPECT_EQ(table_.hash(), digest_of({kClient, 1}, 0, 1, 4));
  wire::Add next = progress(1, 1, 0);
  next.same_payload = false;
  next.payload = Payload("result");
  EXPECT_EQ(apply(std::move(next)), "");

  EXPECT_EQ(open()[0].level, 1u);
  EXPECT_EQ(open()[0].deadline, now_ + std::chrono::seconds(5));
  EXPECT_EQ(table_.held_bytes(), 6u);
  EXPECT_EQ(table_.hash(), digest_of({kClient, 1}, 1, 0, 6));
}

TEST_F(TableTest, TheHashDoesNotDependOnTheOrderOfChanges) {
  Table other(kHeldLimit);
  wire::Add first = add(1), second = add(2);

  apply(add(1));
  apply(add(2));
  other.apply(now_, {}, second);
  other.apply(now_, {}, first);

  EXPECT_NE(table_.hash(), 0u);
  EXPECT_EQ(table_.hash(), other.hash());
}

TEST_F(TableTest, WhatHasEndedLeavesARecordAndNothingInTheHash) {
  apply(add(1));
  wire::Remove end = remove(1, "the picture");
  end.status = wire::Status::kRefused;
  end.reason = wire::Refusal::kQueueFull;

  EXPECT_EQ(apply(std::move(end)), "");

  EXPECT_EQ(table_.open(), 0u);
  EXPECT_EQ(table_.hash(), 0u);
  EXPECT_EQ(table_.held_bytes(), 0u);
  EXPECT_EQ(table_.records(), 1u);
  const Table::Entry& entry = client().entries[1];
  EXPECT_EQ(entry.is, Table::Entry::Is::kSettled);
  EXPECT_EQ(entry.status, wire::Status::kRefused);
  EXPECT_EQ(entry.reason, wire::Refusal::kQueueFull);
  EXPECT_EQ(entry.body.str(), "the picture");
}

TEST_F(TableTest, AResultThatTheManagerDidNotKeepIsNotKeptHereEither) {
  wire::Remove end = remove(1, "");
  end.body_dropped = true;

  EXPECT_EQ(apply(std::move(end)), "") << "a collection brings records of what was never open here";

  EXPECT_TRUE(client().entries[1].body_dropped);
  EXPECT_EQ(client().retained, 0u);
}

TEST_F(TableTest, AMarkForgetsAllBelowItOpenOrEnded) {
  apply(add(1));
  apply(remove(1));
  apply(add(2));
  apply(add(3));

  EXPECT_EQ(apply(mark(3, "camera")), "");

  EXPECT_EQ(table_.open(), 1u);
  EXPECT_EQ(table_.records(), 0u);
  EXPECT_EQ(table_.hash(), digest_of({kClient, 3}, 0, 0, 2));
  EXPECT_EQ(client().entries.begin(), 3u);
  EXPECT_EQ(client().retained, 0u);
  EXPECT_EQ(client().name, "camera");
}

TEST_F(TableTest, AMarkWithoutANameLeavesTheNameAndTheNewestGeneration) {
  wire::Mark first = mark(1, "camera");
  first.generation = 4;
  apply(first);

  apply(mark(1));

  EXPECT_EQ(client().name, "camera");
  EXPECT_EQ(client().generation, 4u);
}

TEST_F(TableTest, TheLowWaterMarkOfAnyChangeCounts) {
  apply(add(1));
  apply(add(2));
  wire::Add third = add(3);
  third.low_water = 2;

  apply(std::move(third));
  EXPECT_EQ(table_.open(), 2u);
  wire::Remove end = remove(3);
  end.low_water = 3;
  apply(std::move(end));

  EXPECT_EQ(table_.open(), 0u);
  EXPECT_EQ(client().entries.begin(), 3u);
  EXPECT_EQ(table_.hash(), 0u);
}

TEST_F(TableTest, TheEndOfWhatIsBelowTheMarkIsNoError) {
  apply(mark(5));

  EXPECT_EQ(apply(remove(4)), "") << "its client had acknowledged it before it ended";

  EXPECT_EQ(table_.records(), 0u);
}

TEST_F(TableTest, AnIdThatWasForgottenWithItsClientsLinkIsNewWhenItComesAgain) {
  apply(add(1));
  apply(add(2));
  EXPECT_EQ(apply(gone({1})), "");
  EXPECT_EQ(table_.hash(), digest_of({kClient, 2}, 0, 0, 2));

  EXPECT_EQ(apply(add(1, "again")), "");

  EXPECT_EQ(table_.open(), 2u);
  EXPECT_EQ(table_.hash(), digest_of({kClient, 1}, 0, 0, 5) + digest_of({kClient, 2}, 0, 0, 2));
}

TEST_F(TableTest, AnIdThatHasEndedMayBeAddedAgain) {
  apply(add(1));
  apply(remove(1, "failed"));

  EXPECT_EQ(apply(add(1)), "");
  EXPECT_EQ(table_.open(), 1u);
  EXPECT_EQ(table_.records(), 0u);
  EXPECT_EQ(client().retained, 0u) << "the record of the first is gone";
  EXPECT_EQ(apply(remove(1)), "");

  EXPECT_EQ(table_.hash(), 0u);
  EXPECT_EQ(client().entries[1].body.str(), "out");
}

TEST_F(TableTest, AClientThatIsForgottenTakesEverythingWithIt) {
  apply(mark(1, "camera"));
  apply(add(1));
  apply(add(2));
  apply(remove(2));

  EXPECT_EQ(apply(gone({}, true)), "");

  EXPECT_EQ(table_.clients(), 0u);
  EXPECT_EQ(table_.open(), 0u);
  EXPECT_EQ(table_.records(), 0u);
  EXPECT_EQ(table_.hash(), 0u);
  EXPECT_EQ(table_.held_bytes(), 0u);
  EXPECT_EQ(apply(gone({1}, true)), "") << "one that is not known had nothing here";
}

TEST_F(TableTest, AClientThatComesAgainBeginsAnew) {
  apply(mark(9, "camera"));
  apply(gone({}, true));

  EXPECT_EQ(apply(add(1)), "");

  EXPECT_EQ(table_.clients(), 1u);
  EXPECT_EQ(client().entries.begin(), 1u);
  EXPECT_EQ(client().name, "");
}

TEST_F(TableTest, AWindowIsAsWideAsAClientsAndNoWider) {
  EXPECT_EQ(apply(add(kClientWindow)), "");
  EXPECT_THAT(apply(add(kClientWindow + 1)), HasSubstr("window"));
  EXPECT_THAT(apply(remove(kClientWindow + 1)), HasSubstr("window"));
  EXPECT_EQ(table_.open(), 1u);

  wire::Add moved = add(kClientWindow + 1);
  moved.low_water = 2;

  EXPECT_EQ(apply(std::move(moved)), "");
  EXPECT_EQ(table_.open(), 2u);
}

TEST_F(TableTest, WhatCannotBeIsRefusedByName) {
  wire::Add without_levels = add(2);
  without_levels.levels.clear();
  apply(add(1));
  apply(progress(1, 1, 0));

  EXPECT_THAT(apply(add(1)), HasSubstr("open already"));
  EXPECT_THAT(apply(progress(5, 0, 1)), HasSubstr("not open"));
  EXPECT_THAT(apply(std::move(without_levels)), HasSubstr("without levels"));
  EXPECT_THAT(apply(progress(1, 0, 1)), HasSubstr("level")) << "levels only go up";
  EXPECT_THAT(apply(progress(1, 2, 0)), HasSubstr("level"));
}

TEST_F(TableTest, PayloadsAreBoundedAsAtTheManager) {
  EXPECT_EQ(apply(add(1, std::string(kHeldLimit - 1, 'x'))), "");
  EXPECT_THAT(apply(add(2, "xx")), HasSubstr("--held-limit"));
}

TEST_F(TableTest, TheManagersOrderIsKept) {
  wire::Add change = add(1);
  change.order = 77;

  apply(std::move(change));

  EXPECT_EQ(open()[0].order, 77u);
}

TEST_F(TableTest, ResultsAreBoundedForAClientAndTheOldestGoFirst) {
  const std::string big(kRetainedBytes / 2, 'x');

  for (uint64_t request = 1; request <= 3; ++request) EXPECT_EQ(apply(remove(request, big)), "");

  EXPECT_TRUE(client().entries[1].body_dropped);
  EXPECT_FALSE(client().entries[2].body_dropped);
  EXPECT_FALSE(client().entries[3].body_dropped);
  EXPECT_EQ(client().retained, kRetainedBytes);
}

}  // namespace
}  // namespace redoubt::broker
