// The flags that every replica has, whoever wrote its services, and the program that comes of them. Shared by
// serve() and redoubt-replica; no part of what users include.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/distribution.h"
#include "net/busy_poll.h"
#include "options/daemon.h"
#include "options/options.h"
#include "replica/handler.h"
#include "replica/limits.h"
#include "replica/replica.h"
#include "replica/workers.h"

namespace redoubt::replica {

struct Flags {
  std::vector<Address> brokers{{"127.0.0.1", 7400}};
  uint32_t workers = 1;
  uint32_t queue_limit = kDefaultQueueLimit;
  std::string name;
  std::string cluster = "redoubt";
  OnFailover on_failover = OnFailover::kAdopt;
  bool spare = false;
  Duration busy_poll = net::kBusyPoll;
  std::optional<uint64_t> seed;
  std::optional<Distribution> vacation;
  DaemonFlags daemon;
};

void add_flags(Options& options, Flags& flags);
// The last ones: a program may add its own to their section.
void add_experiment_flags(Options& options, Flags& flags);

// What is wrong with the values together, with the cure, or nothing. Fills in the name and the seed.
Failure complete(Flags& flags, const std::vector<std::string>& services);

// Runs until SIGTERM or SIGINT; returns the exit code. A second signal ends the process at once.
int run_daemon(const std::string& program, const Flags& flags, std::vector<Service> services,
               Workers::Hooks hooks = {});

}  // namespace redoubt::replica
