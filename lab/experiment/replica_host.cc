// A replica process in virtual time; see replica_host.h.
#include "lab/experiment/replica_host.h"

#include <type_traits>
#include <utility>

#include "core/duration_text.h"

namespace redoubt::experiment {

using namespace replica;

namespace {

Oddity oddity_of(const LevelSetup& level, uint32_t place) {
  return place < level.odd.size() ? level.odd[place] : Oddity{};
}

}  // namespace

ReplicaHost::ReplicaHost(World& world, uint32_t number, uint32_t level, uint32_t place)
    : world_(world),
      number_(number),
      level_(level),
      first_timer_(kFirstReplicaTimer + number * World::timers_a_replica(world.setup)),
      oddity_(oddity_of(world.setup.levels[level], place)),
      is_spare_(place + world.setup.levels[level].spares >= world.setup.levels[level].replicas) {}

void ReplicaHost::begin() {
  ++generation_;
  core_ = std::make_unique<Replica>(Settings{.name = "replica" + std::to_string(number_ + 1),
                                             .incarnation = generation_,
                                             .services = {service_of(level_)},
                                             .workers = world_.setup.workers,
                                             .queue_limit = world_.setup.replica_queue_limit,
                                             .spare = is_spare_});
  workers_.assign(world_.setup.workers, {});
  idle_.clear();
  for (uint32_t worker = world_.setup.workers; worker-- > 0;) idle_.push_back(worker);
  set_timer(kFateTimer, oddity_.up < kAges ? later(world_.now, oddity_.up) : kNever);
  step(LinkUp{{0, generation_}});
}

void ReplicaHost::vanish() {
  for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
    if (workers_[worker].busy) world_.ledger.workers_busy(world_.now, -1);
    set_timer(kFirstWorkerTimer + worker, kNever);
  }
  core_.reset();
  set_timer(kCoreTimer, kNever);
  set_timer(kFateTimer, later(world_.now, oddity_.away));
  world_.send(Letter::To::kBroker, number_, generation_, LinkGone{});
}

void ReplicaHost::alarm(uint32_t which) {
  if (which == kFateTimer) return core_ ? vanish() : begin();
  if (which == kCoreTimer) return step(TimePassed{});
  handler_ends(which - kFirstWorkerTimer);
}

void ReplicaHost::receive(Letter& letter) {
  if (!core_ || letter.generation != generation_) return;  // it was for a process that is gone
  const LinkId link{0, generation_};
  if (auto* copy = std::get_if<wire::Copy>(&letter.content))
    step(CopyArrived{link, std::move(*copy)});
  else if (auto* halt = std::get_if<wire::Halt>(&letter.content))
    step(HaltArrived{link, std::move(*halt)});
  else if (const auto* dummy = std::get_if<wire::Dummy>(&letter.content))
    step(DummyArrived{link, *dummy});
  else if (auto* welcome = std::get_if<wire::Welcome>(&letter.content))
    step(WelcomeArrived{link, std::move(*welcome)});
  else if (auto* adopt = std::get_if<wire::Adopt>(&letter.content))
    step(AdoptArrived{link, std::move(*adopt)});
  else
    CHECK(false);
}

void ReplicaHost::step(Event event) {
  core_->step(world_.now, std::move(event), effects_);
  // What is carried out may lead to further steps, whose effects stand behind.
  for (size_t i = 0; i < effects_.size(); ++i) {
    Effect effect = std::move(effects_[i]);
    carry_out(effect);
  }
  effects_.clear();
  set_timer(kCoreTimer, core_->next_deadline());
}

void ReplicaHost::carry_out(Effect& effect) {
  if (auto* one = std::get_if<Send>(&effect)) return send(*one);
  if (const auto* start = std::get_if<StartCopy>(&effect)) return run(*start);
  if (const auto* one = std::get_if<StopCopy>(&effect)) return stop(*one);
  // Here nothing lies anywhere and nobody breaks the protocol.
  CHECK(!std::holds_alternative<CloseLink>(effect) && !std::holds_alternative<Finished>(effect));
}

void ReplicaHost::send(Send& send) {
  const auto post = [&](auto& message) {
    using Message = std::decay_t<decltype(message)>;
    if constexpr (std::is_same_v<Message, wire::Hello>)
      hello_ = std::move(message);
    else if constexpr (std::is_same_v<Message, wire::Register>)
      world_.send(Letter::To::kBroker, number_, generation_, Joining{std::move(hello_), std::move(message)});
    else if constexpr (std::is_same_v<Message, wire::Leaving>)
      CHECK(false);  // nobody stops it
    else
      world_.send(Letter::To::kBroker, number_, generation_, std::move(message));
  };
  std::visit(post, send.message);
}

void ReplicaHost::run(const StartCopy& start) {
  CHECK(!idle_.empty());
  const uint32_t number = idle_.back();
  idle_.pop_back();
  const Execution execution{
      start.request.seq, start.level,
      world_.ledger.copy_started(start.request.seq, start.level, number_, world_.now - world_.setup.delay)};
  const Duration takes = world_.draws.service_time(execution, world_.setup.levels[level_].service);
  workers_[number] = {.copy = start.copy,
                      .started = world_.now,
                      .fails = world_.draws.fails(execution, oddity_.fails),
                      .stopped = false,
                      .busy = true};
  world_.ledger.workers_busy(world_.now, 1);
  const Duration slowed = oddity_.slow == 1 ? takes : duration_from_seconds(to_seconds(takes) * oddity_.slow);
  set_timer(kFirstWorkerTimer + number, later(world_.now, slowed));
  if (start.tell_start) core_->step(world_.now, CopyStarted{start.copy}, effects_);
}

// A handler that heeds it ends at once.
void ReplicaHost::stop(const StopCopy& stop) {
  if (world_.setup.stubborn) return;
  for (uint32_t number = 0; number < workers_.size(); ++number) {
    Worker& worker = workers_[number];
    if (!worker.busy || worker.copy != stop.copy) continue;
    worker.stopped = true;
    set_timer(kFirstWorkerTimer + number, world_.now);
  }
}

void ReplicaHost::handler_ends(uint32_t number) {
  Worker& worker = workers_[number];
  CHECK(worker.busy);
  worker.busy = false;
  idle_.push_back(number);
  world_.ledger.workers_busy(world_.now, -1);
  CopyEnded ended;
  ended.copy = worker.copy;
  ended.started_at = worker.started;
  ended.ended_at = world_.now;
  if (worker.stopped || worker.fails) {
    ended.outcome = Outcome::kFailed;
    ended.text = worker.stopped ? "stopped" : "it failed";
  }
  step(std::move(ended));
}

}  // namespace redoubt::experiment
