// ReplicaHost: a replica's core with workers that take virtual time, and the process around it, which may
// vanish and return.
#pragma once

#include <memory>
#include <vector>

#include "lab/experiment/world.h"
#include "replica/replica.h"

namespace redoubt::experiment {

class ReplicaHost {
 public:
  // `number`: among all replicas; `place`: among those of its level.
  ReplicaHost(World& world, uint32_t number, uint32_t level, uint32_t place);

  // The process starts and dials the broker.
  void begin();
  // Something has arrived from the broker.
  void receive(Letter& letter);
  // An alarm of its row has come.
  void alarm(uint32_t which);

 private:
  struct Worker {
    replica::CopyHandle copy;
    Time started;
    bool fails = false, stopped = false, busy = false;
  };

  void vanish();
  void step(replica::Event event);
  void carry_out(replica::Effect& effect);
  void send(replica::Send& send);
  void run(const replica::StartCopy& start);
  void stop(const replica::StopCopy& stop);
  void handler_ends(uint32_t worker);
  void set_timer(uint32_t which, Time at) { world_.timers.set(first_timer_ + which, at); }

  World& world_;
  const uint32_t number_, level_, first_timer_;
  const Oddity oddity_;
  const bool is_spare_;
  std::unique_ptr<replica::Replica> core_;  // none while it is away
  uint32_t generation_ = 0;                 // of the process and its link
  wire::Hello hello_;                       // waits for the registration
  std::vector<Worker> workers_;
  std::vector<uint32_t> idle_;  // places in workers_
  replica::Effects effects_;
};

}  // namespace redoubt::experiment
