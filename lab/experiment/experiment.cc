// The loop of an experiment; see experiment.h.
#include "lab/experiment/experiment.h"

#include <deque>
#include <optional>

#include "lab/experiment/broker_host.h"
#include "lab/experiment/replica_host.h"

namespace redoubt::experiment {
namespace {

class Experiment {
 public:
  explicit Experiment(const Setup& setup)
      : world_(setup), broker_(world_), arrivals_(setup.arrivals, setup.rate, world_.draws.arrivals()) {
    uint32_t number = 0;
    for (uint32_t level = 0; level < setup.levels.size(); ++level)
      for (uint32_t place = 0; place < setup.levels[level].replicas; ++place)
        replicas_.emplace_back(world_, number++, level, place);
  }

  Findings run() {
    broker_.begin();
    for (ReplicaHost& replica : replicas_) replica.begin();
    while (world_.post.next() != kNever) deliver();  // all have registered
    start_ = world_.now;
    await_arrival();
    while (!world_.ledger.complete() && !(arrivals_ended_ && world_.ledger.all_settled())) advance();
    return world_.ledger.finish(world_.now);
  }

 private:
  // The next thing happens. What arrives comes before an alarm of the same moment.
  void advance() {
    if (world_.post.next() <= world_.timers.next()) return deliver();
    CHECK(world_.timers.next() >= world_.now);
    world_.now = world_.timers.next();
    const uint32_t timer = world_.timers.take();
    if (timer == kArrivalTimer) return arrive();
    if (timer == kBrokerTimer) return broker_.tick();
    const uint32_t each = World::timers_a_replica(world_.setup);
    replicas_[(timer - kFirstReplicaTimer) / each].alarm((timer - kFirstReplicaTimer) % each);
  }

  void deliver() {
    Letter letter = world_.post.take();
    world_.now = letter.due;
    switch (letter.to) {
      case Letter::To::kBroker:
        return broker_.receive(letter);
      case Letter::To::kReplica:
        return replicas_[letter.replica].receive(letter);
      case Letter::To::kClient:
        return world_.ledger.answer(world_.now, std::get<Answered>(letter.content));
    }
  }

  void await_arrival() {
    const std::optional<Duration> next = arrivals_.next();
    arrivals_ended_ = !next;
    world_.timers.set(kArrivalTimer, next ? later(start_, *next) : kNever);
  }

  void arrive() {
    const uint64_t seq = world_.ledger.submit(world_.now);
    world_.send(Letter::To::kBroker, 0, 0, Submitted{seq, world_.ledger.low_water(), to_us(world_.now)});
    await_arrival();
  }

  World world_;
  BrokerHost broker_;
  std::deque<ReplicaHost> replicas_;  // which stay where they are
  tool::Arrivals arrivals_;
  Time start_;
  bool arrivals_ended_ = false;
};

}  // namespace

Findings run(const Setup& setup) { return Experiment(setup).run(); }

}  // namespace redoubt::experiment
