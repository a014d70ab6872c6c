// A broker process; see broker_host.h.
#include "lab/sim/broker_host.h"

#include <algorithm>

#include "broker/arrival.h"

namespace redoubt::sim {

using namespace broker;

BrokerHost::BrokerHost(World& world, Network& network, Judge& judge, std::string name, Settings settings,
                       GroupSettings group)
    : Process(world, network, std::move(name)),
      judge_(judge),
      settings_(std::move(settings)),
      group_settings_(std::move(group)) {}

void BrokerHost::begin() {
  GroupSettings group = group_settings_;
  group.incarnation = world_.random() | 1;
  group.seed = world_.random();
  Settings settings = settings_;
  settings.seed = world_.random();
  node_ = std::make_unique<Node>(settings, group, disk_);
  on_disk_ = 0;
  began_ = world_.now();
  held_ = false;
  network_.listen(self(), true);
  for (BrokerNumber number = 1; number <= group_.size(); ++number) {
    if (number == group.self) continue;
    wants_[number] = true;
    dial(number, Duration::zero());
  }
  step(Tick{});
}

void BrokerHost::end() {
  node_.reset();
  links_.clear();
  peers_.clear();
  free_slots_.clear();
  wants_.clear();
  dialling_.clear();
  effects_.clear();
}

void BrokerHost::ask_stop() {
  network_.listen(self(), false);
  step(StopAsked{});
}

BrokerFacts BrokerHost::facts() const {
  return {
      name(),  group_settings_.self, alive() && !network_.paused(self()), node_.get(), clock(), began_, disk_,
      written_};
}

void BrokerHost::tell(const std::string& what) {
  if (judge_.tells()) judge_.tell(name() + ": " + what);
}

// ---- Links

LinkId BrokerHost::link_of(ConnId conn) {
  const auto known = links_.find(conn);
  if (known != links_.end()) return known->second;
  if (free_slots_.empty()) free_slots_.push_back(slots_++);
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const LinkId link{(uint64_t{++uses_} << 32) | slot};
  links_[conn] = link;
  peers_[static_cast<uint64_t>(link)].conn = conn;
  return link;
}

BrokerHost::Peer* BrokerHost::find(LinkId link) {
  const auto found = peers_.find(static_cast<uint64_t>(link));
  return found == peers_.end() ? nullptr : &found->second;
}

void BrokerHost::accepted(ConnId conn) { link_of(conn); }

void BrokerHost::connected(ConnId conn, HostId host) {
  const auto at = std::find(group_.begin(), group_.end(), host);
  const auto number = static_cast<BrokerNumber>(at - group_.begin()) + 1;
  dialling_[number] = false;
  if (!wants_[number]) return network_.close(conn, self());
  const LinkId link = link_of(conn);
  Peer& peer = *find(link);
  peer.stage = Stage::kDialled;
  peer.dialled = number;
  const wire::Hello hello{.version_min = wire::kVersionMin,
                          .version_max = wire::kVersionMax,
                          .role = wire::Role::kBroker,
                          .name = name(),
                          .cluster = "redoubt",
                          .incarnation = node_->election().settings().incarnation,
                          .link_generation = 1,
                          .sent_us = to_us(clock())};
  network_.send(conn, self(), hello);
  network_.send(conn, self(), enlistment());
}

void BrokerHost::unreachable(HostId host, bool refused) {
  const auto at = std::find(group_.begin(), group_.end(), host);
  const auto number = static_cast<BrokerNumber>(at - group_.begin()) + 1;
  dialling_[number] = false;
  step(BrokerUnreachable{number, refused});
  if (wants_[number])
    dial(number, world_.between(std::chrono::milliseconds(5), std::chrono::milliseconds(200)));
}

void BrokerHost::dial(BrokerNumber number, Duration pause) {
  if (dialling_[number]) return;
  dialling_[number] = true;
  later_here(pause, [this, number] { network_.dial(self(), group_[number - 1]); });
}

void BrokerHost::lost(ConnId conn) {
  const LinkId link = link_of(conn);
  const Peer peer = *find(link);
  close(link);
  const bool known =
      peer.stage == Stage::kClient || peer.stage == Stage::kReplica || peer.stage == Stage::kBroker;
  if (known) step(LinkLost{link, "closed by the peer"});
  if (peer.dialled != kNoBroker && node_ && !node_->election().peer(peer.dialled).up)
    dial(peer.dialled, std::chrono::milliseconds(5));
  arm();
}

// Forgets the link; tells the other side.
void BrokerHost::close(LinkId link) {
  const auto found = peers_.find(static_cast<uint64_t>(link));
  if (found == peers_.end()) return;
  network_.close(found->second.conn, self());
  links_.erase(found->second.conn);
  peers_.erase(found);
  free_slots_.push_back(static_cast<uint32_t>(static_cast<uint64_t>(link)));
}

void BrokerHost::received(ConnId conn, wire::Message& message) {
  const LinkId link = link_of(conn);
  Peer& peer = *find(link);
  if (judge_.tells() && !std::holds_alternative<wire::Dummy>(message))
    tell(std::string("gets ") + wire::name_of(message) + " from " +
         std::to_string(network_.peer_of(conn, self())));
  switch (peer.stage) {
    case Stage::kClient:
    case Stage::kReplica:
      from_guest(link, peer.stage, message);
      break;
    case Stage::kBroker:
      from_broker(link, message);
      break;
    default:
      handshake(link, peer, message);
  }
  if (node_ && node_->owes_acknowledgement() && world_.random.chance(0.5)) step(TurnEnded{});
  if (node_ && node_->owes_acknowledgement())
    later_here(std::chrono::microseconds(50), [this] { step(TurnEnded{}); });
  arm();
}

void BrokerHost::handshake(LinkId link, Peer& peer, wire::Message& message) {
  if (auto* hello = std::get_if<wire::Hello>(&message)) {
    peer.hello = std::move(*hello);
    send(link, welcome());
    peer.stage = peer.hello.role == wire::Role::kBroker    ? Stage::kUnlisted
                 : peer.hello.role == wire::Role::kReplica ? Stage::kUnregistered
                                                           : Stage::kClient;
    if (peer.stage != Stage::kClient) return;
    network_.hold(peer.conn, self(), held_);
    return step(ClientUp{link, peer.hello});
  }
  if (const auto* registration = std::get_if<wire::Register>(&message)) {
    peer.stage = Stage::kReplica;
    network_.hold(peer.conn, self(), held_);
    return step(ReplicaUp{link, peer.hello, *registration, "somewhere"});
  }
  if (std::get_if<wire::Welcome>(&message)) {
    peer.stage = Stage::kWelcomed;
    return;
  }
  if (const auto* enlist = std::get_if<wire::Enlist>(&message)) {
    const bool dialled = peer.stage == Stage::kWelcomed;
    if (!dialled) send(link, enlistment());
    peer.stage = Stage::kBroker;
    const wire::Hello hello = peer.hello;
    return step(BrokerUp{link, hello, *enlist, dialled ? peer.dialled : kNoBroker});
  }
}

void BrokerHost::from_guest(LinkId link, Stage stage, wire::Message& message) {
  const auto take = [this](const Event& event) { step(event); };
  if (stage == Stage::kClient)
    client_said(link, message, false, take);
  else
    replica_said(link, message, false, take);
}

void BrokerHost::from_broker(LinkId link, wire::Message& message) {
  broker_said(link, message, [this](const Event& event) { step(event); });
}

wire::Welcome BrokerHost::welcome() const {
  return {.version = wire::kVersionMax,
          .name = name(),
          .epoch = node_->epoch(),
          .max_payload = 1 << 20,
          .heartbeat_us = static_cast<uint64_t>(to_us(settings_.heartbeat)),
          .dead_after_us = static_cast<uint64_t>(to_us(settings_.dead_after)),
          .sent_us = to_us(clock()),
          .rules = node_->rules()};
}

wire::Enlist BrokerHost::enlistment() const { return node_->enlistment({}); }

// ---- Steps and what they want done

void BrokerHost::wake() { step(Tick{}); }

void BrokerHost::step(const Event& event) {
  if (!node_) return;
  const size_t from = effects_.size();
  node_->step(clock(), event, effects_);
  const Effects fresh(effects_.begin() + static_cast<std::ptrdiff_t>(from), effects_.end());
  judge_.stepped(facts(), fresh);
  if (carrying_out_) return;
  carrying_out_ = true;
  for (size_t i = 0; i < effects_.size() && node_; ++i) {
    Effect effect = std::move(effects_[i]);
    carry_out(effect);
  }
  effects_.clear();
  carrying_out_ = false;
  arm();
}

void BrokerHost::send(LinkId link, wire::Message message) {
  const Peer* peer = find(link);
  if (peer) network_.send(peer->conn, self(), std::move(message));
}

void BrokerHost::send_first(LinkId link, wire::Message message) {
  const Peer* peer = find(link);
  if (peer) network_.send_first(peer->conn, self(), std::move(message));
}

void BrokerHost::carry_out(Effect& effect) {
  if (auto* one = std::get_if<SendCopy>(&effect)) return send(one->to, std::move(one->copy));
  if (auto* one = std::get_if<SendReply>(&effect)) return send(one->to, std::move(one->reply));
  if (auto* one = std::get_if<SendHalt>(&effect)) return send(one->to, std::move(one->halt));
  if (auto* one = std::get_if<SendDummy>(&effect)) return send_first(one->to, one->dummy);
  if (auto* one = std::get_if<SendAdopt>(&effect)) return send(one->to, std::move(one->adopt));
  if (auto* note = std::get_if<Note>(&effect)) return tell("note " + note->name + " " + note->text);
  if (auto* closing = std::get_if<CloseLink>(&effect)) {
    tell("closes a link: " + closing->text);
    close(closing->link);
    return step(LinkLost{closing->link, closing->text});
  }
  carry_out_group(effect);
}

void BrokerHost::carry_out_group(Effect& effect) {
  const auto to_all = [&](const Followers& to, const auto& message) {
    for (uint32_t i = 0; i < to.count; ++i) send(to.links[i], message);
  };
  if (auto* one = std::get_if<SendAdd>(&effect)) return to_all(one->to, one->add);
  if (auto* one = std::get_if<SendRemove>(&effect)) return to_all(one->to, one->remove);
  if (auto* one = std::get_if<SendMark>(&effect)) return to_all(one->to, one->mark);
  if (auto* one = std::get_if<SendClientGone>(&effect)) return to_all(one->to, one->gone);
  if (auto* one = std::get_if<SendCollect>(&effect)) return send(one->to, one->collect);
  if (auto* one = std::get_if<SendPulse>(&effect)) return send_first(one->to, one->pulse);
  if (auto* one = std::get_if<SendVoteAsk>(&effect)) return send_first(one->to, one->ask);
  if (auto* one = std::get_if<SendVote>(&effect)) return send_first(one->to, one->vote);
  if (auto* one = std::get_if<SendHandOver>(&effect)) return send(one->to, one->hand_over);
  if (const auto* persist = std::get_if<Persist>(&effect)) return write(*persist);
  if (const auto* wish = std::get_if<Dial>(&effect)) {
    wants_[wish->broker] = wish->wanted;
    if (wish->wanted) dial(wish->broker, Duration::zero());
    return;
  }
  if (const auto* told = std::get_if<Announce>(&effect)) {
    for (const auto& [link, peer] : peers_)
      if (peer.stage == Stage::kClient || peer.stage == Stage::kReplica || peer.stage == Stage::kUnregistered)
        network_.send(peer.conn, self(), wire::Announce{told->epoch, told->rules, to_us(clock())});
    return;
  }
  if (const auto* hold = std::get_if<HoldReads>(&effect)) {
    held_ = hold->held;
    for (const auto& [link, peer] : peers_)
      if (peer.stage == Stage::kClient || peer.stage == Stage::kReplica)
        network_.hold(peer.conn, self(), held_);
    return;
  }
  if (const auto* role = std::get_if<RoleChanged>(&effect))
    return tell("role " + std::to_string(static_cast<int>(role->role)) + " epoch " +
                std::to_string(role->epoch.number) + (role->stale ? " stale" : ""));
  if (std::get_if<Left>(&effect)) later_here(Duration::zero(), [this] { leave(); });
}

// The disk takes its time, and what it has not got when the process dies is lost. An older write never
// overwrites a newer one.
void BrokerHost::write(const Persist& persist) {
  later_here(world_.between(disk_takes_.first, disk_takes_.second), [this, persist] {
    if (persist.number < on_disk_) return;
    on_disk_ = persist.number;
    disk_ = persist.memory;
    if (newer(disk_.set, written_)) written_ = disk_.set;
    step(Persisted{persist.number});
  });
}

}  // namespace redoubt::sim
