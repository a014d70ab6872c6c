// Socket: a bare TCP connection to a daemon, for what no client of ours would say; and who accepts such.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace redoubt::test {

class Socket {
 public:
  // `address`: "127.0.0.1:7400". Throws if nobody listens there.
  explicit Socket(const std::string& address);
  // Takes a descriptor over.
  explicit Socket(int descriptor);
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // What the peer does not take any more is dropped.
  void send(const std::string& bytes);
  // As much of it as is taken at once: how much that was.
  size_t send_some(const std::string& bytes);
  // Says that nothing more will be sent, and goes on reading.
  void end_sending();
  // Everything until the peer closes; closed() tells whether it did within the limit.
  std::string read_to_end(std::chrono::nanoseconds limit);
  // At least this much, or what there is when the limit has passed.
  std::string read(size_t least, std::chrono::nanoseconds limit);
  bool closed() const { return closed_; }
  // It did not just close: it reset the connection.
  bool was_reset() const { return reset_; }

 private:
  int descriptor_;
  bool closed_ = false, reset_ = false;
};

// Accepts bare connections at a port of loopback that the system chooses.
class Acceptor {
 public:
  Acceptor();
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  uint16_t port() const;
  // The next connection. Throws if none comes within the limit.
  Socket accept(std::chrono::nanoseconds limit = std::chrono::seconds(10));

 private:
  int descriptor_;
};

// A port of loopback that is free, another at each call, and below those the system gives out: for a daemon
// that is to return to its port.
int free_port();

}  // namespace redoubt::test
