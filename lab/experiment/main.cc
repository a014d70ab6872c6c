// redoubt-experiment: one point of an experiment in virtual time, as one JSON object.
#include <cstdio>
#include <string>

#include "lab/experiment/experiment.h"
#include "lab/experiment/flags.h"

int main(int argc, char** argv) {
  using namespace redoubt;
  Options options("redoubt-experiment",
                  "Runs the broker's and the replicas' decisions under a load in virtual time, and counts.");
  experiment::Flags flags;
  experiment::declare(options, flags);
  if (const Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  const Result<experiment::Setup> setup = experiment::complete(flags);
  if (!setup) return options.usage_error(setup.error()).finish();
  const std::string json = experiment::to_json(experiment::run(*setup), flags.batches) + "\n";
  return std::fputs(json.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
