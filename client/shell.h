// Shell: one client's thread. Runs the links and the timer, hands the session what happens and carries out
// its effects. Calls from other threads come through a locked queue with one wake-up for all that gather in
// it; calls made on the thread itself go straight in. More calls than the session could take are refused
// without being kept; who makes still more waits until the thread has taken them. Decides nothing.
#pragma once

#include <asio/steady_timer.hpp>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "client/broker_links.h"
#include "client/client.h"
#include "client/limits.h"
#include "client/recycled.h"
#include "client/session.h"
#include "client/status_questions.h"
#include "net/loop.h"

namespace redoubt::client {

// The numbers of calls that can be cancelled together. Only the client's thread looks at them.
struct Ticket {
  uint64_t first = 0, count = 0;
  std::atomic<bool> cancel_queued = false;  // one wish to cancel is as good as many
};

struct ShellSettings {
  std::vector<Address> brokers;
  Greeting greeting;
  Duration overtime{};
  Duration busy_poll{};
  size_t queue_limit = kMaxUnsettled;  // calls from other threads on their way to the client's
};

class Shell : public std::enable_shared_from_this<Shell>, private BrokersUser {
 public:
  explicit Shell(ShellSettings settings);

  // The thread keeps the shell alive until stop().
  void start();
  // Ends everything. Waits for the thread, unless this is it.
  void stop();

  // From any thread. The ticket may be null.
  void call(const Request& request, Completion<Reply> completion, std::shared_ptr<Ticket> ticket);
  void call_batch(std::span<const Request> requests, Completion<std::vector<Reply>> completion,
                  std::shared_ptr<Ticket> ticket);
  void cancel(std::shared_ptr<Ticket> ticket);

  std::string status_json(Duration timeout);
  bool connected();
  std::string connection();
  ClientStats stats();

  bool on_own_thread() const {
    return std::this_thread::get_id() == thread_id_.load(std::memory_order_relaxed);
  }
  uint64_t incarnation() const { return incarnation_; }
  uint64_t next_seq() const { return session_.next_seq(); }
  asio::io_context::executor_type executor() { return loop_.io().get_executor(); }

 private:
  struct Call {
    Completion<Reply> completion;
  };
  struct Command {
    enum class Kind : uint8_t { kCall, kRefuse, kCancel } kind = Kind::kCall;
    Request request;
    Completion<Reply> completion;
    std::shared_ptr<Ticket> ticket;
    Time started;
  };

  void run();
  void turn_end();
  void on_timer();
  void finish();
  void begin(Time started, const Request& request, Completion<Reply> completion, Ticket* ticket);
  void cancel_here(const Ticket& ticket);
  Command& place(std::unique_lock<std::mutex>& lock, bool& sleeps);
  void fill(Command& command, Time started, const Request& request, Completion<Reply> completion,
            std::shared_ptr<Ticket> ticket);
  void wake();
  void take_in();
  void run_completions();
  void send_frames(net::Link& link);
  void arm_timer();
  void post_turn();
  // Runs it on the thread and waits for it; directly if this is the thread.
  void on_thread(const std::function<void()>& action);

  void broker_up(net::Link& link, uint64_t max_payload) override;
  void broker_down() override;
  bool broker_said(net::Link& link, wire::Message& message) override;

  const uint64_t incarnation_;
  const size_t most_calls_, most_commands_;  // in queue_
  net::Loop loop_;
  asio::steady_timer timer_;
  Time armed_ = kNever;
  Session session_;
  BrokerLinks brokers_;

  Slab<Call> calls_;
  Recycled<Complete> completing_;

  std::mutex mutex_;  // guards queue_
  std::condition_variable taken_;
  Recycled<Command> queue_;
  Recycled<Command> taking_;

  StatusQuestions status_questions_;

  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};
};

}  // namespace redoubt::client
