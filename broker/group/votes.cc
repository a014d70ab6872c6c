// How votes are asked for and given; see election.h.
#include <algorithm>

#include "broker/group/election.h"

namespace redoubt::broker {

using wire::Kind;

// ---- May this broker stand?

// One that has lost its memory may have voted and forgotten. It takes part again when a manager has told it
// everything (that is written down, so it is blank no more), or when a majority stands together of which
// nobody knows any epoch: then there is nothing to forget.
bool Election::blank_may_vote() const {
  if (!memory_.blank || settings_.quorum == Quorum::kOne) return true;
  uint32_t blank = 1;
  each_peer([&](BrokerNumber number, const Peer& peer) {
    if (number <= settings_.size && peer.up() && peer.heard && peer.told.known.number == 0) ++blank;
  });
  return blank >= settings_.majority();
}

// It was in sync to the end: what it holds is all that the last manager promised anybody.
bool Election::is_fresh() const {
  const wire::SyncSet& set = memory_.set;
  if (set.epoch.number == 0) return true;  // there never was a manager
  const bool holds_it = has(set.members, settings_.self) && position_.epoch == set.epoch;
  // Under quorum one the others may have gone on without telling us.
  return holds_it && !(settings_.quorum == Quorum::kOne && lagged_);
}

// A broker of the set that still holds its state, or may: then nobody else is promoted.
bool Election::set_member_left(const wire::SyncSet& set, BrokerNumber except, Time now) const {
  if (except != settings_.self && has(set.members, settings_.self) && position_.epoch == set.epoch)
    return true;
  bool left = false;
  each_peer([&](BrokerNumber number, const Peer& peer) {
    if (number == except || !has(set.members, number)) return;
    if (peer.up())
      left = left || !peer.heard || peer.told.position.epoch == set.epoch;
    else
      left = left || (!peer.refused && later(peer.down_since, settings_.dead_after) > now);
  });
  return left;
}

bool Election::enough_reachable(Time now) const {
  uint32_t reachable = 1;
  bool all_looked_for = true;
  each_peer([&](BrokerNumber number, const Peer& peer) {
    if (number > settings_.size) return;
    if (peer.up() && peer.heard) ++reachable;
    if (peer.up() ? !peer.heard : !peer.refused && later(peer.down_since, settings_.dead_after) > now)
      all_looked_for = false;
  });
  if (settings_.quorum == Quorum::kMajority) return reachable >= settings_.majority();
  // One with other settings serves, or may: two who do not take each other for members would both rule.
  return all_looked_for && strangers(now) == 0;
}

uint32_t Election::strangers(Time now) const {
  uint32_t strangers = 0;
  each_peer([&](BrokerNumber, const Peer& peer) {
    if (!peer.up() && peer.estranged_until > now) ++strangers;
  });
  return strangers;
}

bool Election::has_given_lease(BrokerNumber other_than, Time now) const {
  return settings_.quorum == Quorum::kMajority && lease_given_to_ != kNoBroker &&
         lease_given_to_ != other_than && now < lease_given_until_;
}

bool Election::may_stand(Time now) const {
  if (settings_.self == kNoBroker || settings_.kind != Kind::kVoter || leaving_) return false;
  if (!blank_may_vote() || !enough_reachable(now)) return false;
  if (!grants_to_write_.empty()) return false;  // whoever asked has its vote as soon as it is on disk
  if (now < silent_until_ || has_given_lease(settings_.self, now)) return false;
  return is_fresh() || !set_member_left(memory_.set, settings_.self, now);
}

// How long the others are let go first.
Duration Election::my_turn() const {
  uint32_t before = 0;
  const auto reachable = [&](BrokerNumber number) { return peers_[number].up(); };
  const auto mine = std::find(succession_.begin(), succession_.end(), settings_.self);
  if (mine != succession_.end()) {
    before = static_cast<uint32_t>(std::count_if(succession_.begin(), mine, reachable));
  } else {
    for (const BrokerNumber number : succession_) before += reachable(number) ? 1u : 0u;
    for (BrokerNumber number = 1; number < settings_.self; ++number) before += reachable(number) ? 1u : 0u;
  }
  return kTurn * before;
}

// ---- Asking

void Election::stand_later(Time at) {
  const bool may = settings_.self != kNoBroker && settings_.kind == Kind::kVoter && !leaving_;
  stand_at_ = may && manager_ == kNoBroker ? at : kNever;
}

void Election::stand(Turn turn) {
  if (rules() || manager_ != kNoBroker) return;
  if (!may_stand(turn.now)) {
    stand_later(turn.now + kTurn);  // somebody may come, or be given up
    return;
  }
  uint64_t highest = std::max(memory_.promised.number, obeyed_.number);
  each_peer([&](BrokerNumber, const Peer& peer) { highest = std::max(highest, peer.told.known.number); });
  office_ = Office::kCandidate;
  epoch_ = {highest + 1, settings_.self};
  trial_ = true;
  stale_ = !is_fresh();
  grants_ = only(settings_.self);
  ask_until_ = turn.now + settings_.dead_after;
  ask_all(turn);
  count_grants(turn);
}

void Election::ask(Turn turn, Peer& peer) const {
  wire::VoteAsk ask;
  ask.epoch = epoch_;
  ask.trial = trial_;
  ask.stale = stale_;
  ask.set = memory_.set;
  ask.position = position_;
  ask.sent_us = to_us(turn.now);
  turn.effects.emplace_back(SendVoteAsk{peer.link, ask});
}

void Election::ask_all(Turn turn) {
  asked_at_ = turn.now;
  refusals_ = 0;
  each_peer([&](BrokerNumber, Peer& peer) {
    if (peer.up() && peer.kind != Kind::kLearner) ask(turn, peer);
  });
}

void Election::voted(Turn turn, BrokerNumber number, const wire::Vote& vote) {
  Peer& peer = peers_[number];
  peer.last_heard = turn.now;
  peer.told.known = std::max(peer.told.known, vote.known);
  if (office_ != Office::kCandidate || vote.epoch != epoch_ || vote.trial != trial_) return;
  // It has been asked again since; or it answers what has not been asked.
  if (vote.echo_us < to_us(asked_at_) || vote.echo_us > to_us(turn.now)) return;
  if (vote.granted) {
    grants_ |= only(number);
    // It was in touch when the question was sent: that is the first echo of this rule.
    if (!trial_) peer.echoed = std::max(peer.echoed, Time(from_us(vote.echo_us)));
    return count_grants(turn);
  }
  refusals_ |= only(number);
  uint32_t hopeful = 1;
  each_peer([&](BrokerNumber other, const Peer& one) {
    if (one.up() && one.kind != Kind::kLearner && !has(refusals_, other)) ++hopeful;
  });
  const bool counts = !peer.told.blank || memory_.blank;
  if (settings_.quorum == Quorum::kOne ? counts : hopeful < settings_.majority()) give_up(turn);
}

// Its own disk may take any time: it is not asked twice.
Time Election::ask_until() const {
  const bool writes = office_ == Office::kCandidate && !trial_ && on_disk_ < own_write_;
  return office_ == Office::kCandidate && !writes ? ask_until_ : kNever;
}

// The pause is random, so that rivals do not meet again.
void Election::give_up(Turn turn) {
  office_ = Office::kFollower;
  epoch_ = {};
  const auto most = static_cast<double>(to_us(settings_.heartbeat));
  stand_later(turn.now + kTurn + from_us(static_cast<int64_t>(random_.unit() * most)));
}

void Election::count_grants(Turn turn) {
  CHECK(office_ == Office::kCandidate);
  // Our own vote, too, counts only once it is on disk.
  bool enough = has(grants_, settings_.self) && count(grants_) >= settings_.majority();
  if (settings_.quorum == Quorum::kOne) {
    enough = has(grants_, settings_.self) && enough_reachable(turn.now);
    each_peer([&](BrokerNumber number, const Peer& peer) {
      const bool votes = peer.up() && peer.kind != Kind::kLearner && (!peer.told.blank || memory_.blank);
      if (votes && !has(grants_, number)) enough = false;
    });
  }
  if (!enough) return;
  if (!trial_) {
    const bool leased =
        settings_.quorum == Quorum::kOne || settings_.size == 1 || lease_from_echoes() > turn.now;
    if (leased) return rule(turn);
    // The votes took longer than a lease lasts. They are written now: asked again, they come at once.
    grants_ = only(settings_.self);
    return ask_all(turn);
  }
  trial_ = false;
  grants_ = 0;
  memory_.promised = epoch_;
  memory_.blank = false;
  own_write_ = write(turn);
  ask_until_ = turn.now + kVotePatience * settings_.dead_after;
  ask_all(turn);
}

void Election::rule(Turn turn) {
  CHECK(has(grants_, settings_.self) && memory_.promised == epoch_);
  office_ = Office::kManager;
  manager_ = kNoBroker;
  stand_at_ = kNever;
  suspended_ = false;
  doubt_until_ = Time{};
  obeyed_ = epoch_;
  renew_lease();
  founds_ = memory_.set.epoch.number == 0;
  committed_ = memory_.set;
  succession_.clear();
  each_peer([&](BrokerNumber, Peer& peer) { peer.held.reset(); });
  in_sync(turn, only(settings_.self), {});
}

// ---- Answering

void Election::asked(Turn turn, BrokerNumber number, const wire::VoteAsk& ask) {
  Peer& peer = peers_[number];
  peer.last_heard = turn.now;
  if (peer.held && ask.sent_us < peer.held->sent_us) return;  // an earlier one that had to wait on its way
  peer.told.position = ask.position;
  peer.held = ask;
  peer.held_since = turn.now;
  answer(turn, number);
}

void Election::answer_all(Turn turn) {
  each_peer([&](BrokerNumber number, Peer& peer) {
    if (peer.held) answer(turn, number);
  });
}

void Election::answer(Turn turn, BrokerNumber number) {
  Peer& peer = peers_[number];
  const wire::VoteAsk ask = *peer.held;
  // While the manager lives here the question waits: the asker may only have noticed its end sooner.
  if (!rules() && manager_lives(turn.now) && manager_ != number) return;
  peer.held.reset();
  wire::SyncSet newest;
  const bool yes = would_vote(turn, number, ask, newest);
  if (!yes || ask.trial) return send_vote(turn, number, ask, yes);
  lease_given_to_ = number;
  lease_given_until_ = later(turn.now, settings_.demote_after);
  const Memory before = std::exchange(memory_, {.blank = false, .promised = ask.epoch, .set = newest});
  std::erase_if(grants_to_write_, [&](const Grant& grant) { return grant.to == number; });
  grants_to_write_.push_back({number, ask.epoch, before == memory_ ? writes_ : write(turn), ask.sent_us});
  if (office_ == Office::kCandidate) {
    office_ = Office::kFollower;
    epoch_ = {};
  }
  stand_later(turn.now + kVotePatience * settings_.dead_after);
  send_grants(turn);
}

// The votes that are on disk. One leaves if no later one has been given since.
void Election::send_grants(Turn turn) {
  std::erase_if(grants_to_write_, [&](const Grant& grant) {
    if (grant.write > on_disk_) return false;
    const Peer& peer = peers_[grant.to];
    if (!peer.up() || memory_.promised != grant.epoch) return true;
    turn.effects.emplace_back(SendVote{
        peer.link, {.epoch = grant.epoch, .granted = true, .known = known(), .echo_us = grant.echo_us}});
    // The asker has its time from now on, however long the disk took.
    if (lease_given_to_ == grant.to) lease_given_until_ = later(turn.now, settings_.demote_after);
    if (office_ == Office::kFollower) stand_later(turn.now + settings_.dead_after);
    return true;
  });
}

bool Election::would_vote(Turn turn, BrokerNumber number, const wire::VoteAsk& ask, wire::SyncSet& newest) {
  if (rules() || turn.now < silent_until_ || has_given_lease(number, turn.now)) return false;
  // Its own question is out, and its vote on the way to disk: a rival would have to wait for the disk as
  // well.
  const bool writes = office_ == Office::kCandidate && !trial_ && on_disk_ < own_write_;
  if (ask.trial && writes) return false;
  const bool again = !ask.trial && ask.epoch == memory_.promised;
  if (ask.epoch.number <= memory_.promised.number && !again) return false;
  if (settings_.self == kNoBroker || !blank_may_vote()) return false;
  newest = newer(ask.set, memory_.set) ? ask.set : memory_.set;
  const bool member = newest.epoch.number == 0 || has(newest.members, number);
  if (!ask.stale && !member) return false;
  // A member that has started again holds nothing any more.
  const bool follows = newest.epoch.number == 0 || ask.position.epoch == newest.epoch;
  if (!ask.stale && !follows) return false;
  if (ask.stale && set_member_left(newest, number, turn.now)) return false;
  // What this broker holds and the asker does not would be lost: it rather stands itself.
  if (position_ > ask.position && may_stand(turn.now)) {
    if (office_ == Office::kFollower) stand_later(turn.now);
    return false;
  }
  return true;
}

void Election::send_vote(Turn turn, BrokerNumber number, const wire::VoteAsk& ask, bool granted) {
  turn.effects.emplace_back(SendVote{peers_[number].link,
                                     {.epoch = ask.epoch,
                                      .trial = ask.trial,
                                      .granted = granted,
                                      .known = known(),
                                      .echo_us = ask.sent_us}});
}

// What they wait for, and what a person can do.
std::string Election::cure_of_blanks() const {
  uint64_t highest = known().number;
  each_peer([&](BrokerNumber, const Peer& peer) {
    if (peer.up()) highest = std::max(highest, peer.told.known.number);
  });
  if (highest == 0) return "they wait for a majority to begin with";
  return "one of the group ruled by epoch " + std::to_string(highest) +
         ", so these may not vote before a manager has told them all: start those that kept their votes; if "
         "most have lost them, stop all, remove every --data-dir and begin anew";
}

std::string Election::trouble(Time now) const {
  if (rules() && !leads(now)) return "it is cut off from the majority of its group";
  if (rules()) return acts(now) ? "" : "it waits until a majority has written down that it rules";
  if (manager_ != kNoBroker) return "";
  if (settings_.self == kNoBroker) {
    std::string text = "it follows a group from outside, and knows of no manager there";
    each_peer([&](BrokerNumber, const Peer& peer) {
      if (peer.up() && peer.told.rules && peer.told.known < known())
        text = "it follows a group from outside, whose manager rules by epoch " +
               std::to_string(peer.told.known.number) + "; it has obeyed epoch " +
               std::to_string(known().number) + " (if the group was made anew, start this broker anew)";
    });
    return text;
  }
  uint32_t reachable = 1;
  bool only_witnesses = settings_.kind == Kind::kWitness;
  each_peer([&](BrokerNumber number, const Peer& peer) {
    if (!peer.up() || number > settings_.size) return;
    ++reachable;
    only_witnesses = only_witnesses && peer.kind == Kind::kWitness;
  });
  std::string text = std::string("it is a ") + (settings_.kind == Kind::kWitness ? "witness" : "standby") +
                     " without a manager and reaches " + std::to_string(reachable) + " of " +
                     std::to_string(settings_.size) + " brokers";
  if (settings_.quorum == Quorum::kMajority && reachable < settings_.majority())
    text += ", " + std::to_string(settings_.majority()) + " are needed";
  uint32_t blank = memory_.blank ? 1 : 0;
  each_peer([&](BrokerNumber number, const Peer& peer) {
    if (peer.up() && number <= settings_.size && peer.told.blank) ++blank;
  });
  if (blank > 0) text += "; of them " + std::to_string(blank) + " had no votes on disk: " + cure_of_blanks();
  if (only_witnesses) text += "; only witnesses are left, and a witness never rules: start a broker that may";
  if (const uint32_t others = strangers(now); others > 0)
    text += "; with " + std::to_string(others) + " more it differs in settings: its log tells in which";
  return text;
}

}  // namespace redoubt::broker
