// The flags of an experiment, and their rules; see flags.h.
#include "lab/experiment/flags.h"

#include <algorithm>
#include <cmath>

#include "broker/limits.h"
#include "core/duration_text.h"
#include "wire/policy_text.h"

namespace redoubt::experiment {
namespace {

using broker::Pick;

// With longer ways, a replica charges its copies for what it cannot tell from a handshake that lay unread
// (core/transit.h).
constexpr Duration kLongestDelay = std::chrono::milliseconds(45);
constexpr uint32_t kMostReplicas = 1000;  // of a level

void declare_cluster(Options& options, Flags& flags) {
  options.section("The cluster");
  options.add("levels", flags.levels, {1, wire::kMaxLevels}, "that a request passes");
  options.add("replicas", flags.replicas, {1, kMostReplicas}, "of a level: one number for all, or one each");
  options.add("service", flags.services, "time that an execution takes: one for all levels, or one each");
  options.add("spares", flags.spares, {0, kMostReplicas}, "of a level's replicas, kept for what others lose");
  options.add("workers", flags.setup.workers, {1, wire::kMaxWorkers}, "of a replica");
  options.add("delay", flags.setup.delay, {Duration::zero(), kLongestDelay}, "of every message, one way");
  options.add("stubborn", flags.setup.stubborn, "handlers that are asked to stop run to their end");
  options.section("One replica of each level");
  options.add("slow", flags.slow, {0.001, 1000}, "takes so many times as long");
  options.add("fail", flags.fail, {0, 1}, "fails an execution with this probability");
  options
      .add("vanish", flags.vanish, {std::chrono::microseconds(1), kLongestDuration},
           "vanishes after so long with all it holds, and registers again after the second time")
      .shaped("UP,AWAY");
}

void declare_broker(Options& options, Flags& flags) {
  broker::Settings& settings = flags.setup.broker;
  options.section("The broker");
  options.add("attempts", settings.attempts, {1, broker::kMaxAttempts},
              "executions of one request at one level that may fail or be lost with their replica");
  options.add("queue-limit", settings.queue_limit, {0, broker::kMaxQueueLimit},
              "requests waiting at the manager");
  options.add("replica-threshold", flags.replica_threshold, {1, 1'000'000},
              "copies outstanding at a replica from which it counts as loaded (measured)");
  options.add("heartbeat", flags.heartbeat, {std::chrono::milliseconds(1), kLongestDuration},
              "pause after which a quiet link gets a sign of life, and a tenth of dead-after (never)");
  options.add("policy", flags.policies, "of the services, which are called level1, level2, ...")
      .shaped("SERVICE(KEY=VALUE,...),...");
  options.add("backup-factor", settings.backup_factor, {0, 1000},
              "a backup is sent with the probability of its request's class times this");
  options.add_choice(
      "pick", settings.pick,
      {{"least-loaded", Pick::kLeastLoaded}, {"p2c", Pick::kTwoChoices}, {"random", Pick::kRandom}},
      "how replicas are chosen");
}

void declare_load(Options& options, Flags& flags) {
  options.section("The load");
  options.add("rate", flags.rate, {1e-6, 1e9}, "requests a second");
  options.add("load", flags.load, {1e-6, 1000},
              "instead of --rate: share of the cluster's capacity that one copy of each would take");
  options.add("arrivals", flags.arrivals, "poisson, constant, batch(N), trace:FILE")
      .shaped("poisson|constant|batch(N)|trace:FILE");
  options.add("requests", flags.setup.requests, {1, uint64_t{1} << 40}, "that count");
  options.add("warm-up", flags.setup.warm_up, {0, uint64_t{1} << 40}, "requests before them that do not");
  options.add("seed", flags.setup.seed, "of arrivals, service times, failures and picks");
}

void declare_request(Options& options, Flags& flags) {
  options.section("The request");
  options.add("copies", flags.copies, {1, wire::kMaxCopies},
              "replicas that run it at the same time: one number for every level, or one each (1, or what "
              "--policy says)");
  options.add("deadline", flags.setup.deadline, {Duration::zero(), kLongestDuration},
              "from the call to its outcome; 0s is none");
  options.add("wait-limit", flags.setup.wait_limit, {Duration::zero(), kLongestDuration},
              "on the time spent waiting in queues, all levels together; 0s is none");
  options.add("redundancy", flags.redundancy, "how copies are arranged (per-level, or what --policy says)")
      .shaped(std::string(wire::kRedundancyWords));
  options
      .add("disposal", flags.disposal,
           "when copies that are no longer needed go (on-completion, or what --policy says)")
      .shaped(std::string(wire::kDisposalWords));
  options.add("class", flags.service_class, {0.001, 0.999}, "how much depends on it (backup)");
}

// One value for every level, or one each.
template <class T>
Failure check_count(const std::string& flag, const std::vector<T>& values, uint32_t levels) {
  if (values.size() <= 1 || values.size() == levels) return {};
  return Error{flag + ": " + std::to_string(values.size()) + " values for " + std::to_string(levels) +
               " levels: give one for all, or one for each"};
}

Failure check(const Flags& flags) {
  if (Failure failure = check_count("--replicas", flags.replicas, flags.levels)) return failure;
  if (Failure failure = check_count("--service", flags.services, flags.levels)) return failure;
  if (Failure failure = check_count("--copies", flags.copies, flags.levels)) return failure;
  if (flags.rate.has_value() == flags.load.has_value()) return Error{"give either --rate or --load"};
  if (!flags.vanish.empty() && flags.vanish.size() != 2)
    return Error{"--vanish: give two times, such as 10s,1s: how long it is up, and how long away"};
  for (const uint32_t replicas : flags.replicas)
    if (flags.spares >= replicas) return Error{"--spares: a level needs a replica that is none"};
  for (const Distribution& service : flags.services)
    if (service.mean() == Duration::zero()) return Error{"--service: an execution must take some time"};
  return {};
}

bool is_service(const std::string& name, uint32_t levels) {
  if (name == "*") return true;
  for (uint32_t level = 0; level < levels; ++level)
    if (name == service_of(level)) return true;
  return false;
}

// Requests a second that the level with the least room could serve, with one copy of each.
double capacity(const Setup& setup) {
  double least = 0;
  for (const LevelSetup& level : setup.levels) {
    const double workers = static_cast<double>(level.replicas) * setup.workers;
    const double room = workers / to_seconds(level.service.mean());
    least = least == 0 ? room : std::min(least, room);
  }
  return least;
}

}  // namespace

void declare(Options& options, Flags& flags) {
  declare_cluster(options, flags);
  declare_broker(options, flags);
  declare_load(options, flags);
  declare_request(options, flags);
  options.section("Results");
  options.add("batches", flags.batches, "the shares of timely requests of each batch as well");
}

Result<Setup> complete(const Flags& flags) {
  if (Failure failure = check(flags)) return *failure;
  Result<tool::ArrivalShape> arrivals = tool::parse_arrivals(flags.arrivals);
  if (!arrivals) return Error{"--arrivals: " + arrivals.error()};
  Setup setup = flags.setup;
  setup.arrivals = *arrivals;
  setup.broker.replica_threshold = flags.replica_threshold.value_or(0);
  if (flags.heartbeat) {
    setup.broker.heartbeat = *flags.heartbeat;
    setup.broker.dead_after = 10 * *flags.heartbeat;
  }
  setup.service_class = static_cast<uint32_t>(std::lround(flags.service_class * 1000));
  if (flags.disposal)
    if (Failure failure = wire::parse_disposal(*flags.disposal, setup.policy))
      return Error{"--disposal: " + failure->text};
  if (flags.redundancy) {
    const auto redundancy = wire::parse_redundancy(*flags.redundancy);
    if (!redundancy) return Error{"--redundancy: " + redundancy.error()};
    setup.policy.redundancy = *redundancy;
  }
  for (const std::string& text : flags.policies) {
    auto named = broker::parse_policy(text);
    if (!named) return Error{"--policy: " + named.error()};
    if (!is_service(named->service, flags.levels))
      return Error{"--policy: there is no service '" + named->service + "': they are called " +
                   service_of(0) + " to " + service_of(flags.levels - 1) + ", and * is all of them"};
    setup.broker.policies.push_back(*std::move(named));
  }
  Oddity odd{.slow = flags.slow, .fails = flags.fail};
  if (!flags.vanish.empty()) odd.up = flags.vanish[0], odd.away = flags.vanish[1];
  setup.levels.clear();
  const auto of = [](const auto& values, uint32_t level) {
    return values.size() == 1 ? values.front() : values[level];
  };
  for (uint32_t level = 0; level < flags.levels; ++level)
    setup.levels.push_back({.replicas = of(flags.replicas, level),
                            .service = of(flags.services, level),
                            .copies = flags.copies.empty() ? 0 : of(flags.copies, level),
                            .odd = {odd},
                            .spares = flags.spares});
  setup.rate = flags.rate ? *flags.rate : *flags.load * capacity(setup);
  return setup;
}

}  // namespace redoubt::experiment
