// Dialer: keeps trying to reach one address. The first try after a loss is immediate, the next ones wait
// longer and longer, jittered so that a thousand peers of one dead broker do not return in step. All calls
// from the loop's thread.
#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "core/random.h"
#include "core/time.h"

namespace redoubt::net {

class Loop;

class Dialer {
 public:
  using Connected = std::function<void(asio::ip::tcp::socket)>;

  Dialer(Loop& loop, std::string host, uint16_t port, uint64_t seed, Connected connected);

  // Dials, and goes on until it is connected or stopped. To be called again when the link it led to is lost.
  void dial();
  void stop();

  // A link that did its work: the next loss is the first again.
  void succeeded() { failures_ = 0; }
  const std::string& last_error() const { return last_error_; }
  const std::string& address() const { return address_; }

 private:
  void resolve();
  void connect(const asio::ip::tcp::endpoint& endpoint);
  void failed(const std::string& why);

  static constexpr Duration kConnectLimit = std::chrono::seconds(1);
  static constexpr Duration kFirstPause = std::chrono::milliseconds(5);
  static constexpr Duration kLongestPause = std::chrono::milliseconds(200);

  const std::string host_, address_;
  const uint16_t port_;
  Random random_;
  Connected connected_;
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  std::string last_error_;
  unsigned failures_ = 0;
  bool stopped_ = false;
};

}  // namespace redoubt::net
