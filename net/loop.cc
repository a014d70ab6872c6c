// The turns of a thread; see loop.h.
#include "net/loop.h"

#include <asio/executor_work_guard.hpp>
#include <thread>

#include "net/limits.h"
#include "net/link.h"

namespace redoubt::net {

Loop::Loop(Duration busy_poll) : io_(1), busy_poll_(busy_poll), read_buffer_(kBytesATurn) {}
Loop::~Loop() = default;

void Loop::run(const std::function<void()>& turn_end) {
  const auto work = asio::make_work_guard(io_);
  while (!io_.stopped()) {
    now_is_read_ = false;
    received_ = 0;
    if (!wait()) break;
    // Asking whether more is ready costs a system call: only where more was ready lately, or now and then.
    if (several_ready_ || ++turns_ % kLookEvery == 0) {
      int more = 0;
      while (more + 1 < kHandlersATurn && received_ < kBytesATurn && io_.poll_one() > 0) ++more;
      several_ready_ = more > 0;
    }
    // A link that breaks while it is written to is news after the end: the turn then ends once more.
    do {
      lost_a_link_ = false;
      turn_end();
      flush();
    } while (lost_a_link_);
  }
}

// For the first handler of a turn, and runs it. False: stopped.
bool Loop::wait() {
  if (busy_poll_.is_off()) return io_.run_one() > 0;
  const Time from = Clock::now();
  const Time until = from + busy_poll_.limit(from);
  for (Time now = from; now < until; now = Clock::now()) {
    if (io_.poll_one() > 0) return true;
    if (io_.stopped()) return false;
    // Whoever has something to do here goes first: with fewer processors than threads it may be the one that
    // we wait for.
    std::this_thread::yield();
  }
  return io_.run_one() > 0;
}

void Loop::flush() {
  // A link that breaks while it is written to may make its owner write to others.
  while (!dirty_.empty()) {
    std::swap(dirty_, flushing_);
    for (const std::weak_ptr<Link>& dirty : flushing_)
      if (const auto link = dirty.lock()) link->flush();
    flushing_.clear();
  }
}

}  // namespace redoubt::net
