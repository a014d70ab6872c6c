// Broker: the manager's decisions as a pure state machine. Hand it the time and what happened; it appends
// what is to be done. It reads no clock, touches no socket and keeps no lock; one thread at a time.
#pragma once

#include "broker/effect.h"
#include "broker/event.h"
#include "broker/state.h"

namespace redoubt::broker {

class Broker {
 public:
  explicit Broker(Settings settings) : state_(std::move(settings)) {}

  // What happened at `now`, which never goes back. Everything that is due by then is done first.
  void step(Time now, const Event& event, Effects& effects);

  // When to step again at the latest, with a Tick if nothing else happens; kNever if nothing is waited for.
  Time next_deadline() const;

  // What this broker is called; before its first step.
  void set_name(std::string name) { state_.settings.name = std::move(name); }

  // From now on new requests are refused; those that are here go on.
  void stop_admitting() { state_.stopping = true; }

  const State& state() const { return state_; }

 private:
  State state_;
  Time last_step_{};
};

}  // namespace redoubt::broker
