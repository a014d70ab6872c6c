// The chaos proxy between real sockets on loopback: what each treatment does to bytes, ends and resets.
#include "lab/proxy/proxy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <asio/post.hpp>
#include <future>
#include <optional>
#include <thread>

#include "poll.h"
#include "process/socket.h"

namespace redoubt::lab {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::Acceptor;
using test::eventually;
using test::Socket;
using testing::HasSubstr;
using Kind = Treatment::Kind;

constexpr auto kSoon = 10s;       // until what must come has come
constexpr auto kNothing = 100ms;  // for so long, what must not come does not
constexpr auto kForward = Direction::kForward, kBackward = Direction::kBackward;

// A proxy with one route, run by a thread of its own.
class ProxyTest : public testing::Test {
 protected:
  ProxyTest() {
    const Failure failure = proxy_.add({"127.0.0.1", 0}, {"127.0.0.1", target_.port()});
    EXPECT_FALSE(failure) << failure->text;
    thread_ = std::thread([this] { loop_.run([] {}); });
  }
  ~ProxyTest() override {
    loop_.stop();
    thread_.join();
  }

  // Runs it in the proxy's thread.
  template <class Action>
  auto ask(Action action) {
    std::packaged_task<decltype(action())()> task(std::move(action));
    auto answer = task.get_future();
    asio::post(loop_.io(), [&task] { task(); });
    return answer.get();
  }
  void treat(Direction direction, Treatment treatment) {
    ask([&] { route().treat(direction, treatment); });
  }
  void treat(Treatment treatment) {
    for (const Direction direction : kDirections) treat(direction, treatment);
  }
  RouteStats stats() {
    return ask([&] { return route().stats(); });
  }
  bool eventually_swallowed(Direction direction, uint64_t bytes) {
    return eventually([&] { return stats().swallowed[static_cast<size_t>(direction)] == bytes; });
  }
  bool eventually_held(Direction direction, uint64_t bytes) {
    return eventually([&] { return stats().held[static_cast<size_t>(direction)] == bytes; });
  }
  Route& route() { return proxy_.route(0); }
  std::string address() {
    return ask([&] { return route().listen_address(); });
  }

  net::Loop loop_;
  Acceptor target_;
  Proxy proxy_{loop_, 7};
  std::thread thread_;
};

// The two ends of a connection through it.
struct Pair {
  Pair(const std::string& address, Acceptor& target) : client(address), server(target.accept()) {}
  // A byte each way; false if one does not arrive.
  bool ping() {
    client.send("x");
    if (server.read(1, kSoon) != "x") return false;
    server.send("y");
    return client.read(1, kSoon) == "y";
  }
  Socket client, server;
};

std::string noise(size_t size, uint32_t state) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST_F(ProxyTest, BytesPassInBothDirectionsUnchanged) {
  Pair pair(address(), target_);
  const std::string up = noise(5'000'000, 1), down = noise(5'000'000, 2);

  std::thread client([&] { pair.client.send(up); });
  std::thread server([&] { pair.server.send(down); });
  std::string got_up, got_down;
  std::thread server_reads([&] { got_up = pair.server.read(up.size(), kSoon); });
  got_down = pair.client.read(down.size(), kSoon);
  for (std::thread* one : {&client, &server, &server_reads}) one->join();

  EXPECT_TRUE(got_up == up) << got_up.size();
  EXPECT_TRUE(got_down == down) << got_down.size();
  EXPECT_EQ(stats().passed[0], up.size());
}

TEST_F(ProxyTest, PassingTakesNoTime) {
  Pair pair(address(), target_);
  std::vector<Duration> took;

  for (int i = 0; i < 201; ++i) {
    const auto from = steady_clock::now();
    ASSERT_TRUE(pair.ping());
    took.push_back(steady_clock::now() - from);
  }

  // Bytes that are kept back to be joined with others take 40 ms.
  std::ranges::nth_element(took, took.begin() + 100);
  EXPECT_LT(took[100], 5ms);
}

TEST_F(ProxyTest, AHalfCloseIsPassedOnBehindTheBytesAndTheAnswerComesBack) {
  Pair pair(address(), target_);

  pair.client.send("question");
  pair.client.end_sending();
  const std::string question = pair.server.read_to_end(kSoon);
  const bool told = pair.server.closed();
  pair.server.send("answer");
  pair.server.end_sending();
  const std::string answer = pair.client.read_to_end(kSoon);

  EXPECT_EQ(question, "question");
  EXPECT_TRUE(told);
  EXPECT_FALSE(pair.server.was_reset());
  EXPECT_EQ(answer, "answer");
  EXPECT_TRUE(pair.client.closed());
  EXPECT_TRUE(eventually([&] { return stats().open == 0; }));
}

TEST_F(ProxyTest, AResetIsPassedOnAsAReset) {
  Pair pair(address(), target_);
  std::optional<Socket> dies(std::move(pair.client));
  pair.server.send("unread");
  ASSERT_EQ(dies->read(1, kSoon).substr(0, 1), "u");
  pair.server.send("unread, too");

  // A close with unread bytes resets.
  ASSERT_TRUE(eventually([&] { return stats().passed[1] == 17; }));
  dies.reset();
  (void)pair.server.read_to_end(kSoon);

  EXPECT_TRUE(pair.server.was_reset());
  EXPECT_TRUE(eventually([&] { return stats().open == 0; }));
}

TEST_F(ProxyTest, WhoWritesToOneThatHasClosedIsReset) {
  Pair pair(address(), target_);
  std::optional<Socket> leaves(std::move(pair.client));
  leaves.reset();
  (void)pair.server.read_to_end(kSoon);
  ASSERT_TRUE(pair.server.closed());

  EXPECT_TRUE(eventually([&] {
    pair.server.send("x");
    return stats().open == 0;
  }));
}

TEST_F(ProxyTest, StalledBytesAndTheirEndArriveAfterPass) {
  Pair pair(address(), target_);
  treat(kForward, {.kind = Kind::kStall});

  pair.client.send("abc");
  ASSERT_TRUE(eventually_held(kForward, 3));
  pair.client.end_sending();
  pair.server.send("back");
  const std::string back = pair.client.read(4, kSoon), nothing = pair.server.read(1, kNothing);
  const bool told = pair.server.closed();
  treat(kForward, {});

  EXPECT_EQ(back, "back");
  EXPECT_EQ(nothing, "");
  EXPECT_FALSE(told);
  EXPECT_EQ(pair.server.read_to_end(kSoon), "abc");
  EXPECT_TRUE(pair.server.closed());
}

TEST_F(ProxyTest, NoMoreIsHeldThanTheLimitAndNothingOfItIsLost) {
  Pair pair(address(), target_);
  treat(kForward, {.kind = Kind::kStall});
  const std::string bytes = noise(64 * 1024, 3);

  // More than the limit is sent, until the system's own buffers are full as well.
  std::string sent;
  for (int full = 0; full < 50;) {
    const size_t taken = pair.client.send_some(bytes);
    sent += bytes.substr(0, taken);
    full = taken > 0 ? 0 : full + 1;
    if (taken == 0) (void)stats();
  }
  const RouteStats stalled = stats();
  treat(kForward, {});
  const std::string arrived = pair.server.read(sent.size(), kSoon);

  EXPECT_EQ(stalled.held[0], kHeldLimit);
  EXPECT_GT(sent.size(), kHeldLimit);
  EXPECT_TRUE(arrived == sent) << arrived.size() << " of " << sent.size();
}

TEST_F(ProxyTest, DroppedBytesAreGoneAndTheOtherDirectionGoesOn) {
  Pair pair(address(), target_);
  treat(kForward, {.kind = Kind::kDrop});

  pair.client.send("lost");
  ASSERT_TRUE(eventually_swallowed(kForward, 4));
  pair.server.send("back");
  const std::string back = pair.client.read(4, kSoon);
  treat(kForward, {});
  pair.client.send("found");

  EXPECT_EQ(back, "back");
  EXPECT_EQ(pair.server.read(5, kSoon), "found");
}

TEST_F(ProxyTest, WhatIsHeldWhenDroppingBeginsIsGoneToo) {
  Pair pair(address(), target_);
  treat(kForward, {.kind = Kind::kStall});
  pair.client.send("lost");
  ASSERT_TRUE(eventually_held(kForward, 4));

  treat(kForward, {.kind = Kind::kDrop});

  EXPECT_EQ(stats().swallowed[0], 4u);
  EXPECT_EQ(stats().held[0], 0u);
}

TEST_F(ProxyTest, WhileDroppingTheOtherEndIsNotToldOfAClose) {
  Pair pair(address(), target_);
  treat({.kind = Kind::kDrop});

  std::optional<Socket> leaves(std::move(pair.client));
  leaves.reset();
  pair.server.send("into nothing");
  ASSERT_TRUE(eventually_swallowed(kBackward, 12));
  const std::string nothing = pair.server.read(1, kNothing);
  const bool told = pair.server.closed();
  treat({});
  (void)pair.server.read_to_end(kSoon);

  EXPECT_EQ(nothing, "");
  EXPECT_FALSE(told);
  EXPECT_TRUE(pair.server.closed());
}

TEST_F(ProxyTest, AConnectionWhoseEndsHaveBothLeftIsForgottenEvenWhileDropping) {
  treat({.kind = Kind::kDrop});

  { const Pair pair(address(), target_); }

  EXPECT_TRUE(eventually([&] { return stats().open == 0; }));
}

TEST_F(ProxyTest, DelayHoldsUpBytesAndTheirEnd) {
  Pair pair(address(), target_);
  treat({.kind = Kind::kDelay, .delay = 30ms});

  const auto from = steady_clock::now();
  const bool arrived = pair.ping();
  const auto there_and_back = steady_clock::now() - from;
  const auto closes = steady_clock::now();
  pair.client.end_sending();
  (void)pair.server.read_to_end(kSoon);
  const auto told = steady_clock::now() - closes;

  EXPECT_TRUE(arrived);
  EXPECT_GE(there_and_back, 60ms);
  EXPECT_LT(there_and_back, 2s);
  EXPECT_TRUE(pair.server.closed());
  EXPECT_GE(told, 30ms);
}

TEST_F(ProxyTest, ARateIsKept) {
  Pair pair(address(), target_);
  treat(kForward, {.kind = Kind::kRate, .rate = 10'000});
  const std::string bytes = noise(3000, 4);

  const auto from = steady_clock::now();
  pair.client.send(bytes);
  const std::string arrived = pair.server.read(bytes.size(), kSoon);
  const auto took = steady_clock::now() - from;

  EXPECT_TRUE(arrived == bytes);
  EXPECT_GE(took, 250ms);
  EXPECT_LT(took, 3s);
}

TEST_F(ProxyTest, GarbageIsPutBehindWhatIsHeldAndIsTheSeeds) {
  Pair pair(address(), target_);
  treat(kForward, {.kind = Kind::kStall});
  pair.client.send("abc");
  ASSERT_TRUE(eventually_held(kForward, 3));
  Proxy same(loop_, 7), other(loop_, 8);
  const std::string first = same.garbage();

  const size_t reached = ask([&] { return route().insert(kForward, proxy_.garbage()); });
  treat(kForward, {});
  const std::string arrived = pair.server.read(3 + kGarbageBytes, kSoon);

  EXPECT_EQ(reached, 1u);
  EXPECT_TRUE(arrived == "abc" + first);
  EXPECT_NE(same.garbage(), first) << "the second burst";
  EXPECT_NE(other.garbage(), first);
}

TEST_F(ProxyTest, CutResetsBothEndsAndTheNextIsAccepted) {
  Pair pair(address(), target_);
  ASSERT_TRUE(pair.ping());

  const size_t count = ask([&] { return route().cut(); });
  (void)pair.client.read_to_end(kSoon);
  (void)pair.server.read_to_end(kSoon);
  Pair next(address(), target_);

  EXPECT_EQ(count, 1u);
  EXPECT_TRUE(pair.client.was_reset());
  EXPECT_TRUE(pair.server.was_reset());
  EXPECT_TRUE(next.ping());
}

TEST_F(ProxyTest, ConnectsAreRefusedUntilTheyAreAcceptedAtTheSamePort) {
  Pair pair(address(), target_);
  ASSERT_TRUE(pair.ping());
  const std::string at = address();

  ask([&] { route().refuse(); });
  const bool stays = pair.ping();
  EXPECT_THROW(Socket{at}, std::runtime_error);
  const Failure failure = ask([&] { return route().accept(); });

  EXPECT_TRUE(stays);
  EXPECT_FALSE(failure);
  EXPECT_TRUE(Pair(at, target_).ping());
}

TEST_F(ProxyTest, ATargetThatDoesNotListenIsAReset) {
  const uint16_t nobody = Acceptor().port();
  ask([&] { return proxy_.add({"127.0.0.1", 0}, {"127.0.0.1", nobody}); });

  Socket client(ask([&] { return proxy_.route(1).listen_address(); }));
  (void)client.read_to_end(kSoon);

  EXPECT_TRUE(client.was_reset());
  EXPECT_EQ(ask([&] { return proxy_.route(1).stats().unreachable; }), 1u);
}

TEST_F(ProxyTest, AtTheLimitConnectionsAreTurnedAway) {
  constexpr size_t kMost = 8;
  ask([&] { return proxy_.add({"127.0.0.1", 0}, {"127.0.0.1", target_.port()}, kMost); });
  const auto stats = [&] { return ask([&] { return proxy_.route(1).stats(); }); };
  const std::string at = ask([&] { return proxy_.route(1).listen_address(); });
  std::vector<Pair> pairs;
  for (size_t i = 0; i < kMost; ++i) pairs.emplace_back(at, target_);

  Socket one_more(at);
  (void)one_more.read_to_end(kSoon);
  const uint64_t turned_away = stats().turned_away;
  pairs.pop_back();
  ASSERT_TRUE(eventually([&] { return stats().open < kMost; }));

  EXPECT_TRUE(one_more.was_reset());
  EXPECT_EQ(turned_away, 1u);
  EXPECT_TRUE(Pair(at, target_).ping());
}

TEST_F(ProxyTest, RoutesThatCannotBeAreNamed) {
  const auto failure = [&](Address listen, Address target) {
    const Failure why = ask([&] { return proxy_.add(listen, target); });
    return why ? why->text : "";
  };
  const Address taken = *parse_address(address()), good{"127.0.0.1", 0}, target{"127.0.0.1", 7400};

  EXPECT_THAT(failure({"0.0.0.0", 0}, target), HasSubstr("0.0.0.0:0 is reachable from outside"));
  EXPECT_THAT(failure({"localhost", 0}, target), HasSubstr("'localhost' is not a numeric address"));
  EXPECT_THAT(failure(good, {"broker", 7400}), HasSubstr("'broker' is not a numeric address"));
  EXPECT_THAT(failure(good, good), HasSubstr("127.0.0.1:0 has no port"));
  EXPECT_THAT(failure(taken, target), HasSubstr(address() + " is taken"));
  EXPECT_EQ(ask([&] { return proxy_.size(); }), 1u);
}

}  // namespace
}  // namespace redoubt::lab
