// Node: one broker process as a pure state machine: its place in the group (Election), and what it is just
// now: a manager (Broker), a standby or a witness. It keeps the links of clients and replicas warm while it
// is not the manager, holds back what they say while it does not know whether it still is, and changes the
// one into the other. A shell carries it; the simulator runs whole clusters of it.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "broker/broker.h"
#include "broker/group/election.h"
#include "broker/group/standby.h"

namespace redoubt::broker {

class Node {
 public:
  Node(Settings settings, GroupSettings group, Memory memory);

  // What happened at `now`, which never goes back. Everything that is due by then is done first. TurnEnded
  // follows when all that had arrived has been stepped through.
  void step(Time now, const Event& event, Effects& effects);
  Time next_deadline() const;

  // It rules; and, for acts(), it may decide something: see Election.
  bool rules() const { return broker_ != nullptr; }
  bool acts() const { return rules() && !suspended_; }
  wire::Epoch epoch() const { return rules() ? broker_->state().epoch : election_.known(); }
  // A manager or a standby in sync with one.
  bool ready() const;
  BrokerRole role() const;
  void set_name(std::string name);

  const Settings& settings() const { return settings_; }
  const Election& election() const { return election_; }
  const Standby& standby() const { return standby_; }
  // Of the manager; nothing while it is none.
  const State* state() const { return rules() ? &broker_->state() : nullptr; }
  const Counters& counters() const { return rules() ? broker_->state().counters : counters_; }
  // TurnEnded has something to do.
  bool owes_acknowledgement() const { return acknowledge_; }
  // Who it is to other brokers that find it at this address.
  wire::Enlist enlistment(std::string address) const;
  // Why nobody is served here, for people; empty when somebody is.
  std::string trouble(Time now) const { return election_.trouble(now); }
  struct Other {
    LinkId link{};
    BrokerNumber number = kNoBroker;  // beyond the group's size: a local number for one outside it
    wire::Enlist enlist;
    bool dialled = false;
  };
  const std::map<LinkId, Other>& others() const { return others_; }

 private:
  // Somebody whose link stands, and what it said when it came.
  struct Guest {
    wire::Hello hello;
    std::optional<wire::Register> registration;  // of a replica
    std::string address;
    Time arrived{};
    // While it is not the manager's: of a replica, which wants to hear and be heard.
    Time last_heard{};
    int64_t heard_sent_us = 0;
    bool leaving = false;
  };
  // What happened while the manager was suspended, in order.
  struct KeptMessage {
    LinkId link;
    wire::Message message;
    bool payload_skipped = false;
    Time since;
  };
  struct KeptArrival {
    LinkId link;
  };
  struct KeptLoss {
    LinkId link;
    std::string why;
  };
  using Kept = std::variant<KeptMessage, KeptArrival, KeptLoss>;

  struct Happened;  // dispatches events; node.cc
  friend struct Happened;
  Election::Turn turn(Time now, Effects& effects);

  // guests.cc: clients and replicas while this broker does not act.
  void guest_said(Time now, const Event& event, Effects& effects);
  void keep_guests_warm(Time now, Duration stalled, Effects& effects);
  void guest_came(Time now, LinkId link, Effects& effects);
  void give_to_broker(Time now, const Event& event, Effects& effects);
  void tick(Time now, Effects& effects);
  void link_lost(Time now, LinkId link, const std::string& why, Effects& effects);
  void note_closed_links(Time now, size_t from, Effects& effects);
  // At least once a heartbeat: without that a process could not tell that it stood still.
  Time own_due() const {
    return std::min(
        {election_due_, leave_at_, guests_due_, trouble_at_, later(last_step_, settings_.heartbeat)});
  }

  // others.cc: brokers come and go, and what they say.
  void broker_up(Time now, const BrokerUp& event, Effects& effects);
  std::string unwelcome(const BrokerUp& event) const;
  std::string differs(const wire::Enlist& enlist) const;
  BrokerNumber number_for(const wire::Enlist& enlist) const;
  void close_other(Time now, LinkId link, wire::CloseReason reason, const std::string& text,
                   Effects& effects);
  void other_lost(Time now, LinkId link, const std::string& why, Effects& effects);
  void pulse_arrived(Time now, LinkId link, const wire::Pulse& pulse, Effects& effects);
  void stream_arrived(Time now, LinkId link, wire::Message& message, Effects& effects);
  void turn_ended(Time now, Effects& effects);
  void feed_followers(Time now, LinkId link, Effects& effects);
  const Other* other(LinkId link) const;
  // Only one of the group: who follows from outside has no say.
  const Other* member(LinkId link) const;

  // roles.cc: what this broker becomes.
  void settle(Time now, Effects& effects);
  void promote(Time now, Effects& effects);
  void depose(Time now, Effects& effects);
  void suspend_or_resume(Time now, Effects& effects);
  void replay(Time now, Effects& effects);
  void stop(Time now, Effects& effects);
  bool hand_over(Time now, Effects& effects);
  void say_role(Effects& effects);
  void watch_trouble(Time now, Effects& effects);

  Settings settings_;
  Election election_;
  Standby standby_;
  std::unique_ptr<Broker> broker_;
  Counters counters_;  // while not the manager: what it counted when it was

  std::map<LinkId, Guest> guests_;
  std::set<std::string> services_;  // ever offered here
  std::map<LinkId, Other> others_;

  wire::Epoch followed_;  // whose stream standby_ takes in
  LinkId followed_link_ = kNoLink;
  bool acknowledge_ = false;  // the stream has brought something since the last pulse
  BrokerSet told_in_sync_ = 0;
  bool suspended_ = false;
  bool acted_ = false;  // in this rule
  bool replaying_ = false;
  Time guests_due_ = kNever;  // the next signs of life to replicas
  // This process stood still: until then it reads what lay in its sockets. A client's hello among that would
  // make the way seem so slow that whatever waits later is not charged for it; clients come back at once.
  Time woke_until_{};
  std::deque<Kept> kept_;
  std::optional<BrokerRole> said_role_;
  wire::Epoch said_epoch_;
  bool stopping_ = false, left_ = false;
  // Nobody rules, or it is cut off: to be told then, unless it has been.
  Time trouble_at_ = kNever;
  bool troubled_ = false;
  Time leave_at_ = kNever;
  Time last_step_{};
  mutable Time election_due_ = Time{};  // cached: its peers are walked only when something changed there
};

}  // namespace redoubt::broker
