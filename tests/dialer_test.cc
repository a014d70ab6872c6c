// Dialling names that stand for several endpoints, and a name service that does not answer. The name service
// is this file's: its getaddrinfo() takes the place of the system's.
#include "net/dialer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <utility>

#include "core/address.h"
#include "net/listener.h"
#include "net/loop.h"

namespace {

std::vector<std::string> endpoints_of_the_name;
std::promise<void>* answer_waits_for = nullptr;

}  // namespace

extern "C" int getaddrinfo(const char* /*name*/, const char* service, const addrinfo* /*hints*/,
                           addrinfo** found) {
  if (answer_waits_for) answer_waits_for->get_future().wait();
  *found = nullptr;
  for (auto text = endpoints_of_the_name.rbegin(); text != endpoints_of_the_name.rend(); ++text) {
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(*text),
                                           static_cast<uint16_t>(std::atoi(service)));
    auto* entry = new addrinfo{};
    entry->ai_family = endpoint.protocol().family();
    entry->ai_socktype = SOCK_STREAM;
    entry->ai_addrlen = static_cast<socklen_t>(endpoint.size());
    entry->ai_addr = reinterpret_cast<sockaddr*>(new sockaddr_storage{});
    std::memcpy(entry->ai_addr, endpoint.data(), endpoint.size());
    entry->ai_next = *found;
    *found = entry;
  }
  return *found ? 0 : EAI_NONAME;
}

extern "C" void freeaddrinfo(addrinfo* entry) noexcept {
  while (entry) {
    delete reinterpret_cast<sockaddr_storage*>(entry->ai_addr);
    delete std::exchange(entry, entry->ai_next);
  }
}

namespace redoubt::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DialerTest : public testing::Test {
 protected:
  DialerTest() : listener_(loop_, [](asio::ip::tcp::socket) {}) {
    answer_waits_for = nullptr;
    EXPECT_EQ(listener_.listen("127.0.0.1", 0), "");
    port_ = parse_address(listener_.address())->port;
  }

  void dial(uint16_t port) {
    dialer_.emplace(loop_, "the-name", port, 1,
                    [this](asio::ip::tcp::socket socket) { reached_.push_back(to_text(socket)); });
    dialer_->dial();
  }
  static std::string to_text(const asio::ip::tcp::socket& socket) {
    return socket.remote_endpoint().address().to_string();
  }
  // Runs turns until it holds; false if it does not within ten seconds.
  bool run_until(const std::function<bool()>& holds) {
    asio::steady_timer limit(loop_.io(), std::chrono::seconds(10));
    limit.async_wait([this](const asio::error_code& error) {
      if (!error) loop_.stop();
    });
    loop_.io().restart();
    loop_.run([&] {
      if (holds()) loop_.stop();
    });
    return holds();
  }

  Loop loop_;
  Listener listener_;
  uint16_t port_ = 0;
  std::optional<Dialer> dialer_;
  std::vector<std::string> reached_;
};

TEST_F(DialerTest, TriesEveryEndpointOfAName) {
  endpoints_of_the_name = {"::1", "127.0.0.2", "127.0.0.1"};

  dial(port_);

  ASSERT_TRUE(run_until([&] { return !reached_.empty(); })) << dialer_->last_error();
  EXPECT_EQ(reached_[0], "127.0.0.1");
  EXPECT_EQ(dialer_->last_error(), "");
}

TEST_F(DialerTest, AnEndpointThatLeadsToNothingIsFollowedByTheNext) {
  endpoints_of_the_name = {"127.0.0.1", "127.0.0.1", "::1"};
  dial(port_);
  ASSERT_TRUE(run_until([&] { return reached_.size() == 1; }));
  endpoints_of_the_name = {};

  dialer_->dial();

  ASSERT_TRUE(run_until([&] { return reached_.size() == 2; })) << dialer_->last_error();
}

TEST_F(DialerTest, TheErrorNamesEveryEndpoint) {
  endpoints_of_the_name = {"127.0.0.2", "127.0.0.3"};

  dial(port_);

  const auto error = [&] { return dialer_->last_error(); };
  ASSERT_TRUE(run_until([&] { return error().find(", ") != std::string::npos; })) << error();
  EXPECT_THAT(error(), AllOf(HasSubstr("127.0.0.2:"), HasSubstr("127.0.0.3:")));
}

TEST_F(DialerTest, ANameServiceThatIsSilentIsNamedAndItsLateAnswerIsTaken) {
  endpoints_of_the_name = {"127.0.0.1"};
  std::promise<void> answer;
  answer_waits_for = &answer;

  dial(port_);

  EXPECT_TRUE(run_until([&] { return dialer_->last_error().find("does not answer") != std::string::npos; }));
  answer.set_value();
  EXPECT_TRUE(run_until([&] { return !reached_.empty(); })) << dialer_->last_error();
}

// A killed process can still take a connection before its listener is closed. Who must know soon whether it
// is gone dials again, and is refused.
TEST_F(DialerTest, AConnectionThatComesToNothingIsFollowedByAnotherTryWithinMilliseconds) {
  endpoints_of_the_name = {"127.0.0.1"};
  Duration soonest = std::chrono::seconds(1);
  for (int round = 0; round < 5; ++round) {
    std::optional<Listener> dying(std::in_place, loop_, [](asio::ip::tcp::socket) {});
    ASSERT_EQ(dying->listen("127.0.0.1", 0), "");
    reached_.clear();
    dial(parse_address(dying->address())->port);
    ASSERT_TRUE(run_until([&] { return !reached_.empty(); })) << dialer_->last_error();
    bool refused = false;
    dialer_->on_failure([&](bool by_the_host) { refused = by_the_host; });
    dying->close();
    const Time lost = Clock::now();

    dialer_->dial();
    ASSERT_TRUE(run_until([&] { return refused; }));

    soonest = std::min<Duration>(soonest, Clock::now() - lost);
  }
  EXPECT_LT(soonest, std::chrono::milliseconds(8));
}

TEST_F(DialerTest, InAHurryALongPauseEndsAtOnce) {
  endpoints_of_the_name = {};
  std::vector<Time> failures;
  dial(port_);
  dialer_->on_failure([&](bool) { failures.push_back(Clock::now()); });
  // By then it pauses for at least half the longest pause, 100 ms.
  ASSERT_TRUE(run_until([&] { return failures.size() == 10; }));
  const Time hurried = Clock::now();

  dialer_->hurry();

  ASSERT_TRUE(run_until([&] { return failures.size() == 12; }));
  EXPECT_LT(failures[11] - hurried, std::chrono::milliseconds(100)) << "two tries";
}

TEST_F(DialerTest, InAHurryWhatIsUnderWayGoesOn) {
  endpoints_of_the_name = {"127.0.0.1"};
  dial(port_);

  dialer_->hurry();

  ASSERT_TRUE(run_until([&] { return !reached_.empty(); })) << dialer_->last_error();
  dialer_->hurry();
  EXPECT_EQ(reached_.size(), 1u);
}

}  // namespace
}  // namespace redoubt::net
