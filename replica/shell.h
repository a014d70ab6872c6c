// Shell: the replica's contact with the world: links to the brokers, one timer, the workers. It turns what
// happens into events for the core and does the core's effects in order; it decides nothing. One thread runs
// it.
#pragma once

#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/address.h"
#include "net/dialer.h"
#include "net/link.h"
#include "net/loop.h"
#include "replica/handler.h"
#include "replica/replica.h"
#include "replica/workers.h"

namespace redoubt::replica {

// What the program around the shell makes of it. Both are called on the shell's thread.
struct Reports {
  std::function<void(const std::string& broker)> ready;  // registered for the first time
  enum class Level : uint8_t { kInfo, kWarning };
  std::function<void(Level, const std::string& text)> log;
};

class Shell final : net::LinkUser {
 public:
  // `settings.services` and `.brokers` are taken from the other two.
  Shell(std::vector<Address> brokers, Duration busy_poll, Settings settings, std::vector<Service> services,
        Reports reports, Workers::Hooks hooks = {});
  ~Shell() override;

  // Until it has been asked to stop and everything is said.
  void run();
  // Any thread may ask.
  void ask_stop();

  asio::io_context& io() { return loop_.io(); }

 private:
  struct Broker {
    std::unique_ptr<net::Dialer> dialer;
    std::shared_ptr<net::Link> link;
    uint32_t generation = 0;
    bool registered = false;
    std::string told;  // the last trouble that was logged: each is logged once, not at every try
  };

  void on_message(net::Link& link, wire::Message& message) override;
  void on_lost(net::Link& link, wire::CloseReason reason, const std::string& text) override;
  void on_connected(uint32_t broker, asio::ip::tcp::socket socket);
  void on_worker();

  Time now();
  void happened(Time now, Event event);
  void perform(Send& effect);
  void perform(Admit& effect);
  void perform(CloseLink& effect);
  void perform(Registered& effect);
  void perform(StartCopy& effect);
  void perform(StopCopy& effect);
  void perform(Warn& effect);
  void perform(Finished& effect);

  net::Link* find(LinkId link);
  void left(uint32_t broker);
  void tell(uint32_t broker, const std::string& trouble);
  void watch();
  void arm();
  void drain();

  net::Loop loop_;
  const std::vector<Service> services_;
  const uint32_t workers_count_;
  Replica core_;
  Reports reports_;
  std::vector<Broker> brokers_;
  asio::steady_timer timer_, watch_, drain_;
  Time armed_ = kNever;
  Time drain_until_ = kNever;
  Time newest_;  // of the core's times
  Effects effects_;
  std::vector<Event> from_workers_;
  bool ready_ = false, leaving_ = false;
  std::unique_ptr<Workers> workers_;  // the last member: its threads use the others
};

}  // namespace redoubt::replica
