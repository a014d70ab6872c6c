// The client library against a broker made for it: every way to call, and every way in which a call can end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <redoubt/client.h>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <future>
#include <optional>
#include <thread>

#include "poll.h"
#include "scripted_broker.h"

namespace redoubt {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::ScriptedBroker;
using testing::HasSubstr;
using Manner = ScriptedBroker::Manner;

Request echo(const std::string& payload, std::chrono::nanoseconds deadline = 5s) {
  return {.levels = {{"echo", 1}}, .payload = payload, .deadline = deadline};
}

ClientOptions to(const ScriptedBroker& broker) { return {.brokers = {broker.address()}}; }

// A port that nobody listens on.
std::string dead_address() {
  ScriptedBroker gone;
  return gone.address();
}

TEST(Client, CallReturnsTheReply) {
  ScriptedBroker broker;
  Client client(to(broker));

  const Reply reply = client.call({.levels = {{"echo", 2}}, .payload = "hello"});

  EXPECT_EQ(reply.status, Status::kOk);
  EXPECT_EQ(reply.payload.view(), "hello");
  EXPECT_TRUE(reply.answered);
  EXPECT_EQ(reply.seq, 1u);
  EXPECT_GT(reply.latency, 0ns);
  EXPECT_EQ(reply.wait, 10us);
  ASSERT_EQ(reply.levels.size(), 1u);
  EXPECT_EQ(reply.levels[0].service, "echo");
  EXPECT_EQ(reply.levels[0].replica, "replica-1");
  EXPECT_EQ(reply.levels[0].copies, 2u);
  EXPECT_EQ(reply.levels[0].service_time, 20us);
}

TEST(Client, HelloNamesTheClient) {
  ScriptedBroker broker;
  Client client({.brokers = {broker.address()}, .name = "camera", .cluster = "east"});

  client.call(echo("x"));

  const auto hellos = broker.seen().hellos;
  ASSERT_EQ(hellos.size(), 1u);
  EXPECT_EQ(hellos[0].role, wire::Role::kClient);
  EXPECT_EQ(hellos[0].name, "camera");
  EXPECT_EQ(hellos[0].cluster, "east");
  EXPECT_EQ(hellos[0].incarnation, client.incarnation());
  EXPECT_EQ(hellos[0].link_generation, 1u);
}

TEST(Client, BatchTravelsTogetherAndComesBackInOrder) {
  ScriptedBroker broker;
  Client client(to(broker));
  client.call(echo("warm"));
  const std::vector<Request> requests{echo("a"), echo("b"), echo("c")};

  const std::vector<Reply> replies = client.call_batch(requests);

  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies[0].payload.view(), "a");
  EXPECT_EQ(replies[2].payload.view(), "c");
  EXPECT_EQ(broker.seen().frames, (std::vector<size_t>{1, 3}));
  EXPECT_TRUE(client.call_batch({}).empty());
}

TEST(Client, FutureCarriesTheReply) {
  ScriptedBroker broker;
  Client client(to(broker));

  std::future<Reply> reply = client.async_call(echo("later"), asio::use_future);

  EXPECT_EQ(reply.get().payload.view(), "later");
}

TEST(Client, CoroutineAwaitsTheReplyOnItsOwnExecutor) {
  ScriptedBroker broker;
  Client client(to(broker));
  asio::io_context io;
  std::thread::id resumed_on;
  const Request request = echo("awaited");

  auto result = asio::co_spawn(
      io,
      [&]() -> asio::awaitable<std::string> {
        Reply reply = co_await client.async_call(request, asio::use_awaitable);
        resumed_on = std::this_thread::get_id();
        std::vector<Reply> batch =
            co_await client.async_call_batch(std::span(&request, 1), asio::use_awaitable);
        co_return reply.payload.str() + " " + batch[0].payload.str();
      },
      asio::use_future);
  io.run();

  EXPECT_EQ(result.get(), "awaited awaited");
  EXPECT_EQ(resumed_on, std::this_thread::get_id());
}

TEST(Client, CallbackRunsOnTheClientsThreadUnlessItHasAnExecutor) {
  ScriptedBroker broker;
  Client client(to(broker));
  asio::io_context io;
  std::promise<std::thread::id> plain;
  std::thread::id bound;

  client.async_call(echo("x"), [&](const Reply&) { plain.set_value(std::this_thread::get_id()); });
  client.async_call(echo("x"), asio::bind_executor(io, [&](Reply) { bound = std::this_thread::get_id(); }));
  io.run();

  EXPECT_NE(plain.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(bound, std::this_thread::get_id());
}

TEST(Client, CallbackMayCallAgain) {
  ScriptedBroker broker;
  Client client(to(broker));
  std::promise<int> done;
  int rounds = 0;
  std::function<void()> again = [&] {
    client.async_call(echo("x"), [&](const Reply& reply) {
      EXPECT_TRUE(reply.ok());
      if (++rounds == 1000)
        done.set_value(rounds);
      else
        again();
    });
  };

  again();

  EXPECT_EQ(done.get_future().get(), 1000);
}

TEST(Client, BlockingCallOnTheClientsThreadIsRefused) {
  ScriptedBroker broker;
  Client client(to(broker));
  std::promise<Reply> inner;

  client.async_call(echo("x"), [&](const Reply&) { inner.set_value(client.call(echo("y"))); });

  EXPECT_EQ(inner.get_future().get().reason, Refusal::kInvalid);
}

TEST(Client, SeveralThreadsShareAClient) {
  ScriptedBroker broker;
  Client client(to(broker));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string payload = std::to_string(t) + "/" + std::to_string(i);
        if (client.call(echo(payload)).payload.view() == payload) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(right, 800);
  EXPECT_EQ(client.stats().submitted, 800u);
}

TEST(Client, CancellationSlotEndsTheCallAndTellsTheBroker) {
  ScriptedBroker broker({.manner = Manner::kSilent});
  Client client(to(broker));
  asio::cancellation_signal signal;
  auto reply = client.async_call(echo("x"), asio::bind_cancellation_slot(signal.slot(), asio::use_future));
  ASSERT_TRUE(eventually([&] { return broker.seen().requests.size() == 1; }));

  signal.emit(asio::cancellation_type::terminal);

  EXPECT_EQ(reply.get().status, Status::kCancelled);
  EXPECT_TRUE(eventually([&] { return broker.seen().cancelled == std::vector<uint64_t>{1}; }));
}

TEST(Client, CancellationSlotEndsAWholeBatch) {
  ScriptedBroker broker({.manner = Manner::kSilent});
  Client client(to(broker));
  asio::cancellation_signal signal;
  std::promise<std::vector<Reply>> replies;
  const std::vector<Request> requests{echo("a"), echo("b")};
  client.async_call_batch(
      requests, asio::bind_cancellation_slot(
                    signal.slot(), [&](std::vector<Reply> ended) { replies.set_value(std::move(ended)); }));

  signal.emit(asio::cancellation_type::total);

  const std::vector<Reply> ended = replies.get_future().get();
  EXPECT_EQ(ended[0].status, Status::kCancelled);
  EXPECT_EQ(ended[1].status, Status::kCancelled);
}

TEST(Client, CancellationAfterTheEndOrAfterTheClientDoesNothing) {
  asio::cancellation_signal signal;
  std::promise<Reply> reply;
  {
    ScriptedBroker broker;
    Client client(to(broker));
    client.async_call(echo("x"), asio::bind_cancellation_slot(
                                     signal.slot(), [&](Reply ended) { reply.set_value(std::move(ended)); }));
    EXPECT_TRUE(reply.get_future().get().ok());
    signal.emit(asio::cancellation_type::terminal);
    EXPECT_TRUE(client.call(echo("y")).ok());
  }

  signal.emit(asio::cancellation_type::terminal);
}

TEST(Client, WithoutABrokerTheCallEndsAtItsDeadlineAndSaysWhy) {
  const std::string address = dead_address();
  Client client({.brokers = {address}});
  const auto began = std::chrono::steady_clock::now();

  const Reply reply = client.call(echo("x", 100ms));

  EXPECT_EQ(reply.status, Status::kNoBroker);
  EXPECT_FALSE(reply.answered);
  EXPECT_THAT(reply.text, HasSubstr(address));
  EXPECT_THAT(reply.text, HasSubstr("refused"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 100ms);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
}

TEST(Client, RefusedHelloIsQuotedInTheOutcome) {
  ScriptedBroker broker({.manner = Manner::kRefuse});
  Client client(to(broker));

  const Reply reply = client.call(echo("x", 50ms));

  EXPECT_EQ(reply.status, Status::kNoBroker);
  EXPECT_THAT(reply.text, HasSubstr("this is the cluster 'other'"));
}

TEST(Client, SilentBrokerCostsTheDeadlineAndNoMore) {
  ScriptedBroker broker({.manner = Manner::kSilent});
  Client client(to(broker));

  const Reply reply = client.call(echo("x", 50ms));

  EXPECT_EQ(reply.status, Status::kExpired);
  EXPECT_FALSE(reply.answered);
  EXPECT_THAT(reply.text, HasSubstr("50ms"));
  EXPECT_LT(reply.latency, 500ms);
}

TEST(Client, ExpirySaysTheLevelAndWhetherItRan) {
  ScriptedBroker broker({.manner = Manner::kExpire});
  Client client(to(broker));

  const Reply reply = client.call(echo("x"));

  EXPECT_EQ(reply.status, Status::kExpired);
  EXPECT_TRUE(reply.answered);
  EXPECT_EQ(reply.text, "expired at level 1 (echo), running");
}

TEST(Client, CallsOutliveTheirBroker) {
  std::optional<ScriptedBroker> broker(ScriptedBroker::Settings{.manner = Manner::kSilent});
  const uint16_t port = broker->port();
  Client client(to(*broker));
  auto reply = client.async_call(echo("held"), asio::use_future);
  ASSERT_TRUE(eventually([&] { return broker->seen().requests.size() == 1; }));

  broker.reset();
  broker.emplace(ScriptedBroker::Settings{.port = port, .epoch = {2, 0}});

  EXPECT_EQ(reply.get().payload.view(), "held");
  const auto requests = broker->seen().requests;
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].seq, 1u);
  EXPECT_TRUE(requests[0].resend);
  EXPECT_LT(requests[0].deadline_us, 5'000'000u);
  EXPECT_EQ(client.stats().failovers, 1u);
  EXPECT_EQ(client.stats().resent, 1u);
}

TEST(Client, TheBrokerOfTheHighestEpochIsUsed) {
  ScriptedBroker older({.epoch = {1, 0}});
  ScriptedBroker newer({.epoch = {2, 0}});
  Client client({.brokers = {older.address(), newer.address()}});
  ASSERT_TRUE(eventually([&] { return client.connection() == newer.address(); }));

  client.call(echo("x"));

  EXPECT_EQ(older.seen().requests.size(), 0u);
  EXPECT_EQ(newer.seen().requests.size(), 1u);
}

TEST(Client, StandbyThatTakesOverGetsOpenRequestsOnItsWarmLink) {
  ScriptedBroker manager({.manner = Manner::kSilent, .epoch = {1, 1}});
  ScriptedBroker standby({.epoch = {1, 1}, .rules = false});
  Client client({.brokers = {manager.address(), standby.address()}});
  ASSERT_TRUE(eventually([&] { return client.connected() && standby.seen().hellos.size() == 1; }));
  auto reply = client.async_call(echo("held"), asio::use_future);
  ASSERT_TRUE(eventually([&] { return manager.seen().requests.size() == 1; }));

  standby.say(wire::Announce{.epoch = {2, 2}, .rules = true});

  EXPECT_EQ(reply.get().payload.view(), "held");
  const auto seen = standby.seen();
  ASSERT_EQ(seen.requests.size(), 1u);
  EXPECT_TRUE(seen.requests[0].resend);
  EXPECT_EQ(seen.all_open, 1u);
  EXPECT_EQ(seen.hellos.size(), 1u);
  EXPECT_EQ(client.connection(), standby.address());
  EXPECT_EQ(client.stats().failovers, 1u);
}

TEST(Client, SecondReplyAfterATakeOverIsARepetition) {
  ScriptedBroker broker;
  Client client(to(broker));
  client.call(echo("x"));
  wire::Reply again;
  again.seq = 1;

  broker.say(wire::Announce{.epoch = {2, 0}, .rules = true});
  broker.say(again);

  EXPECT_TRUE(eventually([&] { return client.stats().repeated == 1; }));
  EXPECT_EQ(client.stats().duplicated, 0u);
  EXPECT_EQ(broker.seen().hellos.size(), 1u);
}

TEST(Client, StandbyAloneIsNoBrokerAndSaysSo) {
  ScriptedBroker standby({.epoch = {}, .rules = false});
  Client client(to(standby));
  ASSERT_TRUE(eventually([&] { return client.connection().find("standby") != std::string::npos; }));

  const Reply reply = client.call(echo("x", 50ms));

  EXPECT_EQ(reply.status, Status::kNoBroker);
  EXPECT_THAT(reply.text, HasSubstr(standby.address() + ": it is a standby and knows of no manager"));
  EXPECT_TRUE(standby.seen().requests.empty());
}

TEST(Client, ManagerThatStopsToRuleIsAskedNothingUntilItRulesAgain) {
  ScriptedBroker broker;
  Client client(to(broker));
  client.call(echo("x"));
  broker.say(wire::Announce{.epoch = {1, 0}, .rules = false});
  ASSERT_TRUE(eventually([&] { return !client.connected(); }));
  auto reply = client.async_call(echo("y"), asio::use_future);
  auto status = std::async(std::launch::async, [&] { return client.status_json(5s); });
  EXPECT_EQ(client.stats().submitted, 2u);

  broker.say(wire::Announce{.epoch = {2, 0}, .rules = true});

  EXPECT_TRUE(reply.get().ok());
  EXPECT_EQ(status.get(), R"({"epoch":1})");
  EXPECT_EQ(broker.seen().requests.size(), 2u);
  EXPECT_EQ(broker.seen().hellos.size(), 1u);
}

TEST(Client, PayloadOverTheBrokersLimitIsRefusedHere) {
  ScriptedBroker broker({.max_payload = 1024});
  Client client(to(broker));

  const Reply reply = client.call(echo(std::string(2048, 'x')));

  EXPECT_EQ(reply.status, Status::kRefused);
  EXPECT_EQ(reply.reason, Refusal::kTooLarge);
  EXPECT_THAT(reply.text, HasSubstr("2KiB"));
  EXPECT_THAT(reply.text, HasSubstr("1KiB"));
  EXPECT_TRUE(client.call(echo("small")).ok());
  EXPECT_EQ(broker.seen().hellos.size(), 1u);
}

TEST(Client, LargePayloadsComeBackWhole) {
  ScriptedBroker broker;
  Client client(to(broker));
  std::string payload(size_t{3} << 20, 'x');
  payload.back() = 'y';
  std::vector<Request> requests(12, echo(payload));

  const std::vector<Reply> replies = client.call_batch(requests);

  for (const Reply& reply : replies) EXPECT_EQ(reply.payload.view(), payload);
}

TEST(Client, SecondRepliesAreCountedAndNotDelivered) {
  ScriptedBroker broker({.manner = Manner::kTwice});
  Client client(to(broker));

  client.call(echo("x"));
  client.call(echo("y"));

  EXPECT_TRUE(eventually([&] { return client.stats().duplicated == 2; }));
}

TEST(Client, RepliesToNobodyAreCounted) {
  ScriptedBroker broker;
  Client client(to(broker));
  client.call(echo("x"));

  wire::Reply stray;
  stray.seq = 77;
  broker.say(stray);

  EXPECT_TRUE(eventually([&] { return client.stats().unexpected == 1; }));
}

TEST(Client, MessagesOutOfPlaceCloseTheLinkAndAnotherIsMade) {
  ScriptedBroker broker;
  Client client(to(broker));
  client.call(echo("x"));

  broker.say(wire::Halt{{1}});

  EXPECT_TRUE(eventually([&] { return broker.seen().hellos.size() == 2; }));
  EXPECT_TRUE(client.call(echo("y")).ok());
  EXPECT_EQ(broker.seen().hellos[1].link_generation, 2u);
}

TEST(Client, AnswersWhenAskedWhetherItIsAlive) {
  ScriptedBroker broker;
  Client client(to(broker));
  client.call(echo("x"));

  broker.say(wire::Dummy{.answer = true, .sent_us = 5});

  EXPECT_TRUE(eventually([&] { return broker.seen().dummies == 1; }));
}

TEST(Client, LastReplyIsAcknowledgedWithoutAnotherCall) {
  ScriptedBroker broker;
  Client client(to(broker));

  client.call(echo("x"));

  EXPECT_TRUE(eventually([&] { return broker.seen().low_water == 2; }));
}

TEST(Client, DestructionEndsWhatIsOpen) {
  ScriptedBroker broker({.manner = Manner::kSilent});
  std::optional<Client> client(to(broker));
  std::vector<std::future<Reply>> replies;
  for (int i = 0; i < 10; ++i) replies.push_back(client->async_call(echo("x"), asio::use_future));

  client.reset();

  for (auto& reply : replies) EXPECT_EQ(reply.get().status, Status::kCancelled);
}

TEST(Client, MayBeDestroyedByItsOwnHandler) {
  ScriptedBroker broker;
  auto client = std::make_unique<Client>(to(broker));
  std::promise<void> destroyed;

  client->async_call(echo("x"), [&](const Reply&) {
    client.reset();
    destroyed.set_value();
  });

  destroyed.get_future().wait();
  EXPECT_EQ(client, nullptr);
}

TEST(Client, AddressesAreReadAtConstruction) {
  EXPECT_THROW(Client(ClientOptions{}), std::invalid_argument);
  for (const auto poll : {-1ns, 1'000'000'001ns}) {
    const ClientOptions options{.brokers = {"127.0.0.1:7400"}, .busy_poll = poll};
    EXPECT_THROW(Client{options}, std::invalid_argument);
  }
  EXPECT_THROW(Client({.brokers = {"nonsense"}}), std::invalid_argument);
}

}  // namespace
}  // namespace redoubt
