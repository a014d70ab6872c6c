// Shell: carries a broker. Links in, events to the core, effects out, one timer. It decides nothing about
// requests. One thread runs it; snapshot() may be called from any other.
#pragma once

#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "broker/connection.h"
#include "broker/memory_file.h"
#include "broker/node.h"
#include "broker/snapshot.h"
#include "core/address.h"
#include "core/slab.h"
#include "net/dialer.h"
#include "net/listener.h"
#include "net/loop.h"
#include "net/unsent.h"

namespace redoubt::broker {

struct ShellSettings {
  std::string cluster = "redoubt";
  uint32_t max_clients = kDefaultMaxClients;
  Duration busy_poll = net::kBusyPoll;
  // Where the other brokers are: by number in the group, from 1 (this broker's own is not dialled); of a
  // broker outside the group, those that it is to follow.
  std::vector<Address> others;
};

class Shell {
 public:
  // Told about what an operator wants to see: the log and the event stream.
  struct Observer {
    std::function<void(const Note&)> note;
    std::function<void(const RoleChanged&)> role;
  };
  // Turns a snapshot into status text somewhere else, then calls back with it from any thread.
  using StatusWriter = std::function<void(Snapshot, std::function<void(std::string)>)>;

  // `file`: where votes are written down; none for a broker that is alone or outside its group.
  Shell(Settings settings, GroupSettings group, Memory memory, ShellSettings shell_settings,
        Observer observer, std::unique_ptr<MemoryFile> file);
  ~Shell();

  // Returns an empty text, or why it cannot listen.
  std::string listen(const std::string& host, uint16_t port) { return listener_.listen(host, port); }
  std::string address() const { return listener_.address(); }
  // Before begin(): what this broker is called, when it is not told.
  void set_name(const std::string& name);
  // The first step: dials the others. One that is alone rules when it returns.
  void begin();
  BrokerRole role() const { return node_.role(); }
  void write_status_with(StatusWriter writer) { status_writer_ = std::move(writer); }

  void run();

  // Graceful: a manager hands over to a standby; one that has none takes no new connections and requests and
  // ends when what is here has been answered, or at the latest after `limit`. Again: at once. From the loop's
  // thread.
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
  const Settings& settings() const { return node_.settings(); }
  wire::Welcome welcome();
  wire::Hello hello();
  wire::Enlist enlistment() const;
  bool clients_full() const { return clients_ >= shell_settings_.max_clients; }
  void greeted(Connection& connection);
  // The first sign of life of a broker on this link.
  void proved(const Connection& connection);

 private:
  struct Slot {
    std::unique_ptr<Connection> connection;
  };
  struct Stranger {
    Time until;
    LinkId link;
  };

  // Why a dialler led to nothing last, at either end: logged once, not at every try. Apart, for one name can
  // stand for an address that lets nobody in and one that is no broker, by turns.
  struct Told {
    std::string unreached, unlinked;
  };

  void accepted(asio::ip::tcp::socket socket);
  Connection* find(LinkId id);
  void forget(Connection& connection);
  void carry_out(Effect& effect);
  void turn_end();
  void arm();
  bool refused_before(const std::string& who, const std::string& why);
  void close_strangers();

  // shell_unread.cc
  void bound_unread();
  void bound_unread_by_peers(size_t limit);
  void close_who_read_least(const std::vector<net::Unsent::Share>& who, size_t limit, const char* kind);

  bool all_is_answered();
  void write_status();
  Snapshot take_snapshot();
  void add_unreached(Snapshot& view);
  void finish();

  // shell_group.cc
  void make_dialers();
  void dialled(uint32_t dialler, asio::ip::tcp::socket socket);
  void dial_again(uint32_t dialler);
  void carry_out(const Dial& dial);
  void carry_out(const Persist& persist);
  void announce(const Announce& announce);
  void hold_reads(bool held);
  bool send_to_brokers(const Effect& effect);

  net::Loop loop_;
  Node node_;
  ShellSettings shell_settings_;
  Observer observer_;
  StatusWriter status_writer_;
  net::Listener listener_;
  asio::steady_timer timer_;
  Time armed_ = kNever;
  std::vector<std::unique_ptr<net::Dialer>> dialers_;  // null at this broker's own place
  std::map<std::string, std::string> refused_;         // who by name or host, and why
  std::vector<Told> told_;                             // of each of them
  std::unique_ptr<MemoryFile> file_;
  std::vector<uint64_t> written_;  // without a file: what has been asked for in this step
  bool reads_held_ = false;
  net::Unsent unread_, unread_by_peers_;  // by clients; by replicas and brokers
  Time look_at_peers_{};
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
