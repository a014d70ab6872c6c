// Which brokers a broker takes for members of its group, and what the others are told. Who rules is the
// election's: election_test.cc; whole groups play in lab/sim.
#include "broker/node.h"

#include <gmock/gmock.h>

namespace redoubt::broker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NodeTest : public testing::Test {
 protected:
  NodeTest() : node_(std::make_unique<Node>(Settings{}, group(), Memory{})) { step(Tick{}); }

  static GroupSettings group() {
    GroupSettings settings;
    settings.size = 3;
    settings.quorum = Quorum::kMajority;
    settings.hash = 42;
    settings.name = "first";
    return settings;
  }
  // As the second of the same group says it.
  static wire::Enlist second() {
    return {.broker = 2,
            .group = 42,
            .incarnation = 7,
            .name = "second",
            .address = {},
            .demote_after_us = static_cast<uint64_t>(to_us(group().demote_after))};
  }
  void step(const Event& event) { node_->step(now_, event, effects_); }
  // Why it was sent away, one a refusal.
  std::vector<std::string> come(uint64_t link, const wire::Enlist& enlist) {
    effects_.clear();
    step(BrokerUp{LinkId{link}, wire::Hello{}, enlist, 0});
    std::vector<std::string> refusals;
    for (const Effect& effect : effects_)
      if (const auto* close = std::get_if<CloseLink>(&effect)) refusals.push_back(close->text);
    return refusals;
  }

  // Whom it takes the broker at this link for.
  BrokerNumber number_of(LinkId link) const {
    const auto found = node_->others().find(link);
    return found == node_->others().end() ? kNoBroker : found->second.number;
  }
  bool closed(LinkId link) const {
    return std::ranges::any_of(effects_, [&](const Effect& effect) {
      const auto* close = std::get_if<CloseLink>(&effect);
      return close && close->link == link;
    });
  }

  Time now_ = Time{} + std::chrono::hours(1);
  Effects effects_;
  std::unique_ptr<Node> node_;
};

TEST_F(NodeTest, AMemberOfTheGroupIsTakenIn) {
  EXPECT_THAT(come(1, second()), IsEmpty());

  EXPECT_EQ(number_of(LinkId{1}), 2u);
}

TEST_F(NodeTest, WhatABrokerHasSetOtherwiseIsNamed) {
  wire::Enlist list = second(), quorum = second(), lease = second();
  list.group = 43;
  quorum.any_survivor = true;
  lease.demote_after_us = 200'000;

  EXPECT_THAT(come(1, list),
              ElementsAre(HasSubstr("its --group (which brokers, in which order) is not that of first")));
  EXPECT_THAT(come(2, quorum), ElementsAre(HasSubstr("its --quorum is one, not that of first")));
  EXPECT_THAT(come(3, lease), ElementsAre(AllOf(HasSubstr("its --demote-after"),
                                                HasSubstr("is 200ms, not the 300ms of first"))));

  EXPECT_THAT(node_->others(), IsEmpty());
}

TEST_F(NodeTest, WhatTravelsInMicrosecondsIsComparedInThem) {
  GroupSettings odd = group();
  odd.demote_after += std::chrono::nanoseconds(500);
  node_ = std::make_unique<Node>(Settings{}, odd, Memory{});

  EXPECT_THAT(come(1, second()), IsEmpty());
}

TEST_F(NodeTest, AClientsHelloThatWaitedWhileTheBrokerStoodStillIsNotTheMeasureOfItsLink) {
  come(1, second());
  now_ += std::chrono::seconds(1);
  effects_.clear();

  step(ClientUp{LinkId{9}, wire::Hello{}});
  const bool sent_away = closed(LinkId{9});
  now_ += kWaking;
  effects_.clear();
  step(ClientUp{LinkId{10}, wire::Hello{}});

  EXPECT_TRUE(sent_away);
  EXPECT_FALSE(closed(LinkId{10}));
}

TEST_F(NodeTest, ACopyOfThisBrokerIsSentAway) {
  wire::Enlist copy = second();
  copy.broker = 1;

  EXPECT_THAT(come(1, copy), ElementsAre(HasSubstr("both claim to be broker 1")));
}

TEST_F(NodeTest, AProcessThatHasStartedAgainTakesThePlaceOfTheOneBefore) {
  wire::Enlist again = second();
  again.incarnation = 8;
  come(1, second());
  now_ += 2 * group().heartbeat;

  EXPECT_THAT(come(2, again), ElementsAre(HasSubstr("newer link")));

  EXPECT_EQ(number_of(LinkId{1}), kNoBroker);
  EXPECT_EQ(number_of(LinkId{2}), 2u);
}

// A copied unit file, or a container scaled to two.
TEST_F(NodeTest, OfTwoThatClaimOnePlaceTheOneThatLivesStays) {
  wire::Enlist first = second(), double_ = second();
  first.address = "a:1";
  double_.address = "b:1";
  double_.incarnation = 8;
  come(1, first);

  EXPECT_THAT(come(2, double_),
              ElementsAre("two processes say they are second (at a:1 and at b:1): stop one"));

  EXPECT_EQ(number_of(LinkId{1}), 2u);
  EXPECT_EQ(number_of(LinkId{2}), kNoBroker);
}

TEST_F(NodeTest, OfTwoThatClaimOnePlaceTheOneAtTheAddressOfTheListStays) {
  wire::Enlist double_ = second();
  double_.incarnation = 8;
  come(1, double_);

  effects_.clear();
  step(BrokerUp{LinkId{2}, wire::Hello{}, second(), 2});
  const bool sent_away = closed(LinkId{1});
  const auto refused = come(3, double_);

  EXPECT_TRUE(sent_away);
  EXPECT_THAT(refused, ElementsAre(HasSubstr("stop one")));
  EXPECT_EQ(number_of(LinkId{2}), 2u);
}

TEST_F(NodeTest, FollowersFromOutsideAreFewAndHaveNoNumberOfTheGroup) {
  wire::Enlist learner = second();
  learner.kind = wire::Kind::kLearner;
  EXPECT_THAT(come(1, learner), ElementsAre("a learner has no number"));
  learner.broker = kNoBroker;

  for (uint64_t link = 2; link < 2 + kMaxLearners; ++link) {
    EXPECT_THAT(come(link, learner), IsEmpty());
    EXPECT_GT(number_of(LinkId{link}), group().size);
  }

  EXPECT_THAT(come(99, learner), ElementsAre(HasSubstr("too many brokers that --join: 4 may follow")));
}

}  // namespace
}  // namespace redoubt::broker
