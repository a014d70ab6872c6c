// Which broker a client talks to: the handshake, who rules, and what is said when nobody does. No sockets:
// links are numbers, and what is to be done is read as words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/brokers.h"
#include "wire/limits.h"

namespace redoubt::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::Announce;
using wire::CloseReason;
using wire::Epoch;

std::string word_of(const Dial& dial) { return "dial " + std::to_string(dial.broker); }
std::string word_of(const Admit& admit) { return "admit " + std::to_string(admit.broker); }
std::string word_of(const BrokerUp& up) {
  return "up " + std::to_string(up.broker) + " on " + std::to_string(up.link);
}
std::string word_of(const BrokerDown&) { return "down"; }
std::string word_of(const Send& send) {
  return (std::holds_alternative<wire::Hello>(send.message) ? "hello " : "dummy ") +
         std::to_string(send.broker);
}
std::string word_of(const CloseLink& close) {
  return "close " + std::to_string(close.broker) + " " + wire::name_of(close.reason) + ": " + close.text;
}

struct BrokersTest : testing::Test {
  Brokers brokers{2, {"camera", "east", 7}};
  Time now = Time(1000s);
  uint64_t newest_link = 0;

  // What was asked for since the last time.
  std::vector<std::string> done() {
    std::vector<std::string> words;
    for (const BrokerEffect& effect : brokers.effects())
      words.push_back(std::visit([](const auto& what) { return word_of(what); }, effect));
    brokers.effects().clear();
    return words;
  }

  uint64_t connect(size_t broker) {
    brokers.connected(now, broker, ++newest_link);
    return newest_link;
  }
  bool say(uint64_t link, const wire::Message& message) { return brokers.said(now, link, message); }
  void welcome(uint64_t link, Epoch epoch, bool rules) {
    say(link,
        wire::Welcome{
            .version = wire::kVersionMax, .name = "b", .epoch = epoch, .max_payload = 1000, .rules = rules});
  }
  uint64_t manager(size_t broker, Epoch epoch) {
    const uint64_t link = connect(broker);
    welcome(link, epoch, true);
    return link;
  }
  uint64_t standby(size_t broker, Epoch epoch = {}) {
    const uint64_t link = connect(broker);
    welcome(link, epoch, false);
    return link;
  }
};

TEST_F(BrokersTest, EveryBrokerIsDialledAndGreeted) {
  brokers.start();
  EXPECT_THAT(done(), ElementsAre("dial 0", "dial 1"));

  connect(1);

  ASSERT_EQ(brokers.effects().size(), 1u);
  const auto hello = std::get<wire::Hello>(std::get<Send>(brokers.effects()[0]).message);
  EXPECT_EQ(hello.name, "camera");
  EXPECT_EQ(hello.cluster, "east");
  EXPECT_EQ(hello.incarnation, 7u);
  EXPECT_EQ(hello.link_generation, 1u);
  EXPECT_EQ(hello.role, wire::Role::kClient);
}

TEST_F(BrokersTest, ManagerIsUsedAndStandbyIsNot) {
  standby(0, {3, 2});
  EXPECT_THAT(done(), ElementsAre("hello 0", "admit 0"));

  manager(1, {3, 2});

  EXPECT_THAT(done(), ElementsAre("hello 1", "admit 1", "up 1 on 2"));
  EXPECT_EQ(brokers.current(), 1u);
  EXPECT_EQ(brokers.failovers(), 0u);
}

TEST_F(BrokersTest, NewerManagerTakesThePlaceOfTheOlder) {
  manager(0, {1, 1});
  done();

  manager(1, {2, 2});

  EXPECT_THAT(done(), ElementsAre("hello 1", "admit 1", "up 1 on 2"));
  EXPECT_EQ(brokers.failovers(), 1u);
}

TEST_F(BrokersTest, OlderManagerThatComesLaterIsNotUsed) {
  manager(0, {2, 1});

  manager(1, {1, 2});

  EXPECT_EQ(brokers.current(), 0u);
  EXPECT_EQ(brokers.failovers(), 0u);
}

TEST_F(BrokersTest, NobodyBelowAnEpochThatRuledIsObeyed) {
  manager(0, {1, 1});
  const uint64_t newer = manager(1, {2, 2});
  done();

  brokers.lost(newer, CloseReason::kNone, "closed by the peer");

  EXPECT_THAT(done(), ElementsAre("down", "dial 1"));
  EXPECT_EQ(brokers.current(), std::nullopt);
  EXPECT_THAT(brokers.trouble(0), HasSubstr("has been heard (if its group was made anew"));
  EXPECT_EQ(brokers.trouble(1), "closed by the peer");
}

TEST_F(BrokersTest, OfTwoEpochsWithOneNumberTheHigherBrokersCounts) {
  manager(0, {2, 1});

  manager(1, {2, 2});

  EXPECT_EQ(brokers.current(), 1u);
}

TEST_F(BrokersTest, EpochThatAStandbyKnowsShutsNobodyOut) {
  standby(0, {9, 1});

  manager(1, {2, 2});

  EXPECT_EQ(brokers.current(), 1u);
}

TEST_F(BrokersTest, AtEqualEpochsTheOneInUseStaysAndTheOtherFollowsInTheSameTurn) {
  manager(1, {1, 0});
  manager(0, {1, 0});
  EXPECT_EQ(brokers.current(), 1u);
  done();

  brokers.lost(1, CloseReason::kNone, "closed by the peer");

  EXPECT_THAT(done(), ElementsAre("up 0 on 2", "dial 1"));
  EXPECT_EQ(brokers.failovers(), 0u) << "the epoch is the same";
}

TEST_F(BrokersTest, StandbyThatAnnouncesItselfIsUsedAtOnce) {
  manager(0, {1, 1});
  const uint64_t warm = standby(1, {1, 1});
  done();

  EXPECT_TRUE(say(warm, Announce{{2, 2}, true}));

  EXPECT_THAT(done(), ElementsAre("up 1 on 2"));
  EXPECT_EQ(brokers.failovers(), 1u);
}

TEST_F(BrokersTest, AnnouncementBelowWhatRuledChangesNothing) {
  manager(0, {3, 1});
  const uint64_t warm = standby(1);
  done();

  say(warm, Announce{{2, 2}, true});

  EXPECT_THAT(done(), IsEmpty());
  EXPECT_EQ(brokers.current(), 0u);
}

TEST_F(BrokersTest, ManagerThatStopsToRuleIsUsedNoMoreThoughItsLinkStands) {
  const uint64_t link = manager(0, {1, 1});
  done();

  say(link, Announce{{1, 1}, false});

  EXPECT_THAT(done(), ElementsAre("down"));
  EXPECT_EQ(brokers.current(), std::nullopt);
  say(link, Announce{{2, 1}, true});
  EXPECT_THAT(done(), ElementsAre("up 0 on 1"));
  EXPECT_EQ(brokers.failovers(), 1u);
}

TEST_F(BrokersTest, NewEpochOnTheSameLinkIsANewManager) {
  const uint64_t link = manager(0, {1, 1});
  done();

  say(link, Announce{{2, 1}, true});

  EXPECT_THAT(done(), ElementsAre("up 0 on 1"));
  EXPECT_EQ(brokers.failovers(), 1u);
  say(link, Announce{{2, 1}, true});
  EXPECT_THAT(done(), IsEmpty()) << "said twice, it is the same manager";
}

TEST_F(BrokersTest, SameManagerOnANewLinkIsNoFailover) {
  const uint64_t link = manager(0, {1, 1});
  brokers.lost(link, CloseReason::kNone, "closed by the peer");
  done();

  manager(0, {1, 1});

  EXPECT_THAT(done(), ElementsAre("hello 0", "admit 0", "up 0 on 2"));
  EXPECT_EQ(brokers.failovers(), 0u);
}

TEST_F(BrokersTest, AnnouncementBeforeTheWelcomeIsOutOfOrder) {
  const uint64_t link = connect(0);
  done();

  say(link, Announce{{1, 1}, true});

  EXPECT_THAT(done(),
              ElementsAre("close 0 out_of_order: a message of kind announce before the welcome", "dial 0"));
  EXPECT_EQ(brokers.current(), std::nullopt);
}

TEST_F(BrokersTest, StandbysSayWhetherTheyKnowAnEpoch) {
  standby(0);
  standby(1, {4, 1});

  EXPECT_EQ(brokers.trouble(0), "it is a standby and knows of no manager");
  EXPECT_EQ(brokers.trouble(1),
            "it is a standby, and the newest epoch it knows is 4: name the others of its group, too");
}

TEST_F(BrokersTest, BrokerThatDoesNotAnswerTheGreetingIsGivenUp) {
  connect(0);
  done();
  EXPECT_EQ(brokers.next_deadline(), now + 1s);

  now += 1s;
  brokers.tick(now);

  EXPECT_THAT(done(), ElementsAre(HasSubstr("close 0 handshake_time"), "dial 0"));
  EXPECT_EQ(brokers.trouble(0), "connected, but it did not answer within a second");
  EXPECT_EQ(brokers.next_deadline(), kNever);
}

TEST_F(BrokersTest, GoodbyeIsQuoted) {
  const uint64_t refused = connect(0);
  const uint64_t left = manager(1, {1, 1});

  say(refused, wire::Goodbye{CloseReason::kCluster, "this is 'west'"});
  say(left, wire::Goodbye{CloseReason::kStopping, ""});

  EXPECT_EQ(brokers.trouble(0), "it refused this client: cluster: this is 'west'");
  EXPECT_EQ(brokers.trouble(1), "it left: stopping");
  EXPECT_EQ(brokers.current(), std::nullopt);
}

TEST_F(BrokersTest, RefusalIsToldUntilTheNextTryHasAnAnswer) {
  const uint64_t first = connect(0);
  EXPECT_EQ(brokers.trouble(0), "connected, but it has not answered yet");
  say(first, wire::Goodbye{CloseReason::kCluster, "this is 'west'"});

  const uint64_t second = connect(0);

  EXPECT_THAT(brokers.trouble(0), HasSubstr("this is 'west'"));
  welcome(second, {1, 1}, true);
  EXPECT_EQ(brokers.trouble(0), "");
}

TEST_F(BrokersTest, OtherProtocolVersionIsLeft) {
  const uint64_t link = connect(0);
  done();

  say(link, wire::Welcome{.version = 99, .name = "b", .epoch = {1, 1}, .rules = true});

  EXPECT_THAT(done(), ElementsAre("close 0 version: it speaks version 99", "dial 0"));
}

TEST_F(BrokersTest, AnswersWhenAskedWhetherItIsAlive) {
  const uint64_t link = manager(0, {1, 1});
  done();

  EXPECT_TRUE(say(link, wire::Dummy{.answer = true, .sent_us = 5}));

  ASSERT_EQ(brokers.effects().size(), 1u);
  EXPECT_EQ(std::get<wire::Dummy>(std::get<Send>(brokers.effects()[0]).message).echo_us, 5);
}

TEST_F(BrokersTest, RestIsForOthersAndWhatNobodyTakesClosesTheLink) {
  const uint64_t link = manager(0, {1, 1});
  done();

  EXPECT_FALSE(say(link, wire::Reply{}));
  EXPECT_FALSE(say(link, wire::Halt{}));
  brokers.out_of_place(link, wire::Halt{});

  EXPECT_THAT(done(), ElementsAre("close 0 out_of_order: a message of kind halt that a client does not take",
                                  "down", "dial 0"));
}

TEST_F(BrokersTest, WhatComesOnALinkThatIsGoneIsIgnored) {
  const uint64_t old = manager(0, {1, 1});
  brokers.lost(old, CloseReason::kSlow, "too much waits");
  EXPECT_EQ(brokers.trouble(0), "slow: too much waits");
  manager(0, {1, 1});
  done();

  EXPECT_TRUE(say(old, Announce{{5, 1}, true}));
  brokers.lost(old, CloseReason::kNone, "again");
  brokers.out_of_place(old, wire::Halt{});

  EXPECT_THAT(done(), IsEmpty());
  EXPECT_EQ(brokers.current(), 0u);
}

}  // namespace
}  // namespace redoubt::client
