// Which step an event leads to; see broker.h.
#include "broker/broker.h"

#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

struct Dispatcher {
  Turn& turn;

  // What a manager has no step for: see node.cc.
  template <class Other>
  void operator()(const Other&) const {}
  void operator()(const Tick&) const { send_halts(turn); }
  void operator()(const ClientUp& event) const {
    client_up(turn, event.link, event.hello, std::min(event.arrived, turn.now));
  }
  void operator()(const ReplicaUp& event) const { replica_up(turn, event); }
  void operator()(const SubmitArrived& event) const {
    if (turn.state.client_of(event.link)) admit(turn, event.link, event.submit, event.payload_skipped);
  }
  void operator()(const CancelArrived& event) const {
    if (turn.state.client_of(event.link)) client_cancels(turn, event.link, event.cancel);
  }
  void operator()(const AcknowledgeArrived& event) const {
    const ClientId client = turn.state.client_of(event.link);
    if (!client) return;
    forget_below(turn, turn.state.clients[client], event.acknowledge.low_water);
    checkpoint_mark(turn, client);
  }
  void operator()(const CopyStarted& event) const {
    if (!hears(event.link)) return;
    copy_started(turn, event.link, event.started);
  }
  void operator()(const CopyDone& event) const {
    if (!hears(event.link)) return;
    copy_done(turn, event.link, event.done, event.payload_skipped);
  }
  void operator()(const DummyArrived& event) const {
    if (!hears(event.link)) return;
    Replica& replica = turn.state.replicas[turn.state.replica_of(event.link)];
    replica.heard_sent_us = event.dummy.sent_us;
    if (!event.dummy.answer) return;
    replica.last_sent = turn.now;
    turn.effects.emplace_back(
        SendDummy{event.link, {.sent_us = to_us(turn.now), .echo_us = replica.heard_sent_us}});
  }
  void operator()(const ReplicaLeaving& event) const {
    if (hears(event.link)) replica_leaving(turn, turn.state.replica_of(event.link));
  }
  void operator()(const HoldingArrived& event) const {
    if (hears(event.link)) replica_holds(turn, event.link, event.holding);
  }
  void operator()(const LinkLost& event) const {
    if (turn.state.client_of(event.link))
      client_lost(turn, event.link);
    else if (const ReplicaId replica = turn.state.replica_of(event.link))
      replica_lost(turn, replica, event.why);
    else
      follower_lost(turn, event.link, event.why);
  }

  // Every frame of a replica is a sign of life. False when the link was given up while the frame was under
  // way.
  bool hears(LinkId link) const {
    const ReplicaId replica = turn.state.replica_of(link);
    if (!replica) return false;
    heard_from(turn, replica);
    return true;
  }
};

}  // namespace

void Broker::step(Time now, const Event& event, Effects& effects) {
  CHECK(now >= last_step_);
  Turn turn{state_, now, effects};
  if (state_.settles_at == kNever) state_.settles_at = later(now, kSettling);
  const Time due = next_but_halts();
  if (due <= now) {
    // Late by more than two heartbeats: this process was stopped, not its peers.
    const Duration stood_still = now - std::max(due, last_step_);
    if (stood_still > 2 * state_.settings.heartbeat) forgive_silence(turn, stood_still);
    deadlines_passed(turn);
    settle(turn);
    forget_lingering(turn);
    drop_slow_followers(turn);
  }
  std::visit(Dispatcher{turn}, event);
  // After the event: what has just been heard counts.
  if (due <= now) heartbeats(turn);
  if (!state_.inherited.empty()) recover(turn);
  serve_queues(turn);
  last_step_ = now;
}

void Broker::take_over(Time now, Table& table, uint64_t seq, bool stale, Effects& effects) {
  CHECK(last_step_ == Time{});
  Turn turn{state_, now, effects};
  state_.checkpoint_seq = seq;
  inherit(turn, table, stale);
  serve_queues(turn);
}

std::unique_ptr<Table> Broker::step_down(Time now) { return bequeath(state_, now); }

void Broker::follower_up(Time now, LinkId link, BrokerNumber number, const std::string& name,
                         Effects& effects) {
  Turn turn{state_, now, effects};
  broker::follower_up(turn, link, number, name);
  serve_queues(turn);
}

void Broker::follower_heard(Time now, LinkId link, const wire::Pulse& pulse, Effects& effects) {
  Turn turn{state_, now, effects};
  broker::follower_heard(turn, link, pulse);
  serve_queues(turn);
}

void Broker::set_committed(Time now, BrokerSet members, Effects& effects) {
  Turn turn{state_, now, effects};
  if (state_.committed == members) return;
  state_.committed = members;
  dispatch_confirmed(turn);
  serve_queues(turn);
}

void Broker::know_service(const std::string& name) {
  if (const ServiceId* id = state_.learn_service(name)) state_.services[*id].offered = true;
}

Time Broker::next_deadline() const {
  const Time due = next_but_halts();
  return state_.halts.empty() ? due : std::min(due, std::max(state_.halts.top_key(), last_step_));
}

// Halts leave with the tick that ends a turn, and not with whatever else happens in it.
Time Broker::next_but_halts() const {
  Time due = kNever;
  if (!state_.deadlines.empty()) due = std::min(due, state_.deadlines.top_key());
  if (!state_.heartbeats.empty()) due = std::min(due, state_.heartbeats.top_key());
  due = std::min(due, followers_due(state_));
  if (!state_.restless.empty()) due = std::min(due, last_step_);
  if (!state_.inherited.empty()) due = std::min(due, std::max(recovering_from(state_), last_step_));
  if (state_.awaited > 0) due = std::min(due, state_.settles_at);
  if (!state_.lingering.empty()) {
    const Client* client = state_.clients.find(state_.lingering.front());
    due = std::min(due, client && client->link == kNoLink ? client->lingers_until : last_step_);
  }
  return due;
}

}  // namespace redoubt::broker
