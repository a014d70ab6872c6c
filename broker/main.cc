// redoubt-broker: reads the flags, starts a broker and its admin port, stops on a signal.
#include <spdlog/spdlog.h>

#include <asio/signal_set.hpp>

#include "broker/admin.h"
#include "broker/flags.h"
#include "broker/shell.h"

namespace redoubt::broker {
namespace {

// A broker that stops waits this long for what it has accepted.
constexpr Duration kDrainLimit = std::chrono::seconds(10);

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
    case Note::Kind::kBrokerJoined:
      spdlog::info("broker {} is linked ({})", note.name, note.text);
      break;
    case Note::Kind::kBrokerLost:
      spdlog::warn("broker {} lost: {}", note.name, note.text);
      break;
    case Note::Kind::kInSync:
      spdlog::info("standby {} is in sync", note.name);
      break;
    case Note::Kind::kOutOfSync:
      spdlog::warn("standby {} is out of sync: {}", note.name, note.text);
      break;
    case Note::Kind::kRules:
      spdlog::info("broker {} rules, epoch {}", note.name, note.text);
      break;
    case Note::Kind::kGroup:
      spdlog::warn("{}: {}", note.name, note.text);
      break;
  }
}

void tell_role(const RoleChanged& change) {
  const char* role = name_of(change.role);
  if (change.stale)
    spdlog::warn(
        "rules as stale in epoch {}: nobody who was in sync is left, so only what clients send again is run",
        change.epoch.number);
  else
    spdlog::info("is {} now, epoch {}", role, change.epoch.number);
  if (change.stale)
    print_event("role", {{"role", role}, {"epoch", change.epoch.number}, {"stale", true}});
  else
    print_event("role", {{"role", role}, {"epoch", change.epoch.number}});
}

int run(const Flags& flags, Setup setup) {
  std::unique_ptr<MemoryFile> file;
  Memory memory;
  if (!setup.folder.empty()) {
    file = std::make_unique<MemoryFile>();
    Result<Memory> found = file->open(setup.folder, setup.group.hash, setup.group.self);
    if (!found) {
      spdlog::error(found.error());
      return 1;
    }
    memory = *found;
    if (memory.blank && setup.group.quorum == Quorum::kMajority)
      spdlog::info(
          "no votes in {}: it neither votes nor stands before a manager has told it all, or most of its "
          "group "
          "begin anew with it",
          setup.folder);
  }
  bool ready = false;
  const auto on_role = [&](const RoleChanged& change) {
    if (ready) tell_role(change);
  };
  Shell shell(setup.settings, setup.group, memory, setup.shell, {observe, on_role}, std::move(file));
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
  shell.begin();
  print_event("ready",
              {{"listen", shell.address()}, {"admin", admin.address()}, {"role", name_of(shell.role())}});
  ready = true;
  tell_role({shell.role(), shell.welcome().epoch, false});
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
  Result<broker::Setup> setup = broker::complete(flags);
  if (!setup) return options.usage_error(setup.error()).finish();
  start_daemon("redoubt-broker", flags.daemon);
  return broker::run(flags, *setup);
}
