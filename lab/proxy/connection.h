// Connection: who connected to a route, and the target, and the bytes between them in both directions. What
// arrives goes on in the same handler unless the route's treatment says otherwise. All calls from the loop's
// thread.
#pragma once

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "lab/proxy/held.h"
#include "lab/proxy/treatment.h"
#include "net/loop.h"

namespace redoubt::lab {

// One direction of a route: shared by its connections, which it outlives.
struct Way {
  Treatment treatment;
  uint64_t passed = 0, swallowed = 0;  // bytes
};
using Ways = std::array<Way, 2>;  // by Direction

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // How it ended: both ends were told (or nobody is left to be told), an end reset it, or the target cannot
  // be reached.
  enum class Ending { kClosed, kReset, kUnreachable };
  using Ended = std::function<void(Ending)>;

  // `ended` is called once, and not after reset().
  Connection(net::Loop& loop, asio::ip::tcp::socket client, Ways& ways, Ended ended);
  ~Connection();

  void connect(const asio::ip::tcp::endpoint& target);

  // The way has another treatment now.
  void treatment_changed(Direction direction);
  // False if these bytes do not reach the other end: it has been told the end, too much is held, or bytes are
  // dropped.
  bool insert(Direction direction, std::string_view bytes);
  // Both ends see a reset.
  void reset();

  size_t held(Direction direction) const { return stream(direction).held.size(); }

 private:
  enum class End : uint8_t { kNone, kClosed, kReset };

  // An end of the connection: 0 connected to us, 1 is the target.
  struct Side {
    asio::ip::tcp::socket socket;
    bool waits_readable = false, waits_writable = false;
    bool broken = false;  // nothing that is written reaches it
  };
  struct Stream {
    explicit Stream(net::Loop& loop) : timer(loop.io()) {}
    Held held;
    End end = End::kNone;  // what its source has said
    Time ended_at;
    bool told = false;  // and so has its sink heard
    asio::steady_timer timer;
  };

  // The stream of a direction leads from one side to the other.
  Side& source(Direction direction) { return sides_[static_cast<size_t>(direction)]; }
  Side& sink(Direction direction) { return sides_[1 - static_cast<size_t>(direction)]; }
  Stream& stream(Direction direction) { return streams_[static_cast<size_t>(direction)]; }
  const Stream& stream(Direction direction) const { return streams_[static_cast<size_t>(direction)]; }
  Way& way(Direction direction) { return ways_[static_cast<size_t>(direction)]; }

  void connected(const asio::error_code& error);
  void wait_readable(Direction direction);
  void wait_writable(Direction direction);
  void wait_until(Direction direction, Time at);
  void on_readable(Direction direction);
  void move_on(Direction direction);
  void write_due(Direction direction, Time now);
  void tell_end(Direction direction, Time now);
  void sink_broke(Direction direction);
  void swallow(Direction direction);
  bool settled(Direction direction);
  void end(Ending how);

  net::Loop& loop_;
  Ways& ways_;
  Ended ended_;
  std::array<Side, 2> sides_;
  std::array<Stream, 2> streams_;
  bool connected_ = false;
  bool closed_ = false;
};

}  // namespace redoubt::lab
