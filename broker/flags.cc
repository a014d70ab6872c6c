// See flags.h.
#include "broker/flags.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "core/utf8.h"

namespace redoubt::broker {
namespace {

using namespace std::chrono_literals;

void declare_group(Options& options, Flags& flags) {
  options.section("Its group");
  options.add("group", flags.group,
              "all brokers that vote, this one included, the same list everywhere (alone)");
  options.add("join", flags.join, "follow this group from outside: a hot copy without a vote");
  options.add("witness", flags.witness, "vote only: hold no requests and never rule");
  options.add_choice("quorum", flags.quorum, {{"majority", Quorum::kMajority}, {"one", Quorum::kOne}},
                     "whose word it takes to rule (majority from three brokers up, else one)");
  options
      .add(
          "data-dir", flags.data_dir,
          "where votes are written down ($STATE_DIRECTORY, or $XDG_STATE_HOME/redoubt/NAME; a broker that is "
          "alone writes nothing unless told)")
      .must_not_be_empty();
  options.add_choice(
      "checkpoint-ack", flags.settings.checkpoint_ack,
      {{"none", CheckpointAck::kNone}, {"one", CheckpointAck::kOne}, {"all", CheckpointAck::kAll}},
      "standbys that must have a request before a replica gets it");
  options.add(
      "demote-after", flags.demote_after, {1ms, 1h},
      "without an echo from a majority for so long a manager suspends (300ms, or less where --dead-after "
      "asks for it)");
  options.add("dial", flags.dial, "for experiments: dial broker N of the group at another address")
      .shaped("N=HOST:PORT,...");
}

uint64_t random_number() { return (uint64_t{std::random_device()()} << 32) | std::random_device()(); }

// FNV-1a
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3U;
  return hash;
}

// The order counts: it is what the brokers' numbers come from.
std::string text_of(const std::vector<Address>& list) {
  std::string text;
  for (const Address& address : list) text += format_address(address) + ",";
  return text;
}

std::string default_folder(const std::string& name) {
  if (const char* given = std::getenv("STATE_DIRECTORY"); given && *given) return given;
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '_');
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state)
    return std::string(state) + "/redoubt/" + file;
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.local/state/redoubt/" + file;
  return {};
}

Failure redirect(const std::vector<std::string>& dial, std::vector<Address>& others) {
  for (const std::string& text : dial) {
    const size_t equals = text.find('=');
    const auto number = equals == std::string::npos ? 0 : std::strtoul(text.c_str(), nullptr, 10);
    const auto address = parse_address(equals == std::string::npos ? "" : text.substr(equals + 1));
    if (number == 0 || number > others.size() || !address)
      return Error{"--dial: '" + text + "' is not N=HOST:PORT with N a place in --group, from 1"};
    others[number - 1] = *address;
  }
  return {};
}

Failure check_list(const std::string& flag, const std::vector<Address>& list) {
  for (const Address& address : list) {
    if (std::ranges::count(list, address) > 1)
      return Error{flag + ": " + format_address(address) + " stands there twice"};
    if (address.port == 0)
      return Error{flag + ": " + format_address(address) + ": port 0 is nobody's; give the broker's port"};
  }
  return {};
}

// This broker's place in the list, by the address it listens at or by its name.
Failure find_place(const Flags& flags, Setup& setup) {
  const std::vector<Address>& list = flags.group;
  if (list.size() > kMaxVoters)
    return Error{"--group: at most " + std::to_string(kMaxVoters) + " brokers; others can --join it"};
  if (Failure failure = check_list("--group", list)) return failure;
  const auto is_self = [&](const Address& address) {
    return address == flags.listen || (!flags.name.empty() && format_address(address) == flags.name);
  };
  const auto self = std::find_if(list.begin(), list.end(), is_self);
  if (self == list.end())
    return Error{"--group: this broker is not in the list; it must contain --listen (" +
                 format_address(flags.listen) + ") or --name"};
  setup.group.self = static_cast<BrokerNumber>(self - list.begin()) + 1;
  setup.group.size = static_cast<uint32_t>(list.size());
  setup.group.hash = hash_of(text_of(list));
  setup.shell.others = list;
  return redirect(flags.dial, setup.shell.others);
}

Failure set_times(const Flags& flags, Setup& setup) {
  GroupSettings& group = setup.group;
  group.heartbeat = setup.settings.heartbeat;
  group.dead_after = setup.settings.dead_after;
  if (group.dead_after <= 2 * group.heartbeat)
    return Error{"--dead-after must be more than twice --heartbeat, or a living peer counts as dead"};
  const Duration limit = group.dead_after - 2 * group.heartbeat;
  group.demote_after = flags.demote_after.value_or(std::min(group.demote_after, limit * 3 / 4));
  if (group.size > 1 && group.demote_after <= group.heartbeat)
    return Error{"--demote-after must be above --heartbeat (" +
                 std::to_string(to_us(group.heartbeat) / 1000) +
                 " ms): a manager must hear its standbys in time; a longer --dead-after makes room"};
  if (group.demote_after >= limit)
    return Error{"--demote-after must be below --dead-after minus two heartbeats (" +
                 std::to_string(to_us(limit) / 1000) +
                 " ms): a manager must have suspended before the others choose another"};
  return {};
}

// Those of one service count before that of all.
Failure read_policies(const std::vector<std::string>& texts, Settings& settings) {
  for (const std::string& text : texts) {
    Result<NamedPolicy> named = parse_policy(text);
    if (!named) return Error{"--policy: " + named.error()};
    const auto same = [&](const NamedPolicy& other) { return other.service == named->service; };
    if (std::ranges::any_of(settings.policies, same))
      return Error{"--policy: " + named->service + " stands there twice; put all its settings into one"};
    const auto place = named->service == "*" ? settings.policies.end() : settings.policies.begin();
    settings.policies.insert(place, *std::move(named));
  }
  return {};
}

}  // namespace

void declare(Options& options, Flags& flags) {
  const Range<Duration> time{1ms, 1h};
  options.add("listen", flags.listen, "where clients, replicas and other brokers connect");
  options.add("name", flags.name, "what this broker is called (its address)");
  options.add("cluster", flags.shell.cluster, "only those who name the same cluster are served")
      .must_not_be_empty();
  options.add("admin", flags.admin, "HTTP: /healthz /readyz /status /metrics (none)");
  options.add("heartbeat", flags.settings.heartbeat, time,
              "pause after which a quiet link gets a sign of life");
  options.add("dead-after", flags.settings.dead_after, time, "silence after which a peer counts as dead");
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
  options
      .add("policy", flags.policies,
           "how requests of a service are served that do not say so, and what extra copies may cost: "
           "decode(redundancy=hedge,copies=2), *(disposal=expire) for all others; the keys are in README.md")
      .shaped("SERVICE(KEY=VALUE,...),...");
  options.add("backup-factor", flags.settings.backup_factor, {0, 1000},
              "a backup is sent with the probability of its request's class times this");
  options.add("max-payload", flags.max_payload, {ByteSize{1}, ByteSize{kMostMaxPayload}},
              "largest payload of a request or result; with standbys, the network must carry it within "
              "--demote-after");
  options.add("held-limit", flags.held_limit, {ByteSize{1}, ByteSize{uint64_t{1} << 50}},
              "payload bytes of all admitted requests together; beyond it requests are refused as "
              "queue_full. As many, "
              "or 528MiB, may wait for all clients to read them");
  options.add("max-clients", flags.shell.max_clients, {1, kMaxSessions}, "clients connected at once");
  options.add("seed", flags.settings.seed, "of random picks");
  declare_group(options, flags);
  options.section("The program");
  options.add("busy-poll", flags.shell.busy_poll, {Duration::zero(), net::kMostBusyPoll}, net::kBusyPollHelp);
  add_daemon_flags(options, flags.daemon);
}

Result<Setup> complete(const Flags& flags) {
  Setup setup;
  setup.settings = flags.settings;
  setup.settings.max_payload = flags.max_payload.bytes;
  setup.settings.held_limit = flags.held_limit.bytes;
  setup.settings.replica_threshold = flags.replica_threshold.value_or(0);
  setup.settings.name = flags.name;
  if (Failure failure = read_policies(flags.policies, setup.settings)) return Error{failure->text};
  setup.shell = flags.shell;
  for (const auto& [flag, text] : {std::pair{"--name", &flags.name}, {"--cluster", &flags.shell.cluster}})
    if (text->size() > wire::kMaxNameBytes)
      return Error{std::string(flag) + ": at most " + std::to_string(wire::kMaxNameBytes) + " bytes"};
    else if (!is_one_line(*text))
      return Error{std::string(flag) + ": '" + one_line(*text, wire::kMaxNameBytes) +
                   "': a name must be UTF-8 without control characters"};
  if (Failure failure = check_list("--join", flags.join)) return Error{failure->text};
  if (std::ranges::count(flags.join, flags.listen) > 0)
    return Error{"--join: " + format_address(flags.listen) +
                 " is this broker itself; list those of the group"};
  if (!flags.group.empty() && !flags.join.empty())
    return Error{
        "--group and --join exclude each other: a broker is in the group, or follows it from outside"};
  if (flags.witness && flags.group.size() < 3)
    return Error{
        "--witness: a witness is the third voter or a later one; --group must list at least 3 brokers"};
  if (!flags.join.empty()) {
    setup.group.self = kNoBroker;
    setup.group.kind = wire::Kind::kLearner;
    setup.shell.others = flags.join;
  } else if (!flags.group.empty()) {
    if (Failure failure = find_place(flags, setup)) return Error{failure->text};
  } else if (!flags.dial.empty()) {
    return Error{"--dial: there is no --group"};
  }
  if (flags.witness) setup.group.kind = wire::Kind::kWitness;
  setup.group.quorum = flags.quorum.value_or(setup.group.size >= 3 ? Quorum::kMajority : Quorum::kOne);
  setup.group.incarnation = random_number() | 1;
  setup.group.seed = random_number();
  if (Failure failure = set_times(flags, setup)) return Error{failure->text};
  const std::string name = flags.name.empty() ? format_address(flags.listen) : flags.name;
  setup.group.name = name;
  setup.folder = flags.data_dir;
  if (setup.folder.empty() && setup.group.size > 1) {
    setup.folder = default_folder(name);
    if (setup.folder.empty())
      return Error{"--data-dir: give a folder where this broker can write its votes down ($HOME is not set)"};
  }
  return setup;
}

}  // namespace redoubt::broker
