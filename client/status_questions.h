// StatusQuestions: who waits for a broker's status, and for whom of them a question is out. One question at a
// time, for all who wait by then; what was asked on another link is asked again, for its answer may never
// come. Whom to ask, and when, is the shell's business.
//
// All calls from the client's thread; only a Waiter is shared with the thread that asks. At most
// kMostQuestions wait; one more is told at once that there is no answer. Who has given up may count among
// them until the answer comes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "core/time.h"
#include "net/link.h"
#include "wire/message.h"

namespace redoubt::client {

class StatusQuestions {
 public:
  // One status_json() that waits. Any thread may call it.
  class Waiter {
   public:
    // Blocks for so long at most. True: it has been told the answer, or that there is none.
    bool wait_for(Duration time);
    // Waits no longer. The answer as JSON; empty if none has come.
    std::string take();

   private:
    friend class StatusQuestions;
    void finish(std::string json);
    bool is_abandoned();

    std::mutex mutex_;  // guards all below
    std::condition_variable changed_;
    bool done_ = false, abandoned_ = false;
    std::string json_;
  };

  // It waits from now on; ask() asks for it.
  void add(std::shared_ptr<Waiter> waiter);

  // Asks on this link for all who wait, if any do, unless a question is out on it already.
  void ask(net::Link& link);

  // This link's broker has answered. False: there was never a link to ask on, and it has no place here.
  bool answered(net::Link& link, const wire::StatusReply& status);

  // Whoever waits is told that there is no answer.
  void stop();

 private:
  std::deque<std::shared_ptr<Waiter>> waiters_;
  size_t asked_ = 0;   // the first of them wait for the answer to a question that is out
  uint64_t link_ = 0;  // the last that ask() was given; 0: none yet
};

}  // namespace redoubt::client
