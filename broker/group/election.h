// Election: which broker of the group rules. A pure state machine that knows peers, pulses, votes and the
// lease, and nothing of requests: the Node asks it after every event what this broker is now.
//
// A follower that has lost its manager asks the others twice: first whether they would vote for it (that
// binds nobody, so one that is cut off cannot unseat a manager that everybody else still hears), then for the
// vote itself. A vote is written down before it is given, and given once for a number. It goes only to a
// broker of the newest in-sync set the voter has heard of whose state is as far as the voter's own. When
// nobody of that set is left a promotion is possible as `stale`.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "broker/effect.h"
#include "broker/group/group.h"
#include "core/random.h"
#include "core/transit.h"

namespace redoubt::broker {

class Election {
 public:
  enum class Office : uint8_t { kFollower, kCandidate, kManager };

  Election(GroupSettings settings, Memory memory);

  // ---- What happens. `effects` gets pulses, questions, votes and what is to be written down.
  struct Turn {
    Time now;
    Effects& effects;
  };
  // The first turn: from here on silence counts.
  void begin(Turn turn);
  void peer_up(Turn turn, BrokerNumber peer, LinkId link, const wire::Enlist& enlist);
  void peer_lost(Turn turn, BrokerNumber peer);
  // It is there, but its settings are not those of this group.
  void estranged(Time now, BrokerNumber peer);
  // Nobody listens at its address, or nobody answers.
  void unreachable(Turn turn, BrokerNumber peer, bool refused);
  void pulse(Turn turn, BrokerNumber peer, const wire::Pulse& pulse);
  // A frame of the checkpoint stream is a word of the manager as well.
  // Returns what the frame took to get here beyond the usual.
  Duration stream(Turn turn, BrokerNumber peer, int64_t sent_us);
  void asked(Turn turn, BrokerNumber peer, const wire::VoteAsk& ask);
  void voted(Turn turn, BrokerNumber peer, const wire::Vote& vote);
  void handed_over(Turn turn, BrokerNumber peer, const wire::HandOver& message);
  // The write of that number is on disk, and all before it.
  void written(Turn turn, uint64_t number);
  // Does what is due. `stalled`: how much later than it wanted this process runs.
  void tick(Turn turn, Duration stalled);
  // A peer that has said nothing for dead-after: the Node closes its link and tells peer_lost().
  BrokerNumber silent_peer(Time now) const;
  Time next_deadline() const;

  // ---- What the Node tells.
  // How far the state is that this broker could rule with; epoch 0: none. `hash` and `received` are passed
  // on.
  void holds(wire::Position position, uint64_t hash, uint64_t received);
  // As manager: which brokers hold all that it has (itself is one of them), in the order of succession.
  void in_sync(Turn turn, BrokerSet members, const std::vector<BrokerNumber>& succession);
  // A manager has sent this broker everything: what it may have forgotten does not matter any more.
  void collected(Turn turn);
  // The manager leaves: it votes, but stands no more.
  void abdicate(Turn turn, BrokerNumber successor, uint64_t seq);
  // The acknowledgement of what has arrived, to the manager.
  void acknowledge(Turn turn);

  // ---- What this broker is.
  bool rules() const { return office_ == Office::kManager; }
  // It rules, its lease stands, and a majority has written down its in-sync set: it may send copies, replies
  // and refusals. Before that, whoever was in sync with the manager before it could still be elected, and
  // would do again what this one has done.
  bool acts(Time now) const { return leads(now) && committed_.epoch == epoch_; }
  wire::Epoch epoch() const { return epoch_; }  // of its own rule
  bool stale() const { return stale_; }         // it won without having been in sync
  bool founds() const { return founds_; }       // nobody ever ruled before, as far as anybody knows
  BrokerNumber manager() const { return rules() ? settings_.self : manager_; }
  wire::Epoch known() const;  // the highest epoch it has promised to or obeyed
  const Memory& memory() const { return memory_; }
  // Of a manager that acts: those that a majority has written down as in sync; until it has written down that
  // one is not any more it must be waited for.
  const wire::SyncSet& committed() const { return committed_; }
  struct PeerView {
    bool up = false;
    wire::Kind kind = wire::Kind::kVoter;
    Time last_heard;
    wire::Pulse told;
  };
  PeerView peer(BrokerNumber number) const;
  // For people: why nobody rules.
  std::string trouble(Time now) const;
  const GroupSettings& settings() const { return settings_; }

 private:
  struct Peer {
    LinkId link = kNoLink;
    wire::Kind kind = wire::Kind::kVoter;
    bool refused = false;
    Time down_since{};
    Time last_heard{}, last_sent{}, last_ruling{};
    Time estranged_until{};
    Time fresh{};  // all that it had said by then, by our clock, has arrived here
    Transit transit;
    Time echoed_of{};  // when the newest frame of its that our obeying pulses have echoed came here
    uint64_t incarnation = 0;
    int64_t newest_sent_us = 0;  // of its frames, by its clock: echoed
    Time echoed{};               // when the newest of our frames that it has echoed was sent
    bool heard = false;          // a pulse has come on this link
    wire::Pulse told;
    std::optional<wire::VoteAsk> held;  // a question that waits until we have lost the manager, too
    Time held_since{};
    bool up() const { return link != kNoLink; }
  };
  // It is dialled again at least once in this time.
  static constexpr Duration kEstranged = std::chrono::seconds(2);
  // How many times dead-after a candidate waits for votes: voters write them down, and disks can be slow.
  static constexpr int kVotePatience = 4;
  // Those behind in the succession leave the first this much time each.
  static constexpr Duration kTurn = std::chrono::milliseconds(10);

  struct Grant {
    BrokerNumber to = kNoBroker;
    wire::Epoch epoch;
    uint64_t write = 0;   // goes out when this is on disk
    int64_t echo_us = 0;  // when it was asked for
  };

  template <class Visit>
  void each_peer(Visit visit) {
    for (BrokerNumber number = 1; number <= highest_; ++number)
      if (number != settings_.self) visit(number, peers_[number]);
  }
  template <class Visit>
  void each_peer(Visit visit) const {
    const_cast<Election*>(this)->each_peer(visit);
  }

  bool leads(Time now) const { return rules() && lease_ > now; }
  void renew_lease();
  Time lease_from_echoes() const;
  bool manager_lives(Time now) const;
  Time lease_of_manager() const;
  void obey(Turn turn, BrokerNumber peer, wire::Epoch epoch);
  void lose_manager(Turn turn);
  void step_down(Turn turn);
  void learn_set(Turn turn, const wire::SyncSet& set);
  void refresh_committed();

  bool blank_may_vote() const;
  bool may_stand(Time now) const;
  bool has_given_lease(BrokerNumber other_than, Time now) const;
  bool is_fresh() const;
  bool set_member_left(const wire::SyncSet& set, BrokerNumber except, Time now) const;
  bool enough_reachable(Time now) const;
  uint32_t strangers(Time now) const;
  std::string cure_of_blanks() const;
  Duration my_turn() const;
  void stand(Turn turn);
  void stand_later(Time at);
  Time ask_until() const;
  void give_up(Turn turn);
  void count_grants(Turn turn);
  void rule(Turn turn);
  void answer(Turn turn, BrokerNumber peer);
  void answer_all(Turn turn);
  bool would_vote(Turn turn, BrokerNumber peer, const wire::VoteAsk& ask, wire::SyncSet& newest);
  void send_vote(Turn turn, BrokerNumber peer, const wire::VoteAsk& ask, bool granted);
  void send_grants(Turn turn);
  void ask(Turn turn, Peer& peer) const;
  void ask_all(Turn turn);
  void forgive_silence(Time now);

  uint64_t write(Turn turn);
  void send_pulse(Turn turn, Peer& peer, bool answer);
  void pulse_all(Turn turn, bool answer);
  Duration heard_from(Turn turn, Peer& peer, int64_t sent_us);

  const GroupSettings settings_;
  Random random_;
  Memory memory_;
  uint64_t writes_ = 0, on_disk_ = 0;
  std::array<Peer, wire::kMaxGroup + 1> peers_;
  BrokerNumber highest_;  // number of any peer so far

  Office office_ = Office::kFollower;
  wire::Epoch epoch_;   // while candidate or manager
  wire::Epoch obeyed_;  // the highest epoch of anyone seen to rule
  bool stale_ = false;
  BrokerNumber manager_ = kNoBroker;
  bool link_lost_ = false;  // the manager's: whether its process is gone is not known yet
  bool lagged_ = false;     // when the manager was lost its newest word was old already
  std::vector<BrokerNumber> succession_;

  // As candidate.
  bool trial_ = false;
  BrokerSet grants_ = 0, refusals_ = 0;
  uint64_t own_write_ = 0;
  Time asked_at_{}, ask_until_ = kNever;
  Time stand_at_ = kNever;
  std::vector<Grant> grants_to_write_;  // one an asker
  // Who got this broker's vote last rules on the strength of it for a while: nobody else gets it then.
  BrokerNumber lease_given_to_ = kNoBroker;
  Time lease_given_until_{};
  // This process does not know whom the one before it gave a lease to; until then it votes for nobody.
  Time silent_until_{};

  // As manager.
  bool founds_ = false;
  Time lease_{};  // it may act until then
  wire::SyncSet committed_;
  bool suspended_ = false;  // its lease has ended; what the last pulse said
  Time suspended_since_{};
  Time doubt_until_{};  // quorum one: this process stood still, somebody may have taken over

  wire::Position position_;
  uint64_t hash_ = 0, received_ = 0;
  Time began_ = kNever;
  bool leaving_ = false;
};

}  // namespace redoubt::broker
