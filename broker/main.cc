// redoubt-broker: reads the flags, starts a broker and its admin port, stops on a signal.
#include <spdlog/spdlog.h>

#include <asio/signal_set.hpp>

#include "broker/admin.h"
#include "broker/shell.h"
#include "options/daemon.h"
#include "options/options.h"

namespace redoubt::broker {
namespace {

// A broker that stops waits this long for what it has accepted.
constexpr Duration kDrainLimit = std::chrono::seconds(10);

struct Flags {
  Address listen{"127.0.0.1", 7400};
  std::optional<Address> admin;
  std::string name;
  Settings settings;
  ShellSettings shell;
  ByteSize max_payload{wire::kDefaultMaxPayload};
  ByteSize held_limit{Settings{}.held_limit};
  std::optional<uint32_t> replica_threshold;
  DaemonFlags daemon;
};

void declare(Options& options, Flags& flags) {
  using namespace std::chrono_literals;
  const Range<Duration> time{1ms, 1h};
  options.add("listen", flags.listen, "where clients and replicas connect");
  options.add("name", flags.name, "what this broker is called (its address)");
  options.add("cluster", flags.shell.cluster, "only those who name the same cluster are served");
  options.add("admin", flags.admin, "HTTP: /healthz /readyz /status /metrics (none)");
  options.add("heartbeat", flags.settings.heartbeat, time,
              "pause after which a quiet link gets a sign of life");
  options.add("dead-after", flags.settings.dead_after, time, "silence after which a replica counts as dead");
  options.add("attempts", flags.settings.attempts, {1, kMaxAttempts},
              "executions of one request at one level that may fail or be lost with their replica");
  options.add("queue-limit", flags.settings.queue_limit, {0, kMaxQueueLimit},
              "requests waiting at the manager");
  options.add("admit-rate", flags.settings.admit_rate, {0, 1e9}, "requests admitted a second, 0: unlimited");
  options.add("admit-burst", flags.settings.admit_burst, {1, kMaxQueueLimit},
              "requests admitted at once beyond the rate");
  options.add(
      "replica-threshold", flags.replica_threshold, {1, 1'000'000},
      "copies outstanding at a replica from which it counts as loaded (twice its workers plus one measured "
      "round trip's worth)");
  options.add_choice(
      "pick", flags.settings.pick,
      {{"least-loaded", Pick::kLeastLoaded}, {"p2c", Pick::kTwoChoices}, {"random", Pick::kRandom}},
      "how replicas are chosen");
  options.add("max-payload", flags.max_payload, {ByteSize{1}, ByteSize{wire::kMaxMaxPayload}},
              "largest payload of a request or result");
  options.add(
      "held-limit", flags.held_limit, {ByteSize{1}, ByteSize{uint64_t{1} << 50}},
      "payload bytes of all admitted requests together; beyond it requests are refused as queue_full");
  options.add("max-clients", flags.shell.max_clients, {1, kMaxSessions}, "clients connected at once");
  options.add("seed", flags.settings.seed, "of random picks");
  add_daemon_flags(options, flags.daemon);
}

void observe(const Note& note) {
  switch (note.kind) {
    case Note::Kind::kReplicaJoined:
      spdlog::info("replica {} joined from {}", note.name, note.text);
      break;
    case Note::Kind::kReplicaLost:
      spdlog::warn("replica {} lost: {}", note.name, note.text);
      break;
    case Note::Kind::kReplicaLeft:
      spdlog::info("replica {} has left", note.name);
      break;
    case Note::Kind::kReplicaLeaving:
      spdlog::info("replica {} is leaving", note.name);
      break;
    case Note::Kind::kClientJoined:
      spdlog::debug("client {} joined", note.name);
      break;
    case Note::Kind::kClientLost:
      spdlog::debug("client {} left", note.name);
      break;
    case Note::Kind::kLinkClosed:
      spdlog::warn("closed the link of {}: {}", note.name, note.text);
      break;
  }
}

int run(Flags& flags) {
  Settings& settings = flags.settings;
  settings.max_payload = flags.max_payload.bytes;
  settings.held_limit = flags.held_limit.bytes;
  settings.replica_threshold = flags.replica_threshold.value_or(0);
  settings.name = flags.name;
  Shell shell(settings, flags.shell, observe);
  Admin admin([&] { return shell.snapshot(); });
  shell.write_status_with(
      [&](Snapshot view, auto done) { admin.write_status(std::move(view), std::move(done)); });
  if (const std::string why = shell.listen(flags.listen.host, flags.listen.port); !why.empty()) {
    spdlog::error(why);
    return 1;
  }
  if (flags.name.empty()) shell.set_name(shell.address());
  if (flags.admin)
    if (const std::string why = admin.listen(flags.admin->host, flags.admin->port); !why.empty()) {
      spdlog::error(why);
      return 1;
    }
  asio::signal_set signals(shell.loop().io(), SIGTERM, SIGINT);
  const std::function<void(const asio::error_code&, int)> on_signal = [&](const asio::error_code& error,
                                                                          int number) {
    if (error) return;
    spdlog::info("stopping on signal {}", number);
    shell.stop(kDrainLimit);
    signals.async_wait(on_signal);
  };
  signals.async_wait(on_signal);
  print_event("ready", {{"listen", shell.address()}, {"admin", admin.address()}, {"role", "manager"}});
  print_event("role", {{"role", "manager"}, {"epoch", shell.epoch().number}});
  shell.run();
  print_event("stopped");
  spdlog::shutdown();
  // Without waiting for the admin port's threads: a visitor who never ends a request must not keep us.
  std::quick_exit(0);
}

}  // namespace
}  // namespace redoubt::broker

int main(int argc, char** argv) {
  using namespace redoubt;
  broker::Flags flags;
  Options options("redoubt-broker",
                  "Forwards clients' requests to replicas, k copies a level; the first success wins.");
  broker::declare(options, flags);
  if (const Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  if (flags.settings.dead_after <= 2 * flags.settings.heartbeat)
    return options
        .usage_error("--dead-after must be more than twice --heartbeat, or a living peer counts as dead")
        .finish();
  for (const auto& [flag, text] : {std::pair{"--name", &flags.name}, {"--cluster", &flags.shell.cluster}})
    if (text->size() > wire::kMaxNameBytes)
      return options
          .usage_error(std::string(flag) + ": at most " + std::to_string(wire::kMaxNameBytes) + " bytes")
          .finish();
  start_daemon("redoubt-broker", flags.daemon);
  return broker::run(flags);
}
