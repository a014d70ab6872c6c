// A bare TCP connection; see socket.h.
#include "socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <utility>

namespace redoubt::test {

Socket::Socket(const std::string& address) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return;
  ::close(descriptor_);
  throw std::runtime_error("nobody listens at " + address);
}

Socket::Socket(int descriptor) : descriptor_(descriptor) {}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket::Socket(Socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), closed_(other.closed_), reset_(other.reset_) {}

void Socket::send(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(descriptor_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return;
    if (sent > 0) at += static_cast<size_t>(sent);
  }
}

size_t Socket::send_some(const std::string& bytes) {
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<size_t>(sent);
}

void Socket::end_sending() { ::shutdown(descriptor_, SHUT_WR); }

std::string Socket::read_to_end(std::chrono::nanoseconds limit) {
  return read(std::numeric_limits<size_t>::max(), limit);
}

std::string Socket::read(size_t least, std::chrono::nanoseconds limit) {
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + limit;
  std::string bytes;
  while (!closed_ && bytes.size() < least) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    pollfd waits{descriptor_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waits, 1, static_cast<int>(left.count())) == 0) break;
    std::array<char, 65536> buffer;
    const ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) bytes.append(buffer.data(), static_cast<size_t>(got));
    closed_ = got <= 0;
    reset_ = got < 0;
  }
  return bytes;
}

Acceptor::Acceptor() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
      ::listen(descriptor_, SOMAXCONN) == 0)
    return;
  ::close(descriptor_);
  throw std::runtime_error("cannot listen on loopback");
}

Acceptor::~Acceptor() { ::close(descriptor_); }

uint16_t Acceptor::port() const {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

Socket Acceptor::accept(std::chrono::nanoseconds limit) {
  pollfd waits{descriptor_, POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit);
  if (::poll(&waits, 1, static_cast<int>(left.count())) == 1)
    if (const int accepted = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC); accepted >= 0)
      return Socket(accepted);
  throw std::runtime_error("nobody connected to " + address());
}

int free_port() {
  static int next = 20000 + ::getpid() % 10000;
  while (next < 32700) {
    const int port = next++;
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = ::bind(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(probe);
    if (free) return port;
  }
  throw std::runtime_error("no free port");
}

}  // namespace redoubt::test
