// redoubt-replica: a replica whose services are commands, or a builtin one. What a replica does stands in
// replica.h; here are only the flags.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replica/builtin.h"
#include "replica/exec.h"
#include "replica/flags.h"
#include "replica/persistent.h"

namespace redoubt::replica {
namespace {

struct Work {
  std::vector<std::string> services;
  std::optional<std::string> exec, exec_persistent, builtin;
  std::optional<double> fail, slow;
};

void add_work_flags(Options& options, Work& work) {
  options.section("What it does (one of the three)");
  options.add("service", work.services, "a service that it offers; repeat it for more").must_be_given();
  options.add("exec", work.exec, "a shell command for every copy: payload on stdin, result from stdout")
      .shaped("CMD");
  options
      .add("exec-persistent", work.exec_persistent,
           "one long-lived shell command per worker: frames of u32 length + bytes on stdin and stdout")
      .shaped("CMD");
  options
      .add("builtin", work.builtin,
           "echo, or for experiments sleep:DIST (occupies a worker) or spin:DIST (burns CPU)")
      .shaped("WHAT");
}

void add_builtin_flags(Options& options, Work& work) {
  options.add("fail", work.fail, {0, 1}, "with --builtin: the share of copies that end with a failure");
  options.add("slow", work.slow, {0, 1e6}, "with --builtin: its time is multiplied by this");
}

Failure check(const Work& work) {
  const int given =
      int{work.exec.has_value()} + int{work.exec_persistent.has_value()} + int{work.builtin.has_value()};
  if (given == 0)
    return Error{"what is it to do? Give one of --exec 'CMD', --exec-persistent 'CMD' and --builtin echo"};
  if (given > 1) return Error{"--exec, --exec-persistent and --builtin exclude each other: give one of them"};
  if ((work.fail || work.slow) && !work.builtin)
    return Error{
        "--fail and --slow need --builtin: a command decides itself how it fails and how long it takes"};
  if (work.exec == "" || work.exec_persistent == "")
    return Error{"the command is empty: give one, such as --exec 'tr a-z A-Z'"};
  return {};
}

}  // namespace
}  // namespace redoubt::replica

int main(int argc, char** argv) {
  using namespace redoubt;
  using namespace redoubt::replica;
  Options options("redoubt-replica", "Does the work of a service: runs the copies that brokers send.");
  Work work;
  Flags flags;
  add_work_flags(options, work);
  add_flags(options, flags);
  add_experiment_flags(options, flags);
  add_builtin_flags(options, work);
  if (const Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  if (Failure failure = check(work)) return options.usage_error(failure->text).finish();
  if (Failure failure = complete(flags, work.services)) return options.usage_error(failure->text).finish();
  Result<Builtin> builtin = parse_builtin(work.builtin.value_or("echo"));
  if (!builtin) return options.usage_error("--builtin: " + builtin.error()).finish();
  builtin->fail = work.fail.value_or(0);
  builtin->slow = work.slow.value_or(1);

  std::shared_ptr<Persistent> persistent;
  Workers::Hooks hooks;
  if (work.exec_persistent) {
    persistent = std::make_shared<Persistent>(*work.exec_persistent, flags.workers);
    hooks.prepared = [&](uint32_t worker) { persistent->prepare(worker); };
    hooks.done = [&](uint32_t worker) { persistent->done(worker); };
  }
  std::vector<Service> services;
  for (const std::string& name : work.services) {
    if (work.exec) services.push_back(make_exec(name, *work.exec));
    if (persistent) services.push_back(make_persistent(name, persistent));
    if (work.builtin) services.push_back(make_builtin(name, *builtin, flags.workers, *flags.seed));
  }
  return run_daemon("redoubt-replica", flags, std::move(services), std::move(hooks));
}
