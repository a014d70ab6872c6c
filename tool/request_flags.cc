// Flags of requests; see request_flags.h.
#include "tool/request_flags.h"

#include "wire/limits.h"
#include "wire/policy_text.h"

namespace redoubt::tool {

void add_broker_flags(Options& options, RequestFlags& flags) {
  options.add("brokers", flags.brokers, "where the brokers listen; the one that rules is used");
  options.add("cluster", flags.cluster, "brokers of another cluster refuse it").must_not_be_empty();
}

void add_request_flags(Options& options, RequestFlags& flags) {
  add_broker_flags(options, flags);
  options.section("The request");
  options.add("levels", flags.levels, "the services it goes through, in this order").must_be_given();
  options
      .add("copies", flags.copies, {1, wire::kMaxCopies},
           "replicas that run it at the same time: one number for every level, or one each")
      .shown_default("1");
  options.add("deadline", flags.deadline, {std::chrono::microseconds(1), kLongestDuration},
              "from the call to its outcome");
  options.add("wait-limit", flags.wait_limit,
              "on the time spent waiting in queues, all levels together; 0s is none");
  options
      .add("redundancy", flags.redundancy,
           "how copies are arranged; the default is per-level unless the brokers' --policy says otherwise")
      .shaped(std::string(wire::kRedundancyWords))
      .must_not_be_empty();
  options
      .add("disposal", flags.disposal,
           "when copies that are no longer needed go; F: the first phase as a share of the limit, 0.5; the "
           "default is on-completion unless the brokers' --policy says otherwise")
      .shaped(std::string(wire::kDisposalWords))
      .must_not_be_empty();
  options.add("class", flags.service_class, {0.001, 0.999},
              "how much depends on it: with backup, how often it gets one, and how early");
  options.add("service-time", flags.service_time, {Duration::zero(), kLongestDuration},
              "what a level takes, if you know; 0s: as the brokers measure it");
}

namespace {

Failure set_policy(const RequestFlags& flags, Request& request) {
  if (!flags.redundancy.empty()) {
    const auto redundancy = wire::parse_redundancy(flags.redundancy);
    if (!redundancy) return Error{"--redundancy: " + redundancy.error()};
    request.redundancy = static_cast<Redundancy>(*redundancy);
  }
  if (flags.disposal.empty()) return {};
  wire::Policy policy;
  if (Failure failure = wire::parse_disposal(flags.disposal, policy))
    return Error{"--disposal: " + failure->text};
  request.disposal = static_cast<Disposal>(policy.disposal);
  if (policy.first_phase > 0) request.first_phase = policy.first_phase / 1000.0;
  return {};
}

}  // namespace

Result<Request> request_of(const RequestFlags& flags) {
  if (flags.levels.empty() || flags.levels.size() > wire::kMaxLevels)
    return Error{"--levels: from 1 to " + std::to_string(wire::kMaxLevels) +
                 " services, separated by commas"};
  const size_t given = flags.copies.size();
  if (given > 1 && given != flags.levels.size())
    return Error{"--copies: " + std::to_string(given) + " numbers for " +
                 std::to_string(flags.levels.size()) + " levels: give one for all, or one for each"};
  Request request;
  if (Failure failure = set_policy(flags, request)) return *failure;
  for (size_t i = 0; i < flags.levels.size(); ++i) {
    const uint32_t copies = given == 0 ? 0 : flags.copies[given == 1 ? 0 : i];
    if (request.redundancy == Redundancy::kSingle && copies > 1)
      return Error{"--redundancy single is one copy: leave --copies out, or choose per-level"};
    if (request.redundancy == Redundancy::kPaths && copies != (given ? flags.copies[0] : 0))
      return Error{"--redundancy paths has as many copies at every level: give --copies one number"};
    if (flags.levels[i].empty() || flags.levels[i].size() > wire::kMaxNameBytes)
      return Error{"--levels: a service's name has from 1 to " + std::to_string(wire::kMaxNameBytes) +
                   " bytes"};
    request.levels.push_back({flags.levels[i], copies});
  }
  request.deadline = flags.deadline;
  request.wait_limit = flags.wait_limit;
  request.service_class = flags.service_class;
  request.service_time = flags.service_time;
  return request;
}

Result<ClientOptions> client_options_of(const RequestFlags& flags) {
  if (flags.brokers.empty()) return Error{"--brokers: at least one address is needed"};
  if (flags.cluster.size() > wire::kMaxNameBytes)
    return Error{"--cluster: at most " + std::to_string(wire::kMaxNameBytes) + " bytes"};
  ClientOptions options;
  for (const Address& broker : flags.brokers) options.brokers.push_back(format_address(broker));
  options.cluster = flags.cluster;
  return options;
}

}  // namespace redoubt::tool
