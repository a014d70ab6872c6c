// From services to a program: serve() and the daemon around the shell; see handler.h and flags.h.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <asio/signal_set.hpp>
#include <csignal>
#include <random>

#include "options/daemon.h"
#include "replica/child.h"
#include "replica/flags.h"
#include "replica/handler.h"
#include "replica/shell.h"

namespace redoubt::replica {

namespace {

Settings settings_of(const Flags& flags) {
  Settings settings;
  settings.name = flags.name;
  settings.cluster = flags.cluster;
  settings.incarnation = (uint64_t{std::random_device()()} << 32) | std::random_device()();
  settings.workers = flags.workers;
  settings.queue_limit = flags.queue_limit;
  settings.vacation = flags.vacation;
  settings.seed = *flags.seed;
  settings.on_failover = flags.on_failover;
  settings.spare = flags.spare;
  return settings;
}

Reports reports_of(const Flags& flags, const std::vector<std::string>& services) {
  Reports reports;
  reports.ready = [name = flags.name, services](const std::string& broker) {
    print_event("ready", {{"name", name}, {"broker", broker}, {"services", services}});
  };
  reports.log = [](Reports::Level level, const std::string& text) {
    level == Reports::Level::kWarning ? spdlog::warn("{}", text) : spdlog::info("{}", text);
  };
  return reports;
}

// The first signal stops gracefully, the second at once.
void listen_to_signals(Shell& shell, asio::signal_set& signals, bool first) {
  signals.async_wait([&shell, &signals, first](const asio::error_code& error, int signal) {
    if (error) return;
    if (!first) {
      spdlog::warn("signal {} again: stopping at once", signal);
      kill_all_children();
      std::_Exit(128 + signal);
    }
    spdlog::info("signal {}: finishing what runs, then stopping", signal);
    shell.ask_stop();
    listen_to_signals(shell, signals, false);
  });
}

}  // namespace

int run_daemon(const std::string& program, const Flags& flags, std::vector<Service> services,
               Workers::Hooks hooks) {
  start_daemon(program, flags.daemon);
  std::vector<std::string> names;
  for (const Service& service : services) names.push_back(service.name);
  spdlog::info("{} offers {} service(s), {} worker(s), seed {}", flags.name, names.size(), flags.workers,
               *flags.seed);
  {
    Shell shell(flags.brokers, flags.busy_poll, settings_of(flags), std::move(services),
                reports_of(flags, names), std::move(hooks));
    asio::signal_set signals(shell.io(), SIGTERM, SIGINT);
    listen_to_signals(shell, signals, true);
    shell.run();
  }
  print_event("stopped");
  return 0;
}

}  // namespace redoubt::replica

namespace redoubt {

int serve(int argc, char** argv, std::vector<Service> services) {
  std::string program = argc > 0 ? argv[0] : "replica";
  program = program.substr(program.rfind('/') + 1);
  std::vector<std::string> names;
  std::string list;
  for (const Service& service : services) {
    names.push_back(service.name);
    list += (list.empty() ? "" : ", ") + service.name;
  }
  Options options(program, "A replica of the Redoubt request broker. It offers: " + list + ".");
  replica::Flags flags;
  replica::add_flags(options, flags);
  replica::add_experiment_flags(options, flags);
  if (const Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  if (Failure failure = replica::complete(flags, names)) return options.usage_error(failure->text).finish();
  return replica::run_daemon(program, flags, std::move(services));
}

}  // namespace redoubt
