// Services for tests and experiments; see builtin.h.
#include "replica/builtin.h"

#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "core/duration_text.h"

namespace redoubt::replica {

namespace {

void stop_here() { throw std::runtime_error("halted"); }

void sleep(Duration time, const std::stop_token& stop) {
  if (time <= Duration::zero()) return;
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_until(lock, stop, Clock::now() + time, [] { return false; });
  if (stop.stop_requested()) stop_here();
}

// This thread's time on a CPU: when several spin on one CPU, each must take longer.
Duration cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

void spin(Duration time, const std::stop_token& stop) {
  const Duration end = cpu_time() + time;
  while (cpu_time() < end)
    if (stop.stop_requested()) stop_here();
}

}  // namespace

Result<Builtin> parse_builtin(std::string_view text) {
  Builtin builtin;
  if (text == "echo") return builtin;
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (colon == std::string_view::npos || (kind != "sleep" && kind != "spin"))
    return Error{"'" + std::string(text) +
                 "' is no builtin service: write echo, sleep:DIST or spin:DIST, such as sleep:exp(4ms)"};
  Result<Distribution> time = Distribution::parse(text.substr(colon + 1));
  if (!time) return Error{time.error()};
  builtin.kind = kind == "sleep" ? Builtin::Kind::kSleep : Builtin::Kind::kSpin;
  builtin.time = *std::move(time);
  return builtin;
}

Service make_builtin(std::string name, const Builtin& builtin, uint32_t workers, uint64_t seed) {
  // One for each worker and one for the thread that runs what is inline.
  auto randoms = std::make_shared<std::vector<Random>>();
  for (uint32_t worker = 0; worker <= workers; ++worker) randoms->emplace_back(seed + worker);

  const auto handler = [builtin, randoms](const Task& task) -> Payload {
    Random& random = (*randoms)[task.worker];
    if (builtin.kind != Builtin::Kind::kEcho) {
      const double seconds = to_seconds(builtin.time.sample(random)) * builtin.slow;
      const Duration time = duration_from_seconds(seconds);
      builtin.kind == Builtin::Kind::kSleep ? sleep(time, task.stop_token) : spin(time, task.stop_token);
    }
    if (builtin.fail > 0 && random.chance(builtin.fail))
      throw std::runtime_error("a failure on purpose (--fail)");
    return task.payload;
  };
  return {.name = std::move(name), .handler = handler, .runs_inline = builtin.kind == Builtin::Kind::kEcho};
}

}  // namespace redoubt::replica
