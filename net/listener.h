// Listener: accepts connections on one address. At the descriptor limit it pauses instead of spinning.
// All calls from the loop's thread.
#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <string>

namespace redoubt::net {

class Loop;

class Listener {
 public:
  using Accepted = std::function<void(asio::ip::tcp::socket)>;

  Listener(Loop& loop, Accepted accepted);

  // Starts to listen. Returns an empty text, or why it cannot: "address 127.0.0.1:7400 is taken".
  std::string listen(const std::string& host, uint16_t port);
  void close();

  // Where it listens, with the port that was really taken.
  std::string address() const;

 private:
  void accept();

  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  Accepted accepted_;
};

}  // namespace redoubt::net
