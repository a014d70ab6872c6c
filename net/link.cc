// One connection; see link.h. Receives and sends with the socket calls themselves: the loop only tells when
// to.
#include "net/link.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/utf8.h"
#include "wire/limits.h"

namespace redoubt::net {

using wire::CloseReason;
using wire::kWriteLimit;

std::string to_text(const asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

namespace {
std::string slow_text() {
  return "more than " + std::to_string(kWriteLimit >> 20) + " MiB wait to be written to it";
}

// A host that vanishes without a word (power, cable) is noticed by the kernel's own probes: clients get no
// heartbeats. A process that is merely stopped is not: its kernel answers.
void watch(int socket) {
  const int yes = 1, idle_s = 5, pause_s = 2, probes = 3, unanswered_ms = 60000;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &pause_s, sizeof pause_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}
}  // namespace

Link::Link(Loop& loop, asio::ip::tcp::socket socket, LinkUser& user, uint64_t id)
    : loop_(loop),
      socket_(std::move(socket)),
      user_(user),
      id_(id),
      first_(loop.chunks()),
      out_(loop.chunks()) {
  asio::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  watch(socket_.native_handle());
  const auto remote = socket_.remote_endpoint(ignored);
  peer_ = ignored ? "a peer that has left" : to_text(remote);
}

Link::~Link() { close_socket(); }

void Link::start() { wait_readable(); }

void Link::mark_dirty() {
  if (dirty_) return;
  dirty_ = true;
  loop_.wants_flush(weak_from_this());
}

void Link::pause_reading(bool paused) {
  paused_ = paused;
  if (!paused && !closed_ && !waits_readable_) wait_readable();
}

void Link::wait_readable() {
  waits_readable_ = true;
  socket_.async_wait(asio::socket_base::wait_read, [self = weak_from_this()](const asio::error_code& error) {
    const auto link = self.lock();
    if (error || !link || link->closed_) return;
    link->waits_readable_ = false;
    if (link->paused_) return;
    link->on_readable();
    if (!link->closed_ && !link->paused_ && !link->waits_readable_) link->wait_readable();
  });
}

void Link::on_readable() {
  // A large payload is received in place; what follows it, and everything small, into the thread's buffer.
  const std::span<char> direct = decoder_.direct();
  std::vector<char>& buffer = loop_.read_buffer();
  std::array<iovec, 2> pieces;
  pieces[0] = {direct.data(), direct.size()};
  pieces[1] = {buffer.data(), buffer.size()};
  const bool in_place = !direct.empty();
  const ssize_t received =
      ::readv(socket_.native_handle(), in_place ? pieces.data() : &pieces[1], in_place ? 2 : 1);
  if (received < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
    lose(CloseReason::kNone, std::strerror(errno));
    return;
  }
  if (received == 0) {
    lose(CloseReason::kNone, goodbye_.empty() ? "closed by the peer" : "closed by the peer: " + goodbye_);
    return;
  }
  loop_.read_clock();
  loop_.received(static_cast<size_t>(received));
  size_t rest = static_cast<size_t>(received);
  if (in_place) {
    const size_t placed = std::min(rest, direct.size());
    decoder_.received_direct(placed);
    rest -= placed;
  }
  take_in({buffer.data(), rest});
}

bool Link::take_in(std::string_view bytes) {
  decoder_.feed(bytes);
  for (;;) {
    wire::Message& message = inbox_;
    switch (decoder_.next(message)) {
      case wire::Decoded::kNeedMore:
        return true;
      case wire::Decoded::kBad:
        lose(decoder_.why(), decoder_.bad_text());
        return false;
      case wire::Decoded::kMessage:
        break;
    }
    if (auto* goodbye = std::get_if<wire::Goodbye>(&message)) {
      // It is logged and shown as part of a line.
      goodbye->text = one_line(goodbye->text, wire::kMaxTextBytes);
      goodbye_ = std::string(wire::name_of(goodbye->reason)) + ": " + goodbye->text;
    }
    user_.on_message(*this, message);
    if (closed_) return false;
    // A large batch is rare, and its memory would stay with an idle link.
    if (const auto* submit = std::get_if<wire::Submit>(&message); submit && submit->requests.capacity() > 16)
      message = std::monostate{};
  }
}

void Link::count_in(Unsent& unsent) {
  unsent_ = &unsent;
  count();
}

void Link::count() {
  if (unsent_) unsent_->set(id_, counted_, unsent());
}

void Link::flush() {
  dirty_ = false;
  write_what_waits();
  count();
}

void Link::write_what_waits() {
  // A socket that takes nothing is asked again when it does.
  if (waits_writable_ && !closing_) {
    if (unsent() > kWriteLimit) lose(CloseReason::kSlow, slow_text());
    return;
  }
  while (!closed_ && unsent() > 0) {
    if (write_some() >= 0) continue;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (closing_) return;
      if (unsent() > kWriteLimit)
        lose(CloseReason::kSlow, slow_text());
      else
        wait_writable();
      return;
    }
    // What the peer sent before it broke may still be read; the read side will see the end.
    first_.clear();
    out_.clear();
    return;
  }
}

// What goes first goes between two frames.
ssize_t Link::write_some() {
  const size_t begun = first_.empty() ? 0 : out_.begun();
  wire::Outbox& from = first_.empty() || begun > 0 ? out_ : first_;
  std::array<iovec, 64> pieces;
  msghdr header{};
  header.msg_iov = pieces.data();
  header.msg_iovlen = begun > 0 ? from.gather(pieces, begun) : from.gather(pieces);
  const ssize_t sent = ::sendmsg(socket_.native_handle(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) from.consume(static_cast<size_t>(sent));
  return sent;
}

void Link::wait_writable() {
  waits_writable_ = true;
  socket_.async_wait(asio::socket_base::wait_write, [self = weak_from_this()](const asio::error_code& error) {
    const auto link = self.lock();
    if (!link || link->closed_) return;
    link->waits_writable_ = false;
    if (!error) link->flush();
  });
}

void Link::lose(CloseReason reason, std::string text) {
  if (closed_) return;
  const auto self = shared_from_this();
  loop_.lost_a_link();
  if (reason != CloseReason::kNone)
    close(reason, text);
  else
    close_socket();
  user_.on_lost(*this, reason, text);
}

void Link::close(CloseReason reason, std::string text) {
  if (closed_ || closing_) return;
  closing_ = true;
  text.resize(std::min<size_t>(text.size(), 1024));
  if (!waits_writable_) {
    wire::encode(wire::Goodbye{reason, std::move(text)}, out_);
    flush();
  }
  // Unread bytes would turn the close into a reset, and a reset can overtake the goodbye.
  // Not the thread's buffer: this may be called while another link's bytes in there are being read.
  std::array<char, 16 * 1024> sink;
  for (int i = 0; i < 16 && !closed_; ++i)
    if (::recv(socket_.native_handle(), sink.data(), sink.size(), MSG_DONTWAIT) <= 0) break;
  close_socket();
}

void Link::close_socket() {
  if (closed_) return;
  closed_ = true;
  asio::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
  first_.clear();
  out_.clear();
  count();
}

}  // namespace redoubt::net
