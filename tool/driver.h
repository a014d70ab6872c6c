// Driver: one client of a bench and the load it makes: closed (so many outstanding, the next is sent from the
// completion of the last) or open (sent when its time has come, whatever is outstanding). Everything runs on
// the client's thread.
#pragma once

#include <asio/steady_timer.hpp>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "client/client.h"
#include "tool/account.h"
#include "tool/arrivals.h"
#include "tool/gap_meter.h"
#include "tool/history.h"

namespace redoubt::tool {

struct Load {
  Request request;
  uint64_t window = 0;  // outstanding; 0: open loop
  std::optional<Arrivals> arrivals;
  std::optional<uint64_t> requests;  // to send
  std::optional<Duration> duration;  // of sending
};

class Driver {
 public:
  // How long past a deadline a broker's word on it is waited for; who says nothing by then has lost the
  // request.
  static constexpr Duration kOvertime = std::chrono::milliseconds(250);

  Driver(ClientOptions options, Load load, GapMeter& gap, HistoryFile* history);
  ~Driver();

  // From another thread.
  void start(Time at);
  void stop_sending();
  // Everything sent has ended, and nothing more will be sent.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Ends what is open; to be called before account() if the driver is not done.
  void close();
  bool connected() const { return client_->connected(); }
  std::string connection() const { return client_->connection(); }

  // For a progress bar.
  uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  uint64_t answered() const { return answered_.load(std::memory_order_relaxed); }

  // When it is done or closed.
  const Account& account() const { return account_; }
  void read_stats();

 private:
  void begin(Time at);
  void fill(Time now);
  void pace();
  void wait_for_next();
  void send(Time now, Time intended);
  void ended(const Reply& reply, Time intended);
  bool may_send(Time now) const;
  void finish_if_over(Time now);

  Load load_;
  const Limits limits_;
  GapMeter& gap_;
  Account account_;
  std::unique_ptr<History> history_;

  uint64_t open_ = 0;
  Time began_, ends_ = kNever;
  std::optional<Time> next_;  // in the open loop
  bool stopped_ = false;
  bool rare_ = false;  // the timer was set early: what is left is waited out between turns
  std::atomic<uint64_t> sent_{0}, answered_{0};
  std::atomic<bool> done_{false};

  std::unique_ptr<Client> client_;
  std::optional<asio::steady_timer> timer_;  // lives and ends on the client's thread
};

}  // namespace redoubt::tool
