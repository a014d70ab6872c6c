// Shell: carries a broker. Links in, events to the core, effects out, one timer. It decides nothing about
// requests. One thread runs it; snapshot() may be called from any other.
#pragma once

#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "broker/broker.h"
#include "broker/connection.h"
#include "broker/snapshot.h"
#include "core/slab.h"
#include "net/listener.h"
#include "net/loop.h"

namespace redoubt::broker {

struct ShellSettings {
  std::string cluster = "redoubt";
  uint32_t max_clients = kDefaultMaxClients;
};

class Shell {
 public:
  // Told about what an operator wants to see: the log and the event stream.
  using Observer = std::function<void(const Note&)>;
  // Turns a snapshot into status text somewhere else, then calls back with it from any thread.
  using StatusWriter = std::function<void(Snapshot, std::function<void(std::string)>)>;

  Shell(Settings settings, ShellSettings shell_settings, Observer observer);
  ~Shell();

  // Returns an empty text, or why it cannot listen.
  std::string listen(const std::string& host, uint16_t port) { return listener_.listen(host, port); }
  std::string address() const { return listener_.address(); }
  void set_name(std::string name) { broker_.set_name(std::move(name)); }
  wire::Epoch epoch() const { return broker_.state().epoch; }
  void write_status_with(StatusWriter writer) { status_writer_ = std::move(writer); }

  void run();

  // Graceful: no new connections and requests; ends when what is here has been answered, or at the latest
  // after `limit`. Again: at once. From the loop's thread.
  void stop(Duration limit);

  // A copy of what an observer may see, taken between two turns; nothing if the loop does not answer in time.
  std::unique_ptr<Snapshot> snapshot();

  net::Loop& loop() { return loop_; }

  // For connections.
  void step(const Event& event);
  void close(Connection& connection, wire::CloseReason reason, const std::string& text);
  void lost(Connection& connection, wire::CloseReason reason, const std::string& text);
  void answer_status(Connection& connection);
  const std::string& cluster() const { return shell_settings_.cluster; }
  const Settings& settings() const { return broker_.state().settings; }
  wire::Welcome welcome();
  bool clients_full() const { return clients_ >= shell_settings_.max_clients; }
  void greeted(const Connection& connection);

 private:
  struct Slot {
    std::unique_ptr<Connection> connection;
  };
  struct Stranger {
    Time until;
    LinkId link;
  };

  void accepted(asio::ip::tcp::socket socket);
  Connection* find(LinkId id);
  void forget(Connection& connection);
  void carry_out(Effect& effect);
  void turn_end();
  void arm();
  void close_strangers();
  bool all_is_answered();
  void write_status();
  Snapshot take_snapshot();
  void finish();

  net::Loop loop_;
  Broker broker_;
  ShellSettings shell_settings_;
  Observer observer_;
  StatusWriter status_writer_;
  net::Listener listener_;
  asio::steady_timer timer_;
  Time armed_ = kNever;
  Slab<Slot> connections_;
  std::vector<std::unique_ptr<Connection>>
      closed_;                      // until the turn ends: a closed link may still be on the stack
  std::deque<Stranger> strangers_;  // in order of their time limits
  uint32_t clients_ = 0;
  uint32_t in_handshake_ = 0;
  std::vector<LinkId> status_askers_;
  bool writing_status_ = false;
  Effects effects_;
  bool carrying_out_ = false;
  LinkCounters links_;
  bool stopping_ = false;
  Time stop_at_ = kNever;
};

}  // namespace redoubt::broker
