// What the tests of the election share: one Election, peers that say what a test wants them to, and a clock
// that is set by hand. In most stories the broker under test is number 1 of three; broker 2 ruled in epoch 1,
// and had everybody in sync.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "broker/group/election.h"

namespace redoubt::broker {

using std::chrono::milliseconds;

inline constexpr wire::Epoch kEarlier{1, 2};  // of broker 2, which ruled before
inline constexpr wire::Position kWhole{kEarlier, 10};
inline constexpr wire::SyncSet kEverybody{kEarlier, 3, only(1) | only(2) | only(3)};
inline constexpr Memory kRemembers{.blank = false, .promised = kEarlier, .set = kEverybody};

// What a peer says in a pulse; the rest of one is filled in.
struct Words {
  wire::Epoch known{};
  bool rules = false, blank = false, answer = false;
  wire::Position position{};
  wire::SyncSet set{};
  std::vector<uint64_t> succession{};
  Time echo{};  // when what it echoes was sent
  bool obeys = false;
};

class ElectionTest : public testing::Test {
 protected:
  // Broker 1 of three, as it is after a start with this memory. `change` adjusts the settings.
  void build(const Memory& memory, const std::function<void(GroupSettings&)>& change = nullptr) {
    GroupSettings settings;
    settings.size = 3;
    settings.quorum = Quorum::kMajority;
    if (change) change(settings);
    election_ = std::make_unique<Election>(settings, memory);
    election_->tick(turn(), Duration::zero());
  }
  // One that has followed broker 2 and holds everything. Broker 3 is there, too.
  void build_follower(const std::function<void(GroupSettings&)>& change = nullptr) {
    build(kRemembers, change);
    hold(kWhole);
    come(2);
    come(3);
    say(3, {.known = kEarlier, .position = kWhole, .set = kEverybody});
    manager_says();
  }
  // One that rules in epoch 2 since now: broker 2 is dead, and the others have voted for it.
  void build_manager(const std::vector<BrokerNumber>& voters = {3},
                     const std::function<void(GroupSettings&)>& change = nullptr) {
    build_follower(change);
    for (const BrokerNumber voter : voters) come(voter);
    for (const BrokerNumber voter : voters) say(voter, {.known = kEarlier, .position = kWhole});
    die(2);
    tick();
    for (const BrokerNumber voter : voters) vote(voter, true);
    for (const BrokerNumber voter : voters) vote(voter, true);
    reach_disk();
    commit(voters);
    ASSERT_TRUE(election_->acts(now_));
  }
  // It rules; its set is on its own disk and on theirs now.
  void commit(const std::vector<BrokerNumber>& voters) {
    ASSERT_TRUE(election_->rules());
    reach_disk();
    for (const BrokerNumber voter : voters)
      say(voter, {.known = election_->epoch(), .position = kWhole, .set = election_->memory().set});
  }

  Election::Turn turn() { return {now_, effects_}; }
  void tick() { election_->tick(turn(), Duration::zero()); }
  // Time goes by: the election runs whenever it asks to, and whoever has spoken says the same again once a
  // heartbeat. Who has not is given up in the end, as the Node does it.
  void pass(Duration time) {
    const Time until = now_ + time;
    for (int steps = 0;; ++steps) {
      ASSERT_LT(steps, 10'000) << "it never rests";
      const Time due = std::max(now_, std::min(election_->next_deadline(), speak_at_));
      if (due > until) break;
      now_ = due;
      tick();
      while (const BrokerNumber silent = election_->silent_peer(now_)) election_->peer_lost(turn(), silent);
      if (speak_at_ > now_) continue;
      speak_at_ = now_ + election_->settings().heartbeat;
      const auto said = said_;
      for (const auto& [peer, words] : said) say(peer, words);
    }
    now_ = until;
  }
  void fall_silent(BrokerNumber peer) { said_.erase(peer); }

  static LinkId link(BrokerNumber peer) { return LinkId{peer}; }
  void come(BrokerNumber peer, wire::Kind kind = wire::Kind::kVoter, uint64_t incarnation = 1) {
    wire::Enlist enlist;
    enlist.broker = peer;
    enlist.kind = kind;
    enlist.incarnation = incarnation;
    said_.erase(peer);
    election_->peer_up(turn(), peer, link(peer), enlist);
  }
  void lose(BrokerNumber peer) {
    said_.erase(peer);
    election_->peer_lost(turn(), peer);
  }
  // Its link closes, and its host refuses another.
  void die(BrokerNumber peer) {
    lose(peer);
    election_->unreachable(turn(), peer, true);
  }
  void hold(wire::Position position) { election_->holds(position, 0, 0); }
  void say(BrokerNumber from, const Words& words) {
    said_[from] = words;
    wire::Pulse pulse;
    pulse.known = words.known;
    pulse.rules = words.rules;
    pulse.blank = words.blank;
    pulse.answer = words.answer;
    pulse.position = words.position;
    pulse.set = words.set;
    pulse.succession = words.succession;
    pulse.sent_us = to_us(now_);
    pulse.echo_us = to_us(words.echo);
    pulse.obeys = words.obeys;
    election_->pulse(turn(), from, pulse);
  }
  void manager_says() {
    say(2, {.known = kEarlier, .rules = true, .position = kWhole, .set = kEverybody, .succession = {1, 3}});
  }
  // Broker 2 leaves, and rules no more.
  void hand_over(uint64_t seq, BrokerNumber successor) {
    said_.erase(2);
    election_->handed_over(turn(), 2, {.epoch = kEarlier, .seq = seq, .successor = successor});
  }
  // From one that takes this broker for its manager: it has read what was sent at that time.
  void echo(BrokerNumber from, Time sent, bool obeys = true) {
    say(from, {.known = election_->epoch(), .echo = sent, .obeys = obeys});
  }

  // A candidate's question as a broker asks it that was in sync to the end.
  static wire::VoteAsk question(wire::Epoch epoch, bool trial = false) {
    return {.epoch = epoch, .trial = trial, .stale = false, .set = kEverybody, .position = kWhole};
  }
  void ask(wire::VoteAsk ask) {
    ask.sent_us = to_us(now_);
    election_->asked(turn(), ask.epoch.broker, ask);
  }
  // The peer answers what this broker has asked it last.
  void vote(BrokerNumber from, bool granted) {
    const wire::VoteAsk asked = asked_of(from).back();
    election_->voted(turn(), from,
                     {.epoch = asked.epoch,
                      .trial = asked.trial,
                      .granted = granted,
                      .known = granted ? asked.epoch : kEarlier,
                      .echo_us = asked.sent_us});
  }
  // All that was to be written down is.
  void reach_disk() { election_->written(turn(), all<Persist>().back().number); }

  template <class What>
  std::vector<What> all() const {
    std::vector<What> found;
    for (const Effect& effect : effects_)
      if (const auto* one = std::get_if<What>(&effect)) found.push_back(*one);
    return found;
  }
  std::vector<wire::VoteAsk> asked_of(BrokerNumber peer) const {
    std::vector<wire::VoteAsk> found;
    for (const SendVoteAsk& send : all<SendVoteAsk>())
      if (send.to == link(peer)) found.push_back(send.ask);
    return found;
  }
  std::vector<wire::Pulse> told(BrokerNumber peer) const {
    std::vector<wire::Pulse> found;
    for (const SendPulse& send : all<SendPulse>())
      if (send.to == link(peer)) found.push_back(send.pulse);
    return found;
  }
  // What this broker has answered candidates: true for a vote, or the promise of one.
  std::vector<bool> answers() const {
    std::vector<bool> found;
    for (const SendVote& send : all<SendVote>()) found.push_back(send.vote.granted);
    return found;
  }
  bool stands() const { return !all<SendVoteAsk>().empty(); }

  Time now_ = Time{} + std::chrono::hours(1);
  std::unique_ptr<Election> election_;
  Effects effects_;

 private:
  std::map<BrokerNumber, Words> said_;
  Time speak_at_ = now_ + milliseconds(50);
};

}  // namespace redoubt::broker
