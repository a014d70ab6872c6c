// Workers: the threads that run handlers. Each copy is looked at once more, with a fresh clock, right before
// its handler is called. What ends is collected by the shell in batches: only the first of a batch wakes it.
// All calls from the shell's thread; the handlers and `wake` are called on the workers' threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "replica/effect.h"
#include "replica/event.h"
#include "replica/handler.h"

namespace redoubt::replica {

// Thrown by a handler that found, before it began to work, that the copy's time is over.
struct ExpiredBeforeStart {};

// Runs one copy on the calling thread, unless it is too late. `announce` is called shortly before the handler
// for copies that want it told.
CopyEnded run_copy(const Service& service, StartCopy& work, const std::stop_token& stop, uint32_t worker,
                   const std::function<void()>& announce);

class Workers {
 public:
  struct Hooks {
    std::function<void()> wake;  // there is something to collect, for the first time since collect()
    std::function<void(uint32_t)>
        prepared;  // called once by each worker's thread before its first copy; may be empty
    std::function<void(uint32_t)> done;  // and after its last; may be empty
  };

  Workers(const std::vector<Service>& services, uint32_t count, Hooks hooks);
  // Asks everything to stop and waits for it.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Hands the copy to a free worker: the caller never has more copies out than there are workers.
  void start(StartCopy work);
  void stop(CopyHandle copy);

  // Moves what happened since the last call to `out`, which must be empty.
  void collect(std::vector<Event>& out);

 private:
  struct Slot {
    CopyHandle copy;
    std::stop_source stop;
    bool stopped = false;  // its stop_source is used up
  };
  struct Given {
    StartCopy work;
    bool stopped = false;
  };

  void work(uint32_t worker);
  bool take(uint32_t worker, StartCopy& work, std::stop_token& stop);
  void report(Event event);

  const std::vector<Service>& services_;
  const Hooks hooks_;
  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<Given> pending_;    // guarded by mutex_, as are
  std::vector<Slot> slots_;      // this,
  std::vector<Event> happened_;  // this
  bool ending_ = false;          // and this
  std::vector<std::thread> threads_;
};

}  // namespace redoubt::replica
