// redoubt-replica: a replica whose services are a builtin one. What a replica does stands in replica.h; here
// are only the flags.
#include <string>
#include <vector>

#include "replica/builtin.h"
#include "replica/flags.h"

namespace {

using redoubt::Error;
using redoubt::Failure;
using redoubt::Options;

struct Work {
  std::vector<std::string> services;
  std::optional<std::string> builtin;
  double fail = 0;
  double slow = 1;
};

void add_work_flags(Options& options, Work& work) {
  options.section("What it does");
  options.add("service", work.services, "a service that it offers; repeat it for more").must_be_given();
  options.add("builtin", work.builtin,
              "echo, or for experiments sleep:DIST (occupies a worker), spin:DIST (burns CPU)");
  options.add("fail", work.fail, {0, 1}, "with --builtin: the share of copies that end with a failure");
  options.add("slow", work.slow, {0, 1e6}, "with --builtin: the time is multiplied by this");
}

}  // namespace

int main(int argc, char** argv) {
  Options options("redoubt-replica", "Does the work of a service: runs copies that brokers send.");
  Work work;
  redoubt::replica::Flags flags;
  add_work_flags(options, work);
  redoubt::replica::add_flags(options, flags);
  if (const redoubt::Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  if (Failure failure = redoubt::replica::complete(flags, work.services))
    return options.usage_error(failure->text).finish();

  auto builtin = redoubt::replica::parse_builtin(work.builtin.value_or(""));
  if (!builtin) return options.usage_error("--builtin: " + builtin.error()).finish();
  builtin->fail = work.fail;
  builtin->slow = work.slow;
  std::vector<redoubt::Service> services;
  for (const std::string& name : work.services)
    services.push_back(redoubt::replica::make_builtin(name, *builtin, flags.workers, *flags.seed));
  return redoubt::replica::run_daemon("redoubt-replica", flags, std::move(services));
}
