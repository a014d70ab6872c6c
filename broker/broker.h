// Broker: a ruling manager's decisions as a pure state machine. Hand it the time and what happened; it
// appends what is to be done. It reads no clock, touches no socket and keeps no lock; one thread at a time.
// Whether it rules at all is decided elsewhere (node.h).
#pragma once

#include <memory>

#include "broker/effect.h"
#include "broker/event.h"
#include "broker/group/table.h"
#include "broker/state.h"

namespace redoubt::broker {

class Broker {
 public:
  // The manager of this epoch. The time of its first step is when it begins.
  explicit Broker(Settings settings, wire::Epoch epoch = {1, 1}) : state_(std::move(settings), epoch) {}

  // What the manager before it left, before the first step. `seq`: the number of its last change. `stale`:
  // nobody who was in sync with it was left, so only what its client sends again is executed.
  void take_over(Time now, Table& table, uint64_t seq, bool stale, Effects& effects);
  // And what this one leaves: afterwards only its counters are good for anything.
  std::unique_ptr<Table> step_down(Time now);

  // What happened at `now`, which never goes back. Everything that is due by then is done first.
  void step(Time now, const Event& event, Effects& effects);

  // When to step again at the latest, with a Tick if nothing else happens; kNever if nothing is waited for.
  Time next_deadline() const;

  // The checkpoint stream's followers: one comes, and what it says. They go with LinkLost.
  void follower_up(Time now, LinkId link, BrokerNumber number, const std::string& name, Effects& effects);
  void follower_heard(Time now, LinkId link, const wire::Pulse& pulse, Effects& effects);
  // The in-sync set that the group has written down; see State::committed.
  void set_committed(Time now, BrokerSet members, Effects& effects);

  // What this broker is called; before its first step.
  void set_name(std::string name) { state_.settings.name = std::move(name); }
  // A service that replicas have offered to this broker before it ruled.
  void know_service(const std::string& name);

  // From now on new requests are refused; those that are here go on.
  void stop_admitting() { state_.stopping = true; }

  const State& state() const { return state_; }
  Counters& counters() { return state_.counters; }

 private:
  Time next_but_halts() const;

  State state_;
  Time last_step_{};
};

}  // namespace redoubt::broker
