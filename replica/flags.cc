// The flags that every replica has, and their rules; see flags.h.
#include "replica/flags.h"

#include <unistd.h>

#include <array>
#include <random>
#include <set>

#include "core/utf8.h"

namespace redoubt::replica {

namespace {

std::string own_name() {
  std::array<char, 200> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return std::string(host[0] ? host.data() : "replica") + ":" + std::to_string(::getpid());
}

Failure check_name(const std::string& what, const std::string& name) {
  if (name.empty()) return Error{what + " is empty: give it a name"};
  if (name.size() > wire::kMaxNameBytes)
    return Error{what + " has " + std::to_string(name.size()) + " bytes: a name has at most " +
                 std::to_string(wire::kMaxNameBytes)};
  if (!is_one_line(name))
    return Error{one_line(what, ~size_t{0}) + ": a name must be UTF-8 without control characters"};
  return {};
}

}  // namespace

void add_flags(Options& options, Flags& flags) {
  options.section("Where it belongs");
  options.add("brokers", flags.brokers, "the brokers to register at");
  options.add("name", flags.name, "what status and logs call it").shown_default("HOST:PID");
  options.add("cluster", flags.cluster, "brokers of another cluster refuse it");
  options.add_choice("on-failover", flags.on_failover,
                     {{"adopt", OnFailover::kAdopt}, {"discard", OnFailover::kDiscard}},
                     "copies of a manager that is gone run on for the next one, or are dropped");
  options.add("spare", flags.spare, "run only what another replica has lost");
  options.section("How much it does at once");
  options.add("workers", flags.workers, {1, wire::kMaxWorkers}, "copies that run at the same time");
  options.add("queue-limit", flags.queue_limit, {0, kMaxQueueLimit}, "copies that wait for a worker");
  options.section("The program");
  options.add("busy-poll", flags.busy_poll, {Duration::zero(), net::kMostBusyPoll}, net::kBusyPollHelp);
  add_daemon_flags(options, flags.daemon);
}

void add_experiment_flags(Options& options, Flags& flags) {
  options.section("For experiments");
  options.add("vacation", flags.vacation,
              "a worker that finds nothing to do goes away for so long, then looks again");
  options.add("seed", flags.seed, "makes everything that is drawn at random the same again")
      .shown_default("random");
}

Failure complete(Flags& flags, const std::vector<std::string>& services) {
  if (flags.brokers.empty()) return Error{"--brokers: give at least one address, such as 127.0.0.1:7400"};
  if (flags.brokers.size() > kMaxBrokers)
    return Error{"--brokers: at most " + std::to_string(kMaxBrokers) + " addresses"};
  if (std::set<Address>(flags.brokers.begin(), flags.brokers.end()).size() != flags.brokers.size())
    return Error{"--brokers: an address stands there twice; name each broker once"};
  for (const Address& address : flags.brokers)
    if (address.port == 0)
      return Error{"--brokers: " + format_address(address) + ": port 0 is nobody's; give the broker's port"};
  if (services.empty()) return Error{"--service: name at least one service that this replica offers"};
  if (services.size() > wire::kMaxServices)
    return Error{"--service: at most " + std::to_string(wire::kMaxServices) + " services"};
  if (std::set<std::string>(services.begin(), services.end()).size() != services.size())
    return Error{"--service: a service stands there twice; name each once"};
  for (const std::string& service : services)
    if (Failure failure = check_name("--service: '" + service + "'", service)) return failure;
  if (flags.name.empty()) flags.name = own_name();
  if (Failure failure = check_name("--name: '" + flags.name + "'", flags.name)) return failure;
  if (Failure failure = check_name("--cluster: '" + flags.cluster + "'", flags.cluster)) return failure;
  if (!flags.seed) flags.seed = (uint64_t{std::random_device()()} << 32) | std::random_device()();
  return {};
}

}  // namespace redoubt::replica
