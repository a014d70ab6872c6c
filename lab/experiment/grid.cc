// See grid.h.
#include "lab/experiment/grid.h"

#include <algorithm>

#include "core/duration_text.h"
#include "lab/experiment/experiment.h"

namespace redoubt::experiment {
namespace {

using namespace std::chrono_literals;
using wire::Disposal;
using wire::Redundancy;

constexpr double kNormal95 = 1.96;

struct Shape {
  const char* name;
  const char* text;
};
constexpr Shape kServices[] = {{"exponential", "exp(10ms)"},
                               {"constant", "const(10ms)"},
                               {"lognormal", "lognormal(10ms,1.0)"},
                               {"bimodal", "bimodal(10ms,0.97,150ms)"}};

struct State {
  const char* name;
  Oddity oddity;  // of one replica of each level
};
const State kStates[] = {{"healthy", {}},
                         {"one 10 times slower", {.slow = 10}},
                         {"one fails a third", {.fails = 1.0 / 3}},
                         {"one vanishes", {.up = 1s, .away = 300ms}}};

struct Limit {
  const char* name;
  double means;  // deadline, in mean service times of all levels
};
constexpr Limit kLimits[] = {{"tight", 2}, {"loose", 5}};

constexpr double kLoads[] = {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3, 1.5};
constexpr uint32_t kLevels[] = {1, 2, 4};
constexpr uint32_t kReplicas[] = {3, 8, 16};

Point point_of(const Shape& service, const State& state, const Limit& limit, double load, uint32_t levels,
               uint32_t replicas) {
  Point point{service.name, state.name, limit.name, levels, replicas, load, {}};
  const Distribution distribution = *Distribution::parse(service.text);
  const double mean = to_seconds(distribution.mean());
  Setup& setup = point.setup;
  setup.levels.assign(levels, {.replicas = replicas, .service = distribution, .odd = {state.oddity}});
  setup.rate = load * replicas / mean;
  setup.deadline = duration_from_seconds(limit.means * mean * levels);
  // What has failed may have been mended, and fades with the heartbeats.
  setup.broker.heartbeat = 50ms;
  setup.broker.dead_after = 500ms;
  return point;
}

FixedPolicy fixed(std::string name, Redundancy redundancy, uint32_t copies, uint32_t threshold = 0,
                  Disposal disposal = Disposal::kOnCompletion,
                  broker::Pick pick = broker::Pick::kLeastLoaded) {
  return {std::move(name), [=](Setup& setup) {
            setup.policy = {redundancy, disposal, 0};
            for (LevelSetup& level : setup.levels) level.copies = copies;
            setup.broker.replica_threshold = threshold;
            setup.broker.pick = pick;
            setup.service_class = 900;
          }};
}

Findings play(const Point& point, const std::function<void(Setup&)>& policy, uint64_t seed,
              uint64_t requests) {
  Setup setup = point.setup;
  policy(setup);
  setup.seed = seed;
  setup.requests = requests;
  setup.warm_up = std::min<uint64_t>(requests / 10, 5000);
  return run(setup);
}

}  // namespace

std::vector<FixedPolicy> fixed_policies() {
  return {fixed("one copy", Redundancy::kSingle, 1),
          fixed("one copy, central queue", Redundancy::kSingle, 1, 1),
          fixed("two copies", Redundancy::kPerLevel, 2),
          fixed("two copies, central queue", Redundancy::kPerLevel, 2, 1),
          fixed("two copies, on-start", Redundancy::kPerLevel, 2, 0, Disposal::kOnStart),
          fixed("two copies, random", Redundancy::kPerLevel, 2, 0, Disposal::kOnCompletion,
                broker::Pick::kRandom),
          fixed("three copies", Redundancy::kPerLevel, 3),
          fixed("three copies, central queue", Redundancy::kPerLevel, 3, 1),
          fixed("hedge", Redundancy::kHedge, 2),
          fixed("hedge, central queue", Redundancy::kHedge, 2, 1),
          fixed("backup", Redundancy::kBackup, 1)};
}

void apply_auto(Setup& setup) { setup.policy = {Redundancy::kAuto, Disposal::kOnCompletion, 0}; }

std::vector<Point> grid_points() {
  std::vector<Point> points;
  uint32_t turn = 0;
  for (const Shape& service : kServices)
    for (const State& state : kStates)
      for (const Limit& limit : kLimits) {
        // Levels and replicas take turns, so that each meets every other value equally often.
        for (const double load : kLoads) {
          points.push_back(
              point_of(service, state, limit, load, kLevels[turn % 3], kReplicas[(turn / 3 + turn) % 3]));
          ++turn;
        }
        ++turn;
      }
  return points;
}

Comparison compare(const Point& point, const Effort& effort) {
  Comparison result;
  const std::vector<FixedPolicy> policies = fixed_policies();
  double highest = -1;
  for (size_t i = 0; i < policies.size(); ++i) {
    const double share =
        play(point, policies[i].apply, effort.seed, effort.first_requests).per_request(&Batch::timely).mean;
    if (share > highest) highest = share, result.best = i;
  }
  for (result.requests = effort.requests;; result.requests *= 2) {
    const Findings automatic = play(point, apply_auto, effort.fresh_seed, result.requests);
    const Findings fixed = play(point, policies[result.best].apply, effort.fresh_seed, result.requests);
    result.automatic = automatic.per_request(&Batch::timely);
    result.fixed = fixed.per_request(&Batch::timely);
    result.difference = difference(automatic.series(&Batch::timely), fixed.series(&Batch::timely));
    const bool narrow = kNormal95 * result.difference.error <= effort.half_width;
    if (narrow || result.requests * 2 > effort.most_requests) return result;
  }
}

}  // namespace redoubt::experiment
