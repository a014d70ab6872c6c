// Peers, pulses and who is obeyed; see election.h. How votes are asked for and given: votes.cc. How long a
// manager may act, and on whose word: lease.cc.
#include "broker/group/election.h"

#include <algorithm>

namespace redoubt::broker {

Election::Election(GroupSettings settings, Memory memory)
    : settings_(std::move(settings)), random_(settings_.seed), memory_(memory), highest_(settings_.size) {
  CHECK(settings_.size >= 1 && settings_.size <= wire::kMaxGroup && settings_.self <= settings_.size);
  obeyed_ = memory_.set.epoch;
}

void Election::begin(Turn turn) {
  began_ = turn.now;
  const bool gave_leases = settings_.quorum == Quorum::kMajority && settings_.size > 1 && !memory_.blank;
  if (gave_leases) silent_until_ = later(turn.now, settings_.demote_after);
  each_peer([&](BrokerNumber, Peer& peer) { peer.down_since = turn.now; });
  stand_later(turn.now);
}

wire::Epoch Election::known() const {
  if (rules()) return epoch_;
  return memory_.promised.number > obeyed_.number ? memory_.promised : obeyed_;
}

Election::PeerView Election::peer(BrokerNumber number) const {
  const Peer& peer = peers_[number];
  return {peer.up(), peer.kind, peer.last_heard, peer.told};
}

// ---- Links

void Election::peer_up(Turn turn, BrokerNumber number, LinkId link, const wire::Enlist& enlist) {
  highest_ = std::max(highest_, number);
  Peer& peer = peers_[number];
  // A manager whose process has started again rules no more.
  const bool restarted = manager_ == number && peer.incarnation != enlist.incarnation;
  if (restarted) lose_manager(turn);
  if (lease_given_to_ == number && peer.incarnation != enlist.incarnation) lease_given_to_ = kNoBroker;
  const Peer before = peer;
  peer = Peer{};
  peer.down_since = before.down_since;
  if (!restarted) {
    // The same process on another link: what our echoes have granted it stands.
    peer.echoed_of = before.echoed_of;
    peer.last_ruling = before.last_ruling;
  }
  peer.link = link;
  peer.kind = enlist.kind;
  peer.incarnation = enlist.incarnation;
  peer.last_heard = peer.last_sent = peer.fresh = turn.now;
  send_pulse(turn, peer, true);
  if (office_ == Office::kCandidate && peer.kind != wire::Kind::kLearner) ask(turn, peer);
}

void Election::peer_lost(Turn turn, BrokerNumber number) {
  Peer& peer = peers_[number];
  peer.link = kNoLink;
  peer.refused = false;
  // One that has been silent has been looked for all the while.
  peer.down_since = peer.last_heard;
  peer.held.reset();
  if (manager_ == number) {
    // Its host says within a moment whether the process is gone: it refuses to be dialled. If the network is
    // to blame, its lease may still stand. Under quorum one there is no lease, and nobody stands before the
    // others have been looked for.
    link_lost_ = true;
    if (settings_.quorum == Quorum::kOne || turn.now >= lease_of_manager()) lose_manager(turn);
  }
  renew_lease();
  // Under quorum one only those who are reachable must agree.
  if (office_ == Office::kCandidate) count_grants(turn);
}

void Election::estranged(Time now, BrokerNumber number) {
  if (number == kNoBroker || number > settings_.size || number == settings_.self) return;
  peers_[number].estranged_until = later(now, kEstranged);
}

void Election::unreachable(Turn turn, BrokerNumber number, bool refused) {
  Peer& peer = peers_[number];
  if (peer.up()) return;
  const bool news = refused && !peer.refused;
  peer.refused = refused;
  if (refused) peer.estranged_until = Time{};
  if (refused && lease_given_to_ == number) lease_given_to_ = kNoBroker;
  if (refused && manager_ == number) lose_manager(turn);
  if (news && office_ == Office::kFollower && manager_ == kNoBroker && stand_at_ != kNever)
    stand_later(std::min(stand_at_, turn.now + my_turn()));
}

Duration Election::heard_from(Turn turn, Peer& peer, int64_t sent_us) {
  const Duration excess = peer.transit.excess(turn.now, sent_us);
  peer.last_heard = turn.now;
  peer.newest_sent_us = std::max(peer.newest_sent_us, sent_us);
  return excess;
}

void Election::pulse(Turn turn, BrokerNumber number, const wire::Pulse& pulse) {
  Peer& peer = peers_[number];
  // On a new link everything is news; on a standing one an echo never goes back.
  const Duration excess = heard_from(turn, peer, pulse.sent_us);
  // A pulse may have overtaken changes that were made before it was sent.
  if (position_.epoch != pulse.position.epoch || position_.seq >= pulse.position.seq)
    peer.fresh = std::max(peer.fresh, turn.now - excess);
  // One that was sent earlier and had to wait behind payloads is no news.
  if (peer.heard && pulse.sent_us < peer.told.sent_us) return;
  peer.heard = true;
  peer.told = pulse;
  if (peer.kind == wire::Kind::kLearner) {
    // One from outside the group tells how far it is; nothing else that it says counts.
    peer.told = {};
    peer.told.position = pulse.position;
    peer.told.hash = pulse.hash;
    peer.told.received = pulse.received;
    peer.told.sent_us = pulse.sent_us;
    if (pulse.answer) send_pulse(turn, peer, false);
    return;
  }
  // Only who obeys will not vote for another before our lease from this echo has ended.
  // And an echo of what has not been sent is none.
  const bool echoes = pulse.echo_us > 0 && pulse.echo_us <= to_us(turn.now);
  if (pulse.obeys && echoes) peer.echoed = std::max(peer.echoed, Time(from_us(pulse.echo_us)));
  learn_set(turn, pulse.set);
  // Under a majority a number that is only promised may be a vote for one who lost against this manager;
  // under quorum one there may have been another with the same number.
  const bool pairs_count = pulse.rules || settings_.quorum == Quorum::kOne;
  const bool above = pairs_count ? pulse.known > epoch_ : pulse.known.number > epoch_.number;
  if (rules() && above) step_down(turn);
  renew_lease();
  if (pulse.rules && pulse.known >= obeyed_ && pulse.known.number >= memory_.promised.number && !rules())
    obey(turn, number, pulse.known);
  else if (pulse.rules && pulse.known < known())
    send_pulse(turn, peer, false);  // so that it learns that its time is over
  if (rules()) refresh_committed();
  if (pulse.answer) send_pulse(turn, peer, false);
}

Duration Election::stream(Turn turn, BrokerNumber number, int64_t sent_us) {
  Peer& peer = peers_[number];
  const Duration excess = sent_us != 0 ? heard_from(turn, peer, sent_us) : Duration::zero();
  if (sent_us != 0) peer.fresh = std::max(peer.fresh, turn.now - excess);
  peer.last_heard = turn.now;
  if (number == manager_) peer.last_ruling = turn.now;
  return excess;
}

// ---- Who is obeyed

void Election::obey(Turn turn, BrokerNumber number, wire::Epoch epoch) {
  Peer& peer = peers_[number];
  silent_until_ = Time{};  // whom it may have voted for meanwhile had to wait, too
  peer.last_ruling = turn.now;
  succession_.clear();
  for (const uint64_t next : peer.told.succession)
    if (next > 0 && next <= wire::kMaxGroup) succession_.push_back(static_cast<BrokerNumber>(next));
  if (office_ == Office::kCandidate) office_ = Office::kFollower;
  stand_at_ = kNever;
  manager_ = number;
  link_lost_ = false;
  obeyed_ = epoch;
  // A witness is sent nothing else that it could have forgotten.
  const bool remembers = memory_.blank && settings_.kind == wire::Kind::kWitness;
  if (epoch.number <= memory_.promised.number && !remembers) return;
  memory_.blank = memory_.blank && !remembers;
  memory_.promised = std::max(memory_.promised, epoch);
  write(turn);
}

void Election::collected(Turn turn) {
  if (!memory_.blank) return;
  memory_.blank = false;
  write(turn);
}

// Until then this broker's echoes may keep the manager in office.
Time Election::lease_of_manager() const {
  if (settings_.quorum == Quorum::kOne) return Time{};
  return later(peers_[manager_].echoed_of, settings_.demote_after);
}

bool Election::manager_lives(Time now) const {
  if (manager_ == kNoBroker) return false;
  const bool speaks = !link_lost_ && later(peers_[manager_].last_ruling, settings_.dead_after) > now;
  return speaks || lease_of_manager() > now;
}

void Election::lose_manager(Turn turn) {
  const Peer& peer = peers_[manager_];
  // Its last words were old when they came: it had more to say than has arrived here, or we stood still.
  lagged_ = turn.now - peer.fresh > 2 * settings_.dead_after;
  manager_ = kNoBroker;
  link_lost_ = false;
  stand_later(turn.now + my_turn());
  answer_all(turn);
}

void Election::step_down(Turn turn) {
  CHECK(rules());
  office_ = Office::kFollower;
  manager_ = kNoBroker;
  lagged_ = false;
  suspended_ = false;
  obeyed_ = std::max(obeyed_, epoch_);
  epoch_ = {};
  lease_ = Time{};
  stand_later(turn.now + settings_.dead_after);
}

void Election::abdicate(Turn turn, BrokerNumber successor, uint64_t seq) {
  CHECK(rules());
  const wire::Epoch epoch = epoch_;
  leaving_ = true;
  step_down(turn);
  each_peer([&](BrokerNumber, Peer& peer) {
    if (!peer.up()) return;
    turn.effects.emplace_back(SendHandOver{peer.link, {.epoch = epoch, .seq = seq, .successor = successor}});
    send_pulse(turn, peer, false);
  });
  stand_at_ = kNever;
}

void Election::handed_over(Turn turn, BrokerNumber number, const wire::HandOver& message) {
  // Whatever leases it had, it has given them up.
  if (lease_given_to_ == number) lease_given_to_ = kNoBroker;
  if (number != manager_ || message.epoch != obeyed_) return;
  lose_manager(turn);
  lagged_ = false;
  // The stream is in order: who does not have its end has missed some of it.
  const bool complete = position_ == wire::Position{message.epoch, message.seq};
  const bool mine = message.successor == settings_.self && complete;
  stand_later(mine ? turn.now : turn.now + settings_.dead_after / 2);
  if (mine) stand(turn);
}

// ---- Writing and pulses

uint64_t Election::write(Turn turn) {
  turn.effects.emplace_back(Persist{++writes_, memory_});
  return writes_;
}

void Election::written(Turn turn, uint64_t number) {
  on_disk_ = std::max(on_disk_, number);
  send_grants(turn);
  if (office_ == Office::kCandidate && !trial_ && on_disk_ >= own_write_) {
    grants_ |= only(settings_.self);
    ask_until_ = turn.now + kVotePatience * settings_.dead_after;
    count_grants(turn);
  }
  if (rules()) refresh_committed();
  // What is on disk now counts for the manager's set.
  if (manager_ != kNoBroker && on_disk_ == writes_ && peers_[manager_].up())
    send_pulse(turn, peers_[manager_], false);
}

void Election::holds(wire::Position position, uint64_t hash, uint64_t received) {
  position_ = position;
  hash_ = hash;
  received_ = received;
}

void Election::send_pulse(Turn turn, Peer& peer, bool answer) {
  peer.last_sent = turn.now;
  wire::Pulse pulse;
  pulse.known = known();
  pulse.rules = leads(turn.now);
  pulse.blank = memory_.blank;
  pulse.answer = answer;
  pulse.position = position_;
  pulse.hash = hash_;
  pulse.received = received_;
  // Only what would survive, for the manager counts on it; its own everybody may write down as it does.
  if (on_disk_ == writes_ || rules()) pulse.set = memory_.set;
  if (rules()) pulse.succession.assign(succession_.begin(), succession_.end());
  pulse.sent_us = to_us(turn.now);
  pulse.echo_us = peer.newest_sent_us;
  pulse.obeys = manager_ != kNoBroker && &peer == &peers_[manager_];
  if (pulse.obeys) peer.echoed_of = peer.last_heard;
  turn.effects.emplace_back(SendPulse{peer.link, std::move(pulse)});
}

void Election::pulse_all(Turn turn, bool answer) {
  each_peer([&](BrokerNumber, Peer& peer) {
    if (peer.up()) send_pulse(turn, peer, answer);
  });
}

void Election::acknowledge(Turn turn) {
  if (manager_ != kNoBroker && peers_[manager_].up()) send_pulse(turn, peers_[manager_], false);
}

// ---- Time

// This process stood still: what its peers sent meanwhile lies unread in its sockets.
void Election::forgive_silence(Time now) {
  each_peer([&](BrokerNumber, Peer& peer) { peer.last_heard = now; });
  if (manager_ != kNoBroker) peers_[manager_].last_ruling = now;
}

BrokerNumber Election::silent_peer(Time now) const {
  BrokerNumber silent = kNoBroker;
  each_peer([&](BrokerNumber number, const Peer& peer) {
    if (peer.up() && later(peer.last_heard, settings_.dead_after) <= now) silent = number;
  });
  return silent;
}

void Election::tick(Turn turn, Duration stalled) {
  if (began_ == kNever) begin(turn);
  if (stalled > 2 * settings_.heartbeat) forgive_silence(turn.now);
  if (rules() && settings_.quorum == Quorum::kOne && settings_.size > 1) {
    if (stalled > settings_.dead_after - 2 * settings_.heartbeat)
      doubt_until_ = turn.now + settings_.dead_after;
    else if (doubt_until_ <= turn.now)
      doubt_until_ = Time{};
    renew_lease();
  }
  if (rules() && leads(turn.now) == suspended_) {
    suspended_ = !suspended_;
    suspended_since_ = turn.now;
    pulse_all(turn, true);
  }
  // Those who have given it up obey it no more: with what it holds it asks for votes like anybody.
  if (rules() && suspended_ && later(suspended_since_, settings_.dead_after) <= turn.now) {
    step_down(turn);
    stand_later(turn.now + kTurn);
  }
  each_peer([&](BrokerNumber, Peer& peer) {
    if (!peer.up()) return;
    if (later(peer.last_sent, settings_.heartbeat) <= turn.now) send_pulse(turn, peer, rules());
    if (peer.held && later(peer.held_since, settings_.dead_after) <= turn.now) peer.held.reset();
  });
  if (manager_ != kNoBroker && !manager_lives(turn.now)) lose_manager(turn);
  if (ask_until() <= turn.now) give_up(turn);
  if (office_ == Office::kFollower && stand_at_ <= turn.now) stand(turn);
}

Time Election::next_deadline() const {
  if (began_ == kNever) return Time{};
  Time due = kNever;
  each_peer([&](BrokerNumber, const Peer& peer) {
    if (!peer.up()) return;
    due = std::min(
        {due, later(peer.last_heard, settings_.dead_after), later(peer.last_sent, settings_.heartbeat)});
  });
  if (rules()) {
    due = std::min(due, suspended_ ? later(suspended_since_, settings_.dead_after) : lease_);
    if (doubt_until_ != Time{}) due = std::min(due, doubt_until_);
  }
  if (manager_ != kNoBroker) {
    const Time silent = link_lost_ ? Time{} : later(peers_[manager_].last_ruling, settings_.dead_after);
    due = std::min(due, std::max(silent, lease_of_manager()));
  }
  due = std::min(due, ask_until());
  if (office_ == Office::kFollower) due = std::min(due, stand_at_);
  return due;
}

}  // namespace redoubt::broker
