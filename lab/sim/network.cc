// How connections behave; see network.h.
#include "lab/sim/network.h"

namespace redoubt::sim {

Duration Network::delay(HostId from, HostId to) {
  const auto extra = extra_.find({from, to});
  return world_.between(std::chrono::microseconds(50), kLongest) +
         (extra == extra_.end() ? Duration::zero() : extra->second);
}

Network::Side* Network::side(ConnId conn, HostId host, bool mine) {
  const auto found = conns_.find(conn);
  if (found == conns_.end()) return nullptr;
  const int at = found->second.sides[0].host == host ? 0 : 1;
  return &found->second.sides[mine ? at : 1 - at];
}

HostId Network::peer_of(ConnId conn, HostId self) const {
  const Side* peer = const_cast<Network*>(this)->side(conn, self, false);
  return peer ? peer->host : self;
}

void Network::dial(HostId from, HostId to) {
  const uint32_t epoch = hosts_[from].epoch;
  world_.after(delay(from, to) + delay(to, from), [this, from, to, epoch] {
    if (is_cut(from, to) || is_cut(to, from)) {
      world_.after(std::chrono::milliseconds(300), [this, from, to, epoch] {
        run(from, epoch, [this, from, to] { hosts_[from].host->unreachable(to, false); });
      });
      return;
    }
    run(from, epoch, [this, from, to] {
      // The kernel of a stopped process accepts for it.
      if (!hosts_[to].listens) return hosts_[from].host->unreachable(to, true);
      const ConnId conn = ++next_;
      Conn& made = conns_[conn];
      made.sides[0].host = from;
      made.sides[1].host = to;
      hosts_[to].host->accepted(conn);
      hosts_[from].host->connected(conn, to);
    });
  });
}

void Network::run(HostId host, uint32_t epoch, std::function<void()> what) {
  HostState& state = hosts_[host];
  if (state.epoch != epoch) return;
  if (state.paused)
    state.deferred.push_back(std::move(what));
  else
    what();
}

void Network::put(ConnId conn, HostId from, Packet packet) {
  Side* to = side(conn, from, false);
  if (!to || !to->open) return;
  to->last_at = std::max(to->last_at, world_.now() + delay(from, to->host));
  packet.at = to->last_at;
  to->arriving.push_back(std::move(packet));
  const int index = to == &conns_[conn].sides[0] ? 0 : 1;
  world_.at(to->last_at, [this, conn, index] { pump(conn, index); });
}

void Network::send(ConnId conn, HostId from, wire::Message message) {
  const Side* mine = side(conn, from, true);
  if (mine && mine->open) put(conn, from, {{}, std::move(message), false});
}

void Network::send_first(ConnId conn, HostId from, wire::Message message) {
  const Side* mine = side(conn, from, true);
  if (!mine || !mine->open) return;
  Side* to = side(conn, from, false);
  if (!to || !to->open || !world_.random.chance(0.3)) return send(conn, from, std::move(message));
  // In the place, and at the time, of something that would have come before it; but a handshake does not
  // wait.
  const auto shakes = [](const Packet& packet) {
    return std::holds_alternative<wire::Hello>(packet.message) ||
           std::holds_alternative<wire::Welcome>(packet.message) ||
           std::holds_alternative<wire::Enlist>(packet.message) ||
           std::holds_alternative<wire::Register>(packet.message);
  };
  const auto first = std::find_if(to->arriving.rbegin(), to->arriving.rend(), shakes).base();
  const auto behind = static_cast<uint64_t>(to->arriving.end() - first);
  if (behind == 0) return send(conn, from, std::move(message));
  const auto place = first + static_cast<std::ptrdiff_t>(world_.random.below(behind));
  const Time at = place->at;
  to->arriving.insert(place, {at, std::move(message), false});
}

void Network::close(ConnId conn, HostId from) {
  Side* mine = side(conn, from, true);
  if (!mine || !mine->open) return;
  mine->open = false;
  mine->arriving.clear();
  put(conn, from, {{}, {}, true});
}

void Network::hold(ConnId conn, HostId reader, bool held) {
  Side* mine = side(conn, reader, true);
  if (!mine) return;
  mine->held = held;
  const int index = mine == &conns_[conn].sides[0] ? 0 : 1;
  if (!held) world_.at(world_.now(), [this, conn, index] { pump(conn, index); });
}

void Network::pump(ConnId conn, int to) {
  for (;;) {
    const auto found = conns_.find(conn);
    if (found == conns_.end()) return;
    Side& reader = found->second.sides[to];
    const HostId from = found->second.sides[1 - to].host;
    if (!reader.open || reader.arriving.empty() || reader.arriving.front().at > world_.now()) return;
    if (reader.held || hosts_[reader.host].paused || is_cut(from, reader.host)) return;
    Packet packet = std::move(reader.arriving.front());
    reader.arriving.pop_front();
    if (packet.end) return end_now(conn, to);
    hosts_[reader.host].host->received(conn, packet.message);
  }
}

// The end of the stream has arrived at this side.
void Network::end_now(ConnId conn, int to) {
  Side& reader = conns_[conn].sides[to];
  reader.open = false;
  const HostId host = reader.host;
  if (!conns_[conn].sides[1 - to].open) conns_.erase(conn);
  hosts_[host].host->lost(conn);
}

Time Network::calm_since(HostId a, HostId b) const {
  const auto between = disturbed_.find(std::minmax(a, b));
  const Time way = between == disturbed_.end() ? Time{} : between->second;
  const bool cut = is_cut(a, b) || is_cut(b, a);
  return cut ? kNever : std::max({way, hosts_[a].disturbed, hosts_[b].disturbed});
}

void Network::kill(HostId host) {
  hosts_[host].disturbed = world_.now();
  ++hosts_[host].epoch;
  hosts_[host].listens = false;
  hosts_[host].paused = false;
  hosts_[host].deferred.clear();
  std::vector<ConnId> mine;
  for (auto& [id, conn] : conns_)
    if (conn.sides[0].host == host || conn.sides[1].host == host) mine.push_back(id);
  for (const ConnId id : mine) {
    Side* own = side(id, host, true);
    if (!own->open) continue;
    own->open = false;
    // Unread bytes make the end a reset, which may overtake what was sent last.
    Side* other = side(id, host, false);
    const bool reset = !own->arriving.empty() && world_.random.chance(0.5);
    own->arriving.clear();
    if (reset && !other->arriving.empty())
      other->arriving.resize(world_.random.below(other->arriving.size() + 1));
    put(id, host, {{}, {}, true});
  }
}

void Network::pause(HostId host, bool paused) {
  hosts_[host].paused = paused;
  hosts_[host].disturbed = world_.now();
  if (paused) return;
  const auto deferred = std::exchange(hosts_[host].deferred, {});
  const uint32_t epoch = hosts_[host].epoch;
  for (const auto& what : deferred) run(host, epoch, what);
  pump_all();
}

void Network::cut(HostId from, HostId to, bool is_cut) {
  disturb(from, to);
  if (is_cut)
    cuts_.insert({from, to});
  else
    cuts_.erase({from, to});
  if (!is_cut) pump_all();
}

void Network::disconnect(HostId a, HostId b) {
  disturb(a, b);
  std::vector<ConnId> between;
  for (auto& [id, conn] : conns_)
    if ((conn.sides[0].host == a && conn.sides[1].host == b) ||
        (conn.sides[0].host == b && conn.sides[1].host == a))
      between.push_back(id);
  for (const ConnId id : between) {
    for (int i = 0; i < 2; ++i) {
      Side& to = conns_[id].sides[i];
      if (!to.open) continue;
      if (!to.arriving.empty()) to.arriving.resize(world_.random.below(to.arriving.size() + 1));
      put(id, conns_[id].sides[1 - i].host, {{}, {}, true});
    }
  }
}

void Network::heal() {
  for (const auto& [from, to] : cuts_) disturb(from, to);
  cuts_.clear();
  extra_.clear();
  pump_all();
}

void Network::pump_all() {
  std::vector<ConnId> all;
  for (const auto& [id, conn] : conns_) all.push_back(id);
  for (const ConnId id : all)
    for (int i = 0; i < 2; ++i) pump(id, i);
}

}  // namespace redoubt::sim
