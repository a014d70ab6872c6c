// The bench's judgement: what counts as what, when to send, and what is written down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "poll.h"
#include "scripted_broker.h"
#include "tool/account.h"
#include "tool/arrivals.h"
#include "tool/base64.h"
#include "tool/driver.h"
#include "tool/gap_meter.h"
#include "tool/history.h"
#include "tool/report.h"
#include "tool/status_table.h"

namespace redoubt::tool {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::ScriptedBroker;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

Reply answer(Status status, Duration latency = 1ms, Duration wait = {}) {
  Reply reply;
  reply.status = status;
  reply.answered = true;
  reply.latency = latency;
  reply.wait = wait;
  return reply;
}

TEST(Judge, KnowsInTimeFromLateFromExpired) {
  const Limits limits{.deadline = 50ms, .wait = 20ms};

  EXPECT_EQ(judge(answer(Status::kOk, 50ms, 20ms), limits), Outcome::kOk);
  EXPECT_EQ(judge(answer(Status::kOk, 50ms, 21ms), limits), Outcome::kLate);
  EXPECT_EQ(judge(answer(Status::kOk, 51ms, 1ms), limits), Outcome::kExpired);
  EXPECT_EQ(judge(answer(Status::kOk, 1ms, 21ms), {.deadline = 50ms}), Outcome::kOk);
}

TEST(Judge, SilenceIsLossAndWordIsNot) {
  const Limits limits{.deadline = 50ms};
  Reply silent = answer(Status::kExpired);
  silent.answered = false;
  Reply unreached = answer(Status::kNoBroker);
  unreached.answered = false;
  Reply interrupted = answer(Status::kCancelled);
  interrupted.answered = false;

  EXPECT_EQ(judge(silent, limits), Outcome::kLost);
  EXPECT_EQ(judge(unreached, limits), Outcome::kLost);
  EXPECT_EQ(judge(interrupted, limits), Outcome::kCancelled);
  EXPECT_EQ(judge(answer(Status::kExpired), limits), Outcome::kExpired);
  EXPECT_EQ(judge(answer(Status::kRefused), limits), Outcome::kRefused);
  EXPECT_EQ(judge(answer(Status::kFailed), limits), Outcome::kFailed);
}

TEST(Account, AddsUpAndIsCleanOnlyIfNothingIsMissing) {
  Account first, second;
  first.submitted(Time(1s));
  first.ended(answer(Status::kOk), Outcome::kOk, 1ms);
  second.submitted(Time(2s));
  second.ended(answer(Status::kRefused), Outcome::kRefused, 2ms);

  first.merge(second);

  EXPECT_EQ(first.sent, 2u);
  EXPECT_EQ(first.of(Outcome::kOk), 1u);
  EXPECT_EQ(first.of(Outcome::kRefused), 1u);
  EXPECT_TRUE(first.clean(false));
  EXPECT_FALSE(first.clean(true));
  EXPECT_EQ(first.latency_ns.count(), 1u);
  EXPECT_EQ(first.refusal_ns.max(), 2'000'000u);
  first.submitted(Time(3s));
  EXPECT_FALSE(first.clean(false)) << "sent, and no outcome at all";
}

TEST(Account, DuplicatesAndStraysAreNotClean) {
  Account account;
  account.duplicated = 1;
  EXPECT_FALSE(account.clean(false));
  account.duplicated = 0;
  account.unexpected = 1;
  EXPECT_FALSE(account.clean(false));
}

TEST(GapMeter, MeasuresTheLongestSilenceWhileSomethingIsOutstanding) {
  GapMeter gap;
  gap.busy(Time(1s));
  gap.reply(Time(1s + 10ms));
  gap.reply(Time(1s + 15ms));
  gap.idle();
  EXPECT_EQ(gap.longest(), 10ms);

  gap.busy(Time(9s));  // eight seconds of rest are no gap
  gap.reply(Time(9s + 5ms));
  EXPECT_EQ(gap.longest(), 10ms);

  gap.silence(Time(9s + 100ms));  // a request that ended without a reply
  EXPECT_EQ(gap.longest(), 95ms);
}

TEST(GapMeter, OneClientsRepliesCountForAll) {
  GapMeter gap;
  gap.busy(Time(1s));
  gap.busy(Time(1s));
  for (int i = 1; i <= 10; ++i) gap.reply(Time(1s + i * 10ms));
  gap.reply(Time(1s + 95ms));  // another thread's clock reading, older

  EXPECT_EQ(gap.longest(), 10ms);
}

std::vector<Duration> times(Arrivals arrivals, int count) {
  std::vector<Duration> all;
  for (int i = 0; i < count; ++i)
    if (const auto at = arrivals.next()) all.push_back(*at);
  return all;
}

TEST(Arrivals, ConstantIsEven) {
  EXPECT_EQ(times(Arrivals(*parse_arrivals("constant"), 100, 1), 3),
            (std::vector<Duration>{0ms, 10ms, 20ms}));
}

TEST(Arrivals, PoissonHasTheRateAndIsTheSameForASeed) {
  const ArrivalShape shape = *parse_arrivals("poisson");

  const auto all = times(Arrivals(shape, 1000, 1), 10000);

  EXPECT_NEAR(to_seconds(all.back()), 10, 0.5);
  EXPECT_EQ(all, times(Arrivals(shape, 1000, 1), 10000));
  EXPECT_NE(all, times(Arrivals(shape, 1000, 2), 10000));
}

TEST(Arrivals, BatchesArriveTogetherAtTheSameMeanRate) {
  const auto all = times(Arrivals(*parse_arrivals("batch(10)"), 1000, 1), 10000);

  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], all[i - i % 10]);
  EXPECT_NEAR(to_seconds(all.back()), 10, 1.5);
}

TEST(Arrivals, TraceIsSharedOut) {
  const ArrivalShape shape{
      .kind = ArrivalShape::Kind::kTrace,
      .trace = std::make_shared<std::vector<Duration>>(*parse_trace("5\n5.5\n\n# late\n7\n"))};

  EXPECT_EQ(times(Arrivals(shape, 1, 1), 9), (std::vector<Duration>{0ms, 500ms, 2000ms}));
  EXPECT_EQ(times(Arrivals(shape, 1, 1, 1, 2), 9), (std::vector<Duration>{500ms}));
}

TEST(Arrivals, WhatCannotBeReadIsSaid) {
  EXPECT_THAT(parse_arrivals("bursts").error(), HasSubstr("bursts"));
  EXPECT_THAT(parse_arrivals("batch(0)").error(), HasSubstr("from 1"));
  EXPECT_THAT(parse_arrivals("trace:/nonexistent").error(), HasSubstr("/nonexistent"));
  EXPECT_THAT(parse_trace("1\nx\n").error(), HasSubstr("line 2"));
  EXPECT_THAT(parse_trace("2\n1\n").error(), HasSubstr("sort"));
}

TEST(Base64, IsAsTheStandardSays) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Report, HasTheFieldsOfTheContract) {
  const Json json = Json::parse(to_json({}));

  for (const char* name :
       {"sent", "ok", "late", "expired", "refused", "failed", "lost", "duplicated", "unexpected", "seconds",
        "rps", "goodput", "copies_per_request", "timely", "gap_ms_max", "failovers", "repeated"})
    EXPECT_TRUE(json.at(name).is_number()) << name;
  for (const char* name : {"latency_us", "wait_us", "refusal_us"})
    for (const char* p : {"mean", "p50", "p90", "p99", "p999", "max"})
      EXPECT_TRUE(json.at(name).at(p).is_number());
}

TEST(StatusTable, ShowsWhatIsThereAndSkipsWhatIsNot) {
  const auto table =
      status_table(R"({"epoch":3,"manager":"a:1","brokers":[{"name":"a","role":"manager","in_sync":true}],
      "replicas":[{"name":"r1","services":["decode","detect"],"service_us":{"p50":12.5}}],"counters":{"late":4}})");

  ASSERT_TRUE(table);
  EXPECT_THAT(*table, HasSubstr("manager a:1, epoch 3"));
  EXPECT_THAT(*table, HasSubstr("decode,detect"));
  EXPECT_THAT(*table, HasSubstr("12.5"));
  EXPECT_THAT(*table, Not(HasSubstr("as seen by")));
  EXPECT_THAT(*table, Not(HasSubstr("unprotected")));
  EXPECT_FALSE(status_table("[]"));
  EXPECT_TRUE(status_table("{}"));
}

TEST(StatusTable, SaysThatNobodyHoldsWhatIsLetIn) {
  const auto table = status_table(R"({"epoch":3,"manager":"a:1","role":"manager","unprotected":true})");

  ASSERT_TRUE(table);
  EXPECT_THAT(*table, HasSubstr("\nunprotected: --checkpoint-ack asks for a standby"));
  EXPECT_THAT(*table, Not(HasSubstr("as seen by")));
}

TEST(StatusTable, OfABrokerThatDoesNotRuleIsHeadedByItsName) {
  const auto standby = status_table(R"({"manager":"","role":"standby","answered_by":"b:2","trouble":"why",
      "brokers":[{"name":"b:2","role":"standby","in_sync":false,"votes":true,"connected":true},
                 {"name":"c:3","role":"standby","in_sync":true,"votes":true,"connected":true}],"replicas":[]})");
  const auto older = status_table(R"({"manager":"a:1","role":"witness","brokers":[{"name":"w:3"}]})");

  ASSERT_TRUE(standby);
  EXPECT_THAT(*standby, StartsWith("as seen by b:2 (standby)"));
  EXPECT_THAT(*standby, HasSubstr("b:2   -        standby  yes    yes      -        -"));
  EXPECT_THAT(*standby, HasSubstr("c:3   -        standby  yes    yes      -        -"));
  EXPECT_THAT(older->substr(0, 27), "as seen by w:3 (witness): r");
}

// A file that goes with the test.
struct TemporaryFile {
  std::string path =
      testing::TempDir() + "redoubt-bench-" + std::to_string(Clock::now().time_since_epoch().count());
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::vector<Json> lines() const {
    std::vector<Json> all;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) all.push_back(Json::parse(line));
    return all;
  }
};

Load closed(uint64_t window, uint64_t requests, Duration deadline = 5s) {
  Load load;
  load.request = {.levels = {{"echo", 2}}, .payload = "x", .deadline = deadline};
  load.window = window;
  load.requests = requests;
  return load;
}

TEST(Driver, ClosedLoopSendsWhatWasAskedAndCountsEveryEnd) {
  ScriptedBroker broker;
  GapMeter gap;
  Driver driver({.brokers = {broker.address()}}, closed(4, 100), gap, nullptr);

  driver.start(Clock::now());
  ASSERT_TRUE(eventually([&] { return driver.done(); }));
  driver.read_stats();
  driver.close();

  EXPECT_EQ(driver.account().sent, 100u);
  EXPECT_EQ(driver.account().of(Outcome::kOk), 100u);
  EXPECT_EQ(driver.account().copies, 200u);
  EXPECT_TRUE(driver.account().clean(true));
}

TEST(Driver, OpenLoopSendsInItsTimeWhateverIsOutstanding) {
  ScriptedBroker broker({.manner = ScriptedBroker::Manner::kSilent});
  GapMeter gap;
  Load load = closed(0, 50, 20ms);
  load.arrivals.emplace(*parse_arrivals("constant"), 1000.0, 1);
  Driver driver({.brokers = {broker.address()}}, std::move(load), gap, nullptr);

  driver.start(Clock::now());
  ASSERT_TRUE(eventually([&] { return driver.done(); }));
  driver.close();

  EXPECT_EQ(driver.account().sent, 50u);
  EXPECT_EQ(driver.account().of(Outcome::kLost), 50u);
  EXPECT_FALSE(driver.account().clean(false));
  EXPECT_GE(gap.longest(), 50ms);
}

TEST(Driver, BrokersWordAfterTheDeadlineIsAnExpiryAndNoLoss) {
  ScriptedBroker broker({.manner = ScriptedBroker::Manner::kExpire});
  GapMeter gap;
  Driver driver({.brokers = {broker.address()}}, closed(1, 10), gap, nullptr);

  driver.start(Clock::now());
  ASSERT_TRUE(eventually([&] { return driver.done(); }));

  EXPECT_EQ(driver.account().of(Outcome::kExpired), 10u);
}

TEST(Driver, DuplicatesAreFound) {
  ScriptedBroker broker({.manner = ScriptedBroker::Manner::kTwice});
  GapMeter gap;
  Driver driver({.brokers = {broker.address()}}, closed(1, 10), gap, nullptr);

  driver.start(Clock::now());
  ASSERT_TRUE(eventually([&] { return driver.done(); }));
  // The last one's second reply may still be under way.
  ASSERT_TRUE(eventually([&] {
    driver.read_stats();
    return driver.account().duplicated == 10;
  }));

  EXPECT_FALSE(driver.account().clean(false));
}

TEST(Driver, RepetitionsAfterATakeOverAreNoDuplicates) {
  ScriptedBroker broker;
  GapMeter gap;
  Driver driver({.brokers = {broker.address()}}, closed(1, 10), gap, nullptr);
  driver.start(Clock::now());
  ASSERT_TRUE(eventually([&] { return driver.done(); }));
  wire::Reply again;
  again.seq = 3;

  broker.say(wire::Announce{.epoch = {2, 0}, .rules = true});
  broker.say(again);

  ASSERT_TRUE(eventually([&] {
    driver.read_stats();
    return driver.account().repeated == 1;
  }));
  EXPECT_EQ(driver.account().duplicated, 0u);
  EXPECT_EQ(driver.account().failovers, 1u);
  EXPECT_TRUE(driver.account().clean(true));
}

TEST(Driver, ClosingEndsWhatIsOpenAsCancelled) {
  ScriptedBroker broker({.manner = ScriptedBroker::Manner::kSilent});
  GapMeter gap;
  Driver driver({.brokers = {broker.address()}}, closed(8, 100), gap, nullptr);
  driver.start(Clock::now());
  ASSERT_TRUE(eventually([&] { return driver.sent() == 8; }));

  driver.close();

  EXPECT_EQ(driver.account().of(Outcome::kCancelled), 8u);
  EXPECT_EQ(driver.account().sent, 8u);
}

TEST(Driver, HistoryHasEverySubmitAndItsOutcome) {
  ScriptedBroker broker;
  GapMeter gap;
  TemporaryFile file;
  {
    auto history = HistoryFile::create(file.path);
    ASSERT_TRUE(history);
    Driver driver({.brokers = {broker.address()}}, closed(3, 20), gap, history->get());
    driver.start(Clock::now());
    ASSERT_TRUE(eventually([&] { return driver.done(); }));
  }

  std::map<std::string, std::pair<int, int>> seen;
  for (const Json& line : file.lines()) {
    auto& [submits, outcomes] = seen[line.at("id")];
    ++(line.at("event") == "submit" ? submits : outcomes);
    EXPECT_EQ(line.at("id"),
              line.at("client").get<std::string>() + "-" + std::to_string(line.at("seq").get<int>()));
  }
  EXPECT_EQ(seen.size(), 20u);
  for (const auto& [id, counts] : seen) EXPECT_EQ(counts, std::pair(1, 1)) << id;
}

TEST(History, AnyBytesOfATextAreStillJson) {
  TemporaryFile file;
  {
    auto created = HistoryFile::create(file.path);
    History history(**created, 7);
    Reply reply = answer(Status::kFailed);
    reply.text = "a\"b\\c\n\x01 \xff \xc3\xa9 \xc0\x80";
    history.ended(reply, Time(1s), Outcome::kFailed, 1ms);
  }

  EXPECT_EQ(file.lines().at(0).at("text"), "a\"b\\c\n\x01 \xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Report, CsvGetsItsHeadOnce) {
  TemporaryFile file;

  EXPECT_FALSE(append_csv({}, file.path));
  EXPECT_FALSE(append_csv({}, file.path));

  std::ifstream csv(file.path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(csv, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("latency_us_p50"));
  EXPECT_EQ(std::count(lines[0].begin(), lines[0].end(), ','),
            std::count(lines[1].begin(), lines[1].end(), ','));
}

}  // namespace
}  // namespace redoubt::tool
