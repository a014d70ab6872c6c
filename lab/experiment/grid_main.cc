// redoubt-grid: the policy that chooses by itself (auto) against fixed ones, as a table in Markdown.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "lab/experiment/grid.h"
#include "options/options.h"

namespace redoubt::experiment {
namespace {

constexpr double kNormal95 = 1.96;
constexpr double kAllowed = 0.005;  // below the best fixed policy

struct Row {
  const Point* point = nullptr;
  Comparison found;
  double shortfall() const {
    return -found.difference.mean + kNormal95 * found.difference.error;
  }  // upper bound
  bool meets() const { return shortfall() <= kAllowed; }
};

void print_head() {
  std::printf(
      "| service | replicas | limit | levels | load | best fixed policy | its share | auto | difference | "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
}

void print(const Row& row, const std::vector<FixedPolicy>& policies) {
  const Point& point = *row.point;
  const Comparison& found = row.found;
  std::printf("| %s | %u, %s | %s | %u | %.1f | %s | %.4f | %.4f | %+.4f ± %.4f | %s |\n",
              point.service.c_str(), point.replicas, point.state.c_str(), point.limit.c_str(), point.levels,
              point.load, policies[found.best].name.c_str(), found.fixed.mean, found.automatic.mean,
              found.difference.mean, kNormal95 * found.difference.error, row.meets() ? "" : "below");
}

std::vector<Row> play_all(const std::vector<Point>& points, const Effort& effort, uint32_t threads) {
  std::vector<Row> rows(points.size());
  std::atomic<size_t> next = 0, done = 0;
  std::vector<std::thread> workers;
  for (uint32_t i = 0; i < threads; ++i)
    workers.emplace_back([&] {
      for (size_t at; (at = next++) < points.size();) {
        rows[at] = {&points[at], compare(points[at], effort)};
        std::fprintf(stderr, "\r%zu of %zu points", ++done, points.size());
      }
    });
  for (std::thread& worker : workers) worker.join();
  std::fputc('\n', stderr);
  return rows;
}

int report(std::vector<Row> rows) {
  const std::vector<FixedPolicy> policies = fixed_policies();
  const auto meeting = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.meets(); });
  const auto above = std::count_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.found.difference.mean - kNormal95 * row.found.difference.error > 0;
  });
  std::printf(
      "%zu points; at %zd the upper bound of the shortfall is at most half a point, at %zd auto is above "
      "every "
      "fixed policy.\n\n",
      rows.size(), meeting, above);
  print_head();
  for (const Row& row : rows) print(row, policies);
  std::printf("\nThe worst ones:\n\n");
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.shortfall() > b.shortfall(); });
  print_head();
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 15); ++i) print(rows[i], policies);
  return 0;
}

}  // namespace
}  // namespace redoubt::experiment

int main(int argc, char** argv) {
  using namespace redoubt;
  Options options("redoubt-grid",
                  "Holds the policy that chooses by itself against fixed ones, in virtual time.");
  experiment::Effort effort;
  uint32_t threads = 2, every = 1;
  options.add("seed", effort.seed, "of the runs that choose the best fixed policy");
  options.add("fresh-seed", effort.fresh_seed, "of the runs that are compared");
  options.add("first-requests", effort.first_requests, {100, 100'000'000},
              "of every policy, to choose the best");
  options.add("requests", effort.requests, {100, 100'000'000}, "of the two that are compared, to begin with");
  options.add("most-requests", effort.most_requests, {100, 1'000'000'000}, "and at most");
  options.add("threads", threads, {1, 64}, "points that are played at the same time");
  options.add("every", every, {1, 1000}, "only every so many-th point: a quick look");
  if (const Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  std::vector<experiment::Point> points;
  const std::vector<experiment::Point> all = experiment::grid_points();
  for (size_t i = 0; i < all.size(); i += every) points.push_back(all[i]);
  return experiment::report(experiment::play_all(points, effort, threads));
}
