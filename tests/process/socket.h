// Socket: a bare TCP connection to a daemon, for what no client of ours would say.
#pragma once

#include <chrono>
#include <string>

namespace redoubt::test {

class Socket {
 public:
  // `address`: "127.0.0.1:7400". Throws if nobody listens there.
  explicit Socket(const std::string& address);
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // What the peer does not take any more is dropped.
  void send(const std::string& bytes);
  // Everything until the peer closes; closed() tells whether it did within the limit.
  std::string read_to_end(std::chrono::nanoseconds limit);
  // At least this much, or what there is when the limit has passed.
  std::string read(size_t least, std::chrono::nanoseconds limit);
  bool closed() const { return closed_; }

 private:
  int descriptor_;
  bool closed_ = false;
};

}  // namespace redoubt::test
