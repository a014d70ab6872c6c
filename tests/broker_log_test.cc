// What a broker's shell has to say about links that come to nothing: once, not at every try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "broker/shell.h"
#include "tests/poll.h"

namespace redoubt::broker {
namespace {

using asio::ip::tcp;
using test::eventually;
using testing::ElementsAre;
using testing::HasSubstr;

// A broker on a thread of its own, and its notes.
class Noted {
 public:
  explicit Noted(GroupSettings group, std::vector<Address> others)
      : shell_(Settings{}, std::move(group), Memory{}, ShellSettings{.others = std::move(others)},
               {[this](const Note& note) { keep(note); }, [](const RoleChanged&) {}}, nullptr) {
    EXPECT_EQ(shell_.listen("127.0.0.1", 0), "");
    shell_.begin();
    thread_ = std::thread([this] { shell_.run(); });
  }
  ~Noted() {
    shell_.loop().stop();
    thread_.join();
  }

  tcp::endpoint endpoint() {
    const Address at = *parse_address(shell_.address());
    return {asio::ip::make_address(at.host), at.port};
  }
  std::vector<std::string> notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  void keep(const Note& note) {
    if (note.kind != Note::Kind::kLinkClosed && note.kind != Note::Kind::kGroup) return;
    const std::lock_guard lock(mutex_);
    notes_.push_back(note.name + ": " + note.text);
  }

  std::mutex mutex_;
  std::vector<std::string> notes_;
  Shell shell_;
  std::thread thread_;
};

GroupSettings outside() {
  GroupSettings group;
  group.self = kNoBroker;
  group.kind = wire::Kind::kLearner;
  return group;
}

// An HTTP server as a broker's dialler meets it.
class HttpServer {
 public:
  HttpServer() : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] {
      asio::error_code ended;
      while (!stopped_) {
        tcp::socket visitor(io_);
        acceptor_.accept(visitor, ended);
        if (ended) return;
        ++visits_;
        asio::write(visitor, asio::buffer(std::string("HTTP/1.1 400 Bad Request\r\n\r\n")), ended);
        char sink[4096];
        while (visitor.read_some(asio::buffer(sink), ended) > 0) continue;
      }
    });
  }
  ~HttpServer() {
    stopped_ = true;
    tcp::socket last(io_);
    asio::error_code ignored;
    last.connect(acceptor_.local_endpoint(), ignored);
    last.close(ignored);
    thread_.join();
  }
  Address address() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  int visits() const { return visits_; }

 private:
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> visits_ = 0;
  std::thread thread_;
};

TEST(BrokerLog, AnAdminPortInThePlaceOfABrokersIsToldOnce) {
  HttpServer server;

  Noted broker(outside(), {server.address()});
  ASSERT_TRUE(eventually([&] { return server.visits() >= 4; }));

  EXPECT_THAT(broker.notes(), ElementsAre(HasSubstr("no link to it: it answers in HTTP")));
}

TEST(BrokerLog, AStrangerWhoSpeaksHttpAgainAndAgainIsToldOnce) {
  Noted broker(GroupSettings{}, {});
  asio::io_context io;

  for (int i = 0; i < 3; ++i) {
    tcp::socket visitor(io);
    visitor.connect(broker.endpoint());
    asio::write(visitor, asio::buffer(std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
    std::string answer;
    asio::error_code ended;
    asio::read(visitor, asio::dynamic_buffer(answer), ended);  // until the broker has closed the link
  }

  EXPECT_THAT(broker.notes(), ElementsAre(HasSubstr("an HTTP request")));
}

}  // namespace
}  // namespace redoubt::broker
