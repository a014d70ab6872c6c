// Link: one TCP connection that carries frames. Reads into memory shared by the whole thread, so an idle link
// costs little; collects what is sent and writes it once a turn. All calls from the loop's thread.
#pragma once

#include <asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "net/limits.h"
#include "net/loop.h"
#include "net/unsent.h"
#include "wire/codec.h"

namespace redoubt::net {

// Who a link reports to. It must outlive the link or close it.
class LinkUser {
 public:
  virtual ~LinkUser() = default;
  // A frame has arrived. The message's memory is used again after the call: move out what is to stay. The
  // user may close this link in the call.
  virtual void on_message(Link& link, wire::Message& message) = 0;
  // The link is gone, and not because close() was called here: the peer left, broke the protocol or was too
  // slow. The last call about this link.
  virtual void on_lost(Link& link, wire::CloseReason reason, const std::string& text) = 0;
};

class Link : public std::enable_shared_from_this<Link> {
 public:
  // `id` is the user's name for it.
  Link(Loop& loop, asio::ip::tcp::socket socket, LinkUser& user, uint64_t id);
  ~Link();

  void start();

  template <class Message>
  void send(const Message& message) {
    if (closed_) return;
    wire::encode(message, out_);
    out_.end_frame();
    mark_dirty();
  }

  // Signs of life and votes: where the socket takes nothing more just now, they go before every frame that
  // has not been begun.
  template <class Message>
  void send_first(const Message& message) {
    // A peer that reads nothing is not told again and again that we live.
    if (closed_ || first_.bytes() > kSendFirstLimit) return;
    wire::Outbox& out = waits_writable_ ? first_ : out_;
    wire::encode(message, out);
    out.end_frame();
    mark_dirty();
  }

  // Says goodbye with the reason, as far as the socket takes it, and closes. No on_lost follows.
  void close(wire::CloseReason reason, std::string text);

  // After the handshake: what this peer may send.
  void set_max_payload(uint64_t bytes) { decoder_.set_max(bytes); }

  // What waits here is counted there from now on, as of the end of every turn.
  void count_in(Unsent& unsent);

  // Reads nothing while paused; what has been read already is still handed over. The peer's end of the link
  // is noticed when reading goes on.
  void pause_reading(bool paused);

  // The message being handled had a payload over the limit, which is missing.
  bool payload_skipped() const { return decoder_.payload_skipped(); }

  uint64_t id() const { return id_; }
  bool closed() const { return closed_; }
  const std::string& peer() const { return peer_; }  // "address:port"
  size_t unsent() const { return first_.bytes() + out_.bytes(); }
  size_t own_unsent() const { return first_.own_bytes() + out_.own_bytes(); }  // see Outbox

 private:
  friend class Loop;

  void flush();
  void write_what_waits();
  void count();
  ssize_t write_some();
  void mark_dirty();
  void wait_readable();
  void wait_writable();
  void on_readable();
  bool take_in(std::string_view bytes);
  void lose(wire::CloseReason reason, std::string text);
  void close_socket();

  Loop& loop_;
  asio::ip::tcp::socket socket_;
  LinkUser& user_;
  const uint64_t id_;
  std::string peer_;
  wire::Decoder decoder_;
  wire::Outbox first_, out_;
  Unsent* unsent_ = nullptr;
  Unsent::Place counted_;
  // The message being read: a link mostly carries one kind, whose memory is used again.
  wire::Message inbox_;
  std::string goodbye_;  // the peer's last words
  bool dirty_ = false;
  bool waits_readable_ = false, paused_ = false;
  bool waits_writable_ = false;
  bool closing_ = false;  // the goodbye is being written
  bool closed_ = false;
};

// "127.0.0.1:7400", "[::1]:7400"
std::string to_text(const asio::ip::tcp::endpoint& endpoint);

}  // namespace redoubt::net
