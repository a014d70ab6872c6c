// Flags of requests; see request_flags.h.
#include "tool/request_flags.h"

#include "wire/limits.h"

namespace redoubt::tool {

void add_broker_flags(Options& options, RequestFlags& flags) {
  options.add("brokers", flags.brokers, "where the brokers listen; the one that rules is used");
  options.add("cluster", flags.cluster, "brokers of another cluster refuse it").must_not_be_empty();
}

void add_request_flags(Options& options, RequestFlags& flags) {
  add_broker_flags(options, flags);
  options.section("The request");
  options.add("levels", flags.levels, "the services it goes through, in this order").must_be_given();
  options.add("copies", flags.copies, {1, wire::kMaxCopies},
              "replicas that run it at the same time: one number for every level, or one each");
  options.add("deadline", flags.deadline, {std::chrono::microseconds(1), kLongestDuration},
              "from the call to its outcome");
  options.add("wait-limit", flags.wait_limit,
              "on the time spent waiting in queues, all levels together; 0s is none");
  options.add_choice("redundancy", flags.redundancy,
                     {{"per-level", Redundancy::kPerLevel}, {"single", Redundancy::kSingle}},
                     "how copies are arranged; single: one copy everywhere");
  options.add_choice("disposal", flags.disposal,
                     {{"none", Disposal::kNone},
                      {"expire", Disposal::kExpire},
                      {"on-completion", Disposal::kOnCompletion},
                      {"on-start", Disposal::kOnStart}},
                     "when copies that are no longer needed go");
}

Result<Request> request_of(const RequestFlags& flags) {
  if (flags.levels.empty() || flags.levels.size() > wire::kMaxLevels)
    return Error{"--levels: from 1 to " + std::to_string(wire::kMaxLevels) +
                 " services, separated by commas"};
  if (flags.copies.size() != 1 && flags.copies.size() != flags.levels.size())
    return Error{"--copies: " + std::to_string(flags.copies.size()) + " numbers for " +
                 std::to_string(flags.levels.size()) + " levels: give one for all, or one for each"};
  Request request;
  for (size_t i = 0; i < flags.levels.size(); ++i) {
    const uint32_t copies = flags.copies.size() == 1 ? flags.copies[0] : flags.copies[i];
    if (flags.redundancy == Redundancy::kSingle && copies != 1)
      return Error{"--redundancy single is one copy: leave --copies out, or choose per-level"};
    if (flags.levels[i].empty() || flags.levels[i].size() > wire::kMaxNameBytes)
      return Error{"--levels: a service's name has from 1 to " + std::to_string(wire::kMaxNameBytes) +
                   " bytes"};
    request.levels.push_back({flags.levels[i], copies});
  }
  request.deadline = flags.deadline;
  request.wait_limit = flags.wait_limit;
  request.disposal = flags.disposal;
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
