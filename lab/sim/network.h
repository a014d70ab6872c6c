// Network: connections between hosts as TCP gives them: reliable and in order, or lost; with delays, and with
// faults between two hosts. Messages travel as values. A host that is paused or does not read leaves them
// lying; between hosts that are cut nothing is delivered until the cut heals.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/sim/world.h"
#include "wire/message.h"

namespace redoubt::sim {

using HostId = uint32_t;
using ConnId = uint64_t;

// What the network tells a process.
class Host {
 public:
  virtual ~Host() = default;
  virtual void accepted(ConnId conn) = 0;
  virtual void connected(ConnId conn, HostId peer) = 0;
  // `refused`: the host answers that nobody listens; else nobody answers.
  virtual void unreachable(HostId peer, bool refused) = 0;
  virtual void received(ConnId conn, wire::Message& message) = 0;
  virtual void lost(ConnId conn) = 0;
};

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  HostId add(Host& host) {
    hosts_.emplace_back().host = &host;
    return static_cast<HostId>(hosts_.size() - 1);
  }

  // ---- What processes do.
  void dial(HostId from, HostId to);
  void send(ConnId conn, HostId from, wire::Message message);
  // As Link::send_first(): it may overtake what has not left yet.
  void send_first(ConnId conn, HostId from, wire::Message message);
  // No more is read or written here; the peer learns when all that was sent before has arrived.
  void close(ConnId conn, HostId from);
  void hold(ConnId conn, HostId reader, bool held);

  // The process does this now, or when it runs again; never, if it is killed before.
  void run(HostId host, uint32_t epoch, std::function<void()> what);
  uint32_t epoch(HostId host) const { return hosts_[host].epoch; }

  // ---- What happens to them.
  void listen(HostId host, bool listens) {
    hosts_[host].listens = listens;
    hosts_[host].disturbed = world_.now();
  }
  // The process is gone: its connections end, with what it had not read; what it sent last may be lost.
  void kill(HostId host);
  void pause(HostId host, bool paused);
  void cut(HostId from, HostId to, bool is_cut);
  void slow(HostId from, HostId to, Duration extra) {
    extra_[{from, to}] = extra;
    disturb(from, to);
  }
  // All connections between the two are lost at both ends, with some of what was under way.
  void disconnect(HostId a, HostId b);
  void heal();
  bool paused(HostId host) const { return hosts_[host].paused; }
  HostId peer_of(ConnId conn, HostId self) const;
  // Since when nothing has happened to either of them, nor to the way between them.
  Time calm_since(HostId a, HostId b) const;

  // The longest a message takes without faults.
  static constexpr Duration kLongest = std::chrono::milliseconds(2);

 private:
  struct Packet {
    Time at;
    wire::Message message;
    bool end = false;
  };
  struct Side {
    HostId host = 0;
    bool open = true;
    bool held = false;
    std::deque<Packet> arriving;
    Time last_at{};
  };
  struct Conn {
    Side sides[2];
  };
  struct HostState {
    Host* host = nullptr;
    bool listens = false, paused = false;
    uint32_t epoch = 0;  // of the process
    std::vector<std::function<void()>> deferred;
    Time disturbed{};  // last
  };

  Side* side(ConnId conn, HostId host, bool mine);
  bool is_cut(HostId from, HostId to) const { return cuts_.count({from, to}) != 0; }
  Duration delay(HostId from, HostId to);
  void put(ConnId conn, HostId from, Packet packet);
  void pump(ConnId conn, int to);
  void pump_all();
  void disturb(HostId a, HostId b) { disturbed_[std::minmax(a, b)] = world_.now(); }
  void end_now(ConnId conn, int to);

  World& world_;
  std::vector<HostState> hosts_;
  std::map<ConnId, Conn> conns_;
  std::set<std::pair<HostId, HostId>> cuts_;
  std::map<std::pair<HostId, HostId>, Duration> extra_;
  std::map<std::pair<HostId, HostId>, Time> disturbed_;  // last, by the lower number first
  ConnId next_ = 0;
};

}  // namespace redoubt::sim
