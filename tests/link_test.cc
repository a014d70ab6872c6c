// Links between real sockets in one thread: what a peer that does not read costs, and that one link's end
// does not disturb another.
#include "net/link.h"

#include <gtest/gtest.h>

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <functional>
#include <utility>

#include "tests/frames.h"

namespace redoubt::testing {
namespace {

using asio::ip::tcp;

struct Recorder : net::LinkUser {
  std::function<void(net::Link&)> then = [](net::Link&) {};
  std::vector<wire::Message> messages;
  wire::CloseReason lost = wire::CloseReason::kNone;
  std::string why;
  int losses = 0;

  void on_message(net::Link& link, wire::Message& message) override {
    messages.push_back(message);
    then(link);
  }
  void on_lost(net::Link&, wire::CloseReason reason, const std::string& text) override {
    lost = reason;
    why = text;
    ++losses;
  }
};

class Links : public ::testing::Test {
 protected:
  // Both ends of a connection: one for a Link, one to use by hand.
  std::pair<tcp::socket, tcp::socket> connection() {
    tcp::acceptor acceptor(loop_.io(), tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    tcp::socket far(loop_.io()), near(loop_.io());
    far.connect(acceptor.local_endpoint());
    acceptor.accept(near);
    return {std::move(near), std::move(far)};
  }

  // Runs turns until it holds, at most so many.
  bool turns_until(const std::function<bool()>& holds) {
    constexpr int kMost = 10000;
    int turns = 0;
    std::function<void()> next = [&] {
      if (!holds() && ++turns < kMost)
        asio::post(loop_.io(), [&] { next(); });
      else
        loop_.stop();
    };
    asio::post(loop_.io(), [&] { next(); });
    loop_.io().restart();
    loop_.run([] {});
    return holds();
  }

  net::Loop loop_;
};

TEST_F(Links, APeerThatDoesNotReadIsGivenUpAtTheLimit) {
  auto [near, far] = connection();
  Recorder user;
  const auto link = std::make_shared<net::Link>(loop_, std::move(near), user, 1);
  link->start();
  wire::Reply reply;
  reply.payload = Payload(std::string(1 << 20, 'x'));
  for (int i = 0; i < 10; ++i) link->send(reply);
  ASSERT_TRUE(turns_until([&] { return link->unsent() > 0 && link->unsent() < 10u << 20; }));

  for (int i = 0; i < 300; ++i) link->send(reply);

  EXPECT_TRUE(turns_until([&] { return user.losses > 0; }));
  EXPECT_EQ(user.lost, wire::CloseReason::kSlow);
  EXPECT_EQ(user.losses, 1);
  EXPECT_EQ(reply.payload.sharers(), 1u) << "what waited is given back";
}

TEST_F(Links, WhatWaitsAtSeveralIsCountedTogetherAndTheLargestKnown) {
  auto [near_a, far_a] = connection();
  auto [near_b, far_b] = connection();
  Recorder user;
  net::Unsent unsent;
  const auto a = std::make_shared<net::Link>(loop_, std::move(near_a), user, 1);
  const auto b = std::make_shared<net::Link>(loop_, std::move(near_b), user, 2);
  a->start();
  b->start();
  a->count_in(unsent);
  b->count_in(unsent);
  wire::Reply reply;
  reply.payload = Payload(std::string(1 << 20, 'x'));
  const auto send = [&](net::Link& link, int count) {
    for (int i = 0; i < count; ++i) link.send(reply);
    int turns = 0;
    ASSERT_TRUE(turns_until([&] { return ++turns > 2; }));
  };

  send(*a, 20);
  send(*b, 40);
  send(*a, 10);  // while its socket is full

  EXPECT_GT(a->unsent(), 0u);
  EXPECT_EQ(unsent.bytes(), a->unsent() + b->unsent());
  EXPECT_TRUE(net::largest(unsent.shares(), unsent.bytes()).empty());
  const auto most = net::largest(unsent.shares(), unsent.bytes() - 1);
  ASSERT_EQ(most.size(), 1u);
  EXPECT_EQ(most[0].link, 2u);
  EXPECT_EQ(most[0].bytes, b->unsent());
  EXPECT_EQ(net::largest(unsent.shares(), 0).size(), 2u);
  EXPECT_LE(a->own_unsent() + b->own_unsent(), (1u << 20) + (1u << 16)) << "it is one payload";
  b->close(wire::CloseReason::kSlow, "reads nothing");
  EXPECT_EQ(unsent.bytes(), a->unsent());
  far_a.non_blocking(true);
  std::vector<char> sink(1 << 20);
  EXPECT_TRUE(turns_until([&] {
    asio::error_code ignored;
    far_a.read_some(asio::buffer(sink), ignored);
    return a->unsent() == 0;
  }));
  EXPECT_EQ(unsent.bytes(), 0u);
}

TEST_F(Links, ASignOfLifeGoesBeforePayloadsThatWait) {
  constexpr int kPayloads = 40;
  auto [near, far] = connection();
  Recorder user, reader_user;
  const auto writer = std::make_shared<net::Link>(loop_, std::move(near), user, 1);
  writer->start();
  wire::Reply reply;
  reply.payload = Payload(std::string(1 << 20, 'x'));
  for (int i = 0; i < kPayloads; ++i) writer->send(reply);
  ASSERT_TRUE(turns_until([&] { return writer->unsent() > 0 && writer->unsent() < kPayloads << 20; }))
      << "the socket is full, in the middle of a frame";

  writer->send_first(wire::Dummy{.sent_us = 1});
  writer->send_first(wire::Dummy{.sent_us = 2});
  const auto reader = std::make_shared<net::Link>(loop_, std::move(far), reader_user, 2);
  reader->set_max_payload(1 << 20);
  reader->start();

  ASSERT_TRUE(turns_until([&] { return reader_user.messages.size() == kPayloads + 2; }));
  std::vector<int64_t> lives;
  size_t before = 0;
  for (const wire::Message& message : reader_user.messages) {
    if (const auto* dummy = std::get_if<wire::Dummy>(&message)) lives.push_back(dummy->sent_us);
    if (lives.empty()) ++before;
    const auto* one = std::get_if<wire::Reply>(&message);
    EXPECT_TRUE(!one || one->payload.size() == 1u << 20);
  }
  EXPECT_EQ(lives, (std::vector<int64_t>{1, 2}));
  EXPECT_LT(before, kPayloads / 2u) << "only what the socket had taken, and the frame under way";
}

TEST_F(Links, APeersLastWordsAreOneLine) {
  auto [near, far] = connection();
  Recorder user;
  const auto link = std::make_shared<net::Link>(loop_, std::move(near), user, 1);
  link->start();

  asio::write(far, asio::buffer(frame_of(wire::Goodbye{wire::CloseReason::kGroup, "no\nready \x1b[2J"})));
  far.close();

  ASSERT_TRUE(turns_until([&] { return user.losses > 0; }));
  EXPECT_EQ(user.why, "closed by the peer: group: no?ready ?[2J");
  EXPECT_EQ(std::get<wire::Goodbye>(user.messages.at(0)).text, "no?ready ?[2J");
}

TEST_F(Links, ClosingOneLinkLeavesAnothersBytesAlone) {
  auto [near_a, far_a] = connection();
  auto [near_b, far_b] = connection();
  Recorder user_a, user_b;
  const auto a = std::make_shared<net::Link>(loop_, std::move(near_a), user_a, 1);
  const auto b = std::make_shared<net::Link>(loop_, std::move(near_b), user_b, 2);
  a->set_max_payload(1000);
  a->start();
  wire::Dummy dummy;
  std::string frames;
  for (dummy.sent_us = 1; dummy.sent_us <= 3; ++dummy.sent_us) frames += frame_of(dummy);
  asio::write(far_b, asio::buffer(std::string(1000, '\xff')));
  user_a.then = [&](net::Link&) { b->close(wire::CloseReason::kSilent, "said nothing"); };

  asio::write(far_a, asio::buffer(frames));

  ASSERT_TRUE(turns_until([&] { return user_a.messages.size() == 3 || user_a.losses > 0; }));
  EXPECT_EQ(user_a.losses, 0);
  EXPECT_EQ(std::get<wire::Dummy>(user_a.messages[2]).sent_us, 3);
}

}  // namespace
}  // namespace redoubt::testing
