// ServicePolicy: what an operator decides about one service: how its requests are served when they do not say
// so themselves, and what extra copies may cost. The text is that of --policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"
#include "wire/message.h"

namespace redoubt::broker {

struct ServicePolicy {
  uint32_t copies = 1;
  wire::Policy policy{wire::Redundancy::kPerLevel, wire::Disposal::kOnCompletion, 0};

  // Hedge: the share of requests that are answered without a second copy, and fixed bounds on the delay that
  // makes it so: a delay that is measured under hedging must not feed on itself.
  double hedge_percentile = 0.9;
  Duration hedge_least = std::chrono::milliseconds(1), hedge_most = std::chrono::seconds(1);

  // Extra copies, those beyond the first of a request at a level, as a share of requests. Nothing: no cap on
  // copies that were asked for, 0.1 for those that the manager thinks of itself (hedge; auto, where first
  // copies could use the place). A cap on all counts the extra copies on idle workers, too.
  std::optional<double> extra_share, all_extra_share;
};
inline constexpr double kUsualExtraShare = 0.1;

// `decode(redundancy=hedge,copies=2)`: the service (`*`: every one that has none of its own) and what is set
// for it. Keys: redundancy, copies, disposal, hedge-percentile, hedge-least, hedge-most, extra-share,
// all-extra-share.
struct NamedPolicy {
  std::string service;
  ServicePolicy policy;
};
Result<NamedPolicy> parse_policy(std::string_view text);

}  // namespace redoubt::broker
