// The flags of redoubt-broker, and the rules that tie them together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/shell.h"
#include "core/address.h"
#include "options/daemon.h"
#include "options/options.h"

namespace redoubt::broker {

struct Flags {
  Address listen{"127.0.0.1", 7400};
  std::optional<Address> admin;
  std::string name;
  std::vector<Address> group, join;
  std::vector<std::string> dial;
  bool witness = false;
  std::optional<Quorum> quorum;
  std::string data_dir;
  std::optional<Duration> demote_after;
  Settings settings;
  ShellSettings shell;
  ByteSize max_payload{wire::kDefaultMaxPayload};
  ByteSize held_limit{Settings{}.held_limit};
  std::optional<uint32_t> replica_threshold;
  std::vector<std::string> policies;
  DaemonFlags daemon;
};

void declare(Options& options, Flags& flags);

// What the flags come to. `folder`: where votes are written down; empty: nowhere.
struct Setup {
  Settings settings;
  GroupSettings group;
  ShellSettings shell;
  std::string folder;
};
// An error names the flag and the cure.
Result<Setup> complete(const Flags& flags);

}  // namespace redoubt::broker
