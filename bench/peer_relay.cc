// The machine's own limit: a relay that moves bytes between the load and the worker and looks at nothing.
// What a broker takes beyond it is the price of being one.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "bench/peers.h"

namespace redoubt::peers {
namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void without_delay(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int listen_at(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = loopback(port);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket, 8) != 0)
    give_up("cannot listen");
  return socket;
}

int accept_at(int listener) {
  const int socket = accept(listener, nullptr, nullptr);
  if (socket < 0) give_up("cannot accept");
  without_delay(socket);
  return socket;
}

int connect_to(uint16_t port) {
  int socket = -1;
  eventually("the relay listens", [&] {
    socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
    close(socket);
    return false;
  });
  without_delay(socket);
  return socket;
}

// What is there, at most; ends the process when the other side is gone.
size_t read_some(int socket, char* into, size_t most) {
  const ssize_t size = recv(socket, into, most, 0);
  if (size <= 0) _exit(0);
  return static_cast<size_t>(size);
}

void write_all(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = send(socket, bytes, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(0);
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

using Buffer = std::array<char, 256 * 1024>;

void serve(const Setting& setting) {
  const int clients = listen_at(setting.clients);
  const int workers = listen_at(setting.workers);
  const std::array<int, 2> ends{accept_at(workers), accept_at(clients)};
  const int watch = epoll_create1(0);
  for (uint32_t i = 0; i < 2; ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.u32 = i}};
    epoll_ctl(watch, EPOLL_CTL_ADD, ends[i], &event);
  }
  static Buffer buffer;
  std::array<epoll_event, 2> events;
  for (;;) {
    const int count = epoll_wait(watch, events.data(), 2, -1);
    for (int i = 0; i < count; ++i) {
      const uint32_t from = events[static_cast<size_t>(i)].data.u32;
      write_all(ends[1 - from], buffer.data(), read_some(ends[from], buffer.data(), buffer.size()));
    }
  }
}

void work(const Setting& setting) {
  const int server = connect_to(setting.workers);
  static Buffer buffer;
  for (;;) write_all(server, buffer.data(), read_some(server, buffer.data(), buffer.size()));
}

void run_load(const Setting& setting, Load& load) {
  const int server = connect_to(setting.clients);
  static Buffer buffer;
  std::string out = load.send(kProbe, Clock::now());
  write_all(server, out.data(), out.size());
  size_t have = 0;
  while (have < load.payload_size()) have += read_some(server, buffer.data() + have, buffer.size() - have);

  out.clear();
  load.begin(Clock::now());
  for (Slot slot = 0; slot < load.window(); ++slot) out += load.send(slot, Clock::now());
  have = 0;
  for (;;) {
    write_all(server, out.data(), out.size());
    out.clear();
    if (load.done()) return;
    have += read_some(server, buffer.data() + have, buffer.size() - have);
    const Time now = Clock::now();
    size_t at = 0;
    for (; have - at >= load.payload_size(); at += load.payload_size()) {
      const Slot slot = slot_of(buffer.data() + at);
      if (load.answered(slot, now)) out += load.send(slot, now);
    }
    have -= at;
    std::memmove(buffer.data(), buffer.data() + at, have);
  }
}

}  // namespace

const Peer kRelay{"relay", serve, work, run_load};

}  // namespace redoubt::peers
