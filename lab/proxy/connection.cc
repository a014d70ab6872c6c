// One connection through the proxy; see connection.h. Receives and sends with the socket calls themselves:
// the loop only tells when to.
#include "lab/proxy/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lab/proxy/limits.h"

namespace redoubt::lab {

using asio::ip::tcp;
using Kind = Treatment::Kind;

namespace {

Direction opposite(Direction direction) {
  return direction == Direction::kForward ? Direction::kBackward : Direction::kForward;
}

bool try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

void prepare(tcp::socket& socket) {
  asio::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.non_blocking(true, ignored);
}

}  // namespace

Connection::Connection(net::Loop& loop, tcp::socket client, Ways& ways, Ended ended)
    : loop_(loop),
      ways_(ways),
      ended_(std::move(ended)),
      sides_{Side{std::move(client)}, Side{tcp::socket(loop.io())}},
      streams_{Stream(loop), Stream(loop)} {
  prepare(sides_[0].socket);
}

Connection::~Connection() { reset(); }

void Connection::connect(const tcp::endpoint& target) {
  sides_[1].socket.async_connect(target, [self = weak_from_this()](const asio::error_code& error) {
    const auto connection = self.lock();
    if (connection && !connection->closed_) connection->connected(error);
  });
}

void Connection::connected(const asio::error_code& error) {
  asio::error_code ignored;
  tcp::socket& dialled = sides_[1].socket;
  // A socket that dials a free port of the ephemeral range may be given that port, and meets itself.
  if (error || dialled.local_endpoint(ignored) == dialled.remote_endpoint(ignored)) {
    end(Ending::kUnreachable);
    return;
  }
  // A new object on the same connection: connecting has left this one watched for writing too, and every wait
  // for something to read would first wake up because it can be written.
  const auto protocol = dialled.local_endpoint(ignored).protocol();
  tcp::socket watched(loop_.io());
  watched.assign(protocol, dialled.release(ignored), ignored);
  dialled = std::move(watched);
  prepare(dialled);
  connected_ = true;
  for (const Direction direction : kDirections)
    if (!closed_) move_on(direction);
}

void Connection::treatment_changed(Direction direction) { move_on(direction); }

bool Connection::insert(Direction direction, std::string_view bytes) {
  Stream& into = stream(direction);
  if (closed_ || into.end != End::kNone || sink(direction).broken) return false;
  if (into.held.room() < bytes.size() || way(direction).treatment.kind == Kind::kDrop) return false;
  into.held.add(bytes, loop_.read_clock());
  move_on(direction);
  return true;
}

void Connection::wait_readable(Direction direction) {
  Side& from = source(direction);
  const Stream& into = stream(direction);
  if (from.waits_readable || into.end != End::kNone || into.held.room() == 0) return;
  from.waits_readable = true;
  from.socket.async_wait(tcp::socket::wait_read,
                         [self = weak_from_this(), direction](const asio::error_code& error) {
                           const auto connection = self.lock();
                           if (!connection || connection->closed_) return;
                           connection->source(direction).waits_readable = false;
                           if (!error) connection->on_readable(direction);
                         });
}

void Connection::on_readable(Direction direction) {
  Stream& into = stream(direction);
  std::vector<char>& buffer = loop_.read_buffer();
  // Garbage may have been put in since the wait began.
  const size_t size = std::min(buffer.size(), into.held.room());
  if (size > 0) {
    const ssize_t got = ::recv(source(direction).socket.native_handle(), buffer.data(), size, MSG_DONTWAIT);
    const Time now = loop_.read_clock();
    if (got > 0) {
      loop_.received(static_cast<size_t>(got));
      into.held.add({buffer.data(), static_cast<size_t>(got)}, now);
    } else if (got == 0 || !try_again()) {
      into.end = got < 0 || source(direction).broken ? End::kReset : End::kClosed;
      into.ended_at = now;
    }
  }
  move_on(direction);
}

// Does all that this stream's treatment lets it do now, and sees to it that somebody calls again.
void Connection::move_on(Direction direction) {
  if (!connected_ || closed_) return;
  const Treatment treatment = way(direction).treatment;
  const Time now = loop_.read_clock();
  if (treatment.kind == Kind::kDrop || sink(direction).broken)
    swallow(direction);
  else
    write_due(direction, now);
  tell_end(direction, now);
  if (closed_) return;
  if (!sink(direction).waits_writable) wait_until(direction, stream(direction).held.next_due(treatment));
  wait_readable(direction);
}

void Connection::swallow(Direction direction) {
  way(direction).swallowed += stream(direction).held.size();
  stream(direction).held.clear();
}

void Connection::write_due(Direction direction, Time now) {
  Held& held = stream(direction).held;
  Way& on = way(direction);
  while (!sink(direction).waits_writable) {
    const size_t due = held.due(on.treatment, now);
    if (due == 0) return;
    const ssize_t sent = ::send(sink(direction).socket.native_handle(), held.first(due).data(), due,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      on.passed += static_cast<size_t>(sent);
      held.gone(static_cast<size_t>(sent), on.treatment, now);
    } else if (errno != EINTR) {
      if (try_again())
        wait_writable(direction);
      else
        sink_broke(direction);
      return;
    }
  }
}

// Whoever sends to it must be told, as it would be without us: if it is still to be heard from, it itself
// says so when it has been read to its end.
void Connection::sink_broke(Direction direction) {
  sink(direction).broken = true;
  swallow(direction);
  Stream& back = stream(opposite(direction));
  if (back.end != End::kClosed) return;
  back.end = End::kReset;
  back.told = false;
  move_on(opposite(direction));
}

void Connection::tell_end(Direction direction, Time now) {
  Stream& ended = stream(direction);
  const Treatment& treatment = way(direction).treatment;
  if (closed_ || ended.end == End::kNone) return;
  const bool held_up = treatment.kind == Kind::kStall || treatment.kind == Kind::kDrop || !ended.held.empty();
  if (!held_up && !ended.told) {
    const Time due = treatment.kind == Kind::kDelay ? later(ended.ended_at, treatment.delay) : now;
    if (due > now) {
      wait_until(direction, due);
      return;
    }
    ended.told = true;
    if (ended.end == End::kReset) {
      end(Ending::kReset);
      return;
    }
    asio::error_code ignored;
    sink(direction).socket.shutdown(tcp::socket::shutdown_send, ignored);
  }
  if (settled(Direction::kForward) && settled(Direction::kBackward)) end(Ending::kClosed);
}

// Its source has said its last, and its sink knows it, or is not to know, or cannot be told any more.
bool Connection::settled(Direction direction) {
  const Stream& ended = stream(direction);
  return ended.end != End::kNone &&
         (ended.told || sink(direction).broken || way(direction).treatment.kind == Kind::kDrop);
}

void Connection::wait_writable(Direction direction) {
  Side& to = sink(direction);
  to.waits_writable = true;
  to.socket.async_wait(tcp::socket::wait_write,
                       [self = weak_from_this(), direction](const asio::error_code& error) {
                         const auto connection = self.lock();
                         if (!connection || connection->closed_) return;
                         connection->sink(direction).waits_writable = false;
                         if (!error) connection->move_on(direction);
                       });
}

void Connection::wait_until(Direction direction, Time at) {
  if (at == kNever) return;
  asio::steady_timer& timer = stream(direction).timer;
  timer.expires_at(at);
  timer.async_wait([self = weak_from_this(), direction](const asio::error_code& error) {
    const auto connection = self.lock();
    if (!error && connection) connection->move_on(direction);
  });
}

void Connection::end(Ending how) {
  if (closed_) return;
  if (how == Ending::kClosed) {
    closed_ = true;
    asio::error_code ignored;
    for (Side& side : sides_) side.socket.close(ignored);
    for (Stream& one : streams_) one.timer.cancel();
  } else {
    reset();
  }
  ended_(how);
}

void Connection::reset() {
  if (closed_) return;
  closed_ = true;
  asio::error_code ignored;
  for (Side& side : sides_) {
    side.socket.set_option(asio::socket_base::linger(true, 0), ignored);
    side.socket.close(ignored);
  }
  for (Stream& one : streams_) one.timer.cancel();
}

}  // namespace redoubt::lab
