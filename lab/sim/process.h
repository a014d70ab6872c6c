// Process: what every simulated program has: a clock of its own, a timer, a place in the network, and a life
// that can end and begin again. A program's core is stepped only through these.
#pragma once

#include <string>

#include "lab/sim/network.h"

namespace redoubt::sim {

class Process : public Host {
 public:
  Process(World& world, Network& network, std::string name)
      : world_(world), network_(network), name_(std::move(name)), self_(network.add(*this)) {
    // Steady clocks of different hosts have nothing to do with each other.
    offset_ = std::chrono::seconds(1 + world_.random.below(100000));
  }

  HostId self() const { return self_; }
  const std::string& name() const { return name_; }
  bool alive() const { return alive_; }
  Time clock() const { return world_.now() + offset_; }
  Time to_true(Time own) const { return own == kNever ? kNever : own - offset_; }

  void start() {
    alive_ = true;
    due_ = kNever;
    begin();
  }
  // As kill -9.
  void crash() {
    alive_ = false;
    network_.kill(self_);
    end();
  }
  // All that it has to say has been sent.
  void leave() {
    alive_ = false;
    network_.kill(self_);
    end();
  }

 protected:
  virtual void begin() = 0;
  virtual void end() = 0;
  virtual void wake() = 0;  // the time asked for has come
  virtual Time next_deadline() const = 0;

  // After every step.
  void arm() {
    const Time due = to_true(next_deadline());
    if (!alive_ || due == kNever || (due_ != kNever && due_ <= due && due_ > world_.now())) return;
    due_ = std::max(due, world_.now());
    const uint32_t epoch = network_.epoch(self_);
    world_.at(due_, [this, epoch, at = due_] {
      network_.run(self_, epoch, [this, at] {
        if (due_ == at) due_ = kNever;
        if (clock() >= next_deadline()) wake();
        arm();
      });
    });
  }
  void later_here(Duration pause, std::function<void()> what) {
    const uint32_t epoch = network_.epoch(self_);
    world_.after(pause, [this, epoch, what = std::move(what)] { network_.run(self_, epoch, what); });
  }

  World& world_;
  Network& network_;

 private:
  const std::string name_;
  const HostId self_;
  Duration offset_{};
  Time due_ = kNever;
  bool alive_ = false;
};

}  // namespace redoubt::sim
