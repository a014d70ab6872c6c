// World: what the parts of an experiment share: the time, what is under way, alarms, chance and the ledger.
#pragma once

#include "lab/experiment/draws.h"
#include "lab/experiment/ledger.h"
#include "lab/experiment/post.h"
#include "lab/experiment/setup.h"
#include "lab/experiment/timers.h"

namespace redoubt::experiment {

// Alarms of the world itself; behind them each replica has a row of its own.
enum : uint32_t { kArrivalTimer, kBrokerTimer, kFirstReplicaTimer };
// Of a replica's row: its core's deadline, its next vanishing or return, and the ends of its handlers.
enum : uint32_t { kCoreTimer, kFateTimer, kFirstWorkerTimer };

struct World {
  explicit World(const Setup& point)
      : setup(point), draws(point.seed), timers(timers_of(point)), ledger(point) {}

  // Not 0: a message that was sent at 0 counts as never sent.
  Time now = Time{} + std::chrono::seconds(1);
  const Setup& setup;
  const Draws draws;
  Timers timers;
  Post post;
  Ledger ledger;

  static uint32_t timers_a_replica(const Setup& setup) { return kFirstWorkerTimer + setup.workers; }

  void send(Letter::To to, uint32_t replica, uint32_t generation, Letter::Content content) {
    post.send({later(now, setup.delay), to, replica, generation, std::move(content)});
  }

 private:
  static uint32_t timers_of(const Setup& setup) {
    uint32_t replicas = 0;
    for (const LevelSetup& level : setup.levels) replicas += level.replicas;
    return kFirstReplicaTimer + replicas * timers_a_replica(setup);
  }
};

}  // namespace redoubt::experiment
