// Loop: one thread's turns. In a turn everything that is ready is handled, then everything that the turn
// produced is written: one write a link, whatever the number of messages. Owns the memory that the thread's
// links share. All calls from the thread that runs it, except stop() and io(), which any thread may use.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "core/time.h"
#include "net/busy_poll.h"
#include "wire/message.h"
#include "wire/outbox.h"

namespace redoubt::net {

class Link;

class Loop {
 public:
  // `busy_poll`: see BusyPoll.
  explicit Loop(Duration busy_poll = Duration::zero());
  ~Loop();

  // Runs turns until stop(). `turn_end` is called once in every turn, before the writes.
  void run(const std::function<void()>& turn_end);
  void stop() { io_.stop(); }

  asio::io_context& io() { return io_; }

  // The newest clock reading of this turn: what its decisions go by. Read when the first handler asks, and
  // again by whoever receives something.
  Time now() { return now_is_read_ ? now_ : read_clock(); }

  // For whoever has just received something: it must not seem to have come before it was sent, however long
  // this turn is (or this process stood still) already.
  Time read_clock() {
    now_ = Clock::now();
    now_is_read_ = true;
    return now_;
  }

  // A link broke: its owner may have decided something after the turn's end.
  void lost_a_link() { lost_a_link_ = true; }

  // A link has received this many bytes.
  void received(size_t bytes) { received_ += bytes; }

  // What the links of this thread share.
  wire::ChunkPool& chunks() { return chunks_; }
  std::vector<char>& read_buffer() { return read_buffer_; }
  void wants_flush(std::weak_ptr<Link> link) { dirty_.push_back(std::move(link)); }

 private:
  bool wait();
  void flush();

  asio::io_context io_;
  BusyPoll busy_poll_;
  Time now_;
  bool now_is_read_ = false;
  unsigned turns_ = 0;
  bool several_ready_ = false;
  size_t received_ = 0;  // in this turn
  bool lost_a_link_ = false;
  wire::ChunkPool chunks_;
  std::vector<char> read_buffer_;
  std::vector<std::weak_ptr<Link>> dirty_, flushing_;
};

}  // namespace redoubt::net
