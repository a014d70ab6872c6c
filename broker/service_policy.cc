// Reads --policy; see service_policy.h.
#include "broker/service_policy.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/duration_text.h"
#include "core/utf8.h"
#include "wire/limits.h"
#include "wire/policy_text.h"

namespace redoubt::broker {
namespace {

Failure read_number(std::string_view text, double least, double most, double& out) {
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, out);
  if (problem == std::errc() && rest == end && out >= least && out <= most) return {};
  return Error{"'" + std::string(text) + "' is not a number from " + std::to_string(least).substr(0, 4) +
               " to " + std::to_string(most).substr(0, 6)};
}

Failure read_share(std::string_view text, std::optional<double>& out) {
  return read_number(text, 0, wire::kMaxCopies, out.emplace());
}

Failure read_delay(std::string_view text, Duration& out) {
  const auto parsed = parse_duration(text);
  if (!parsed) return Error{parsed.error()};
  if (*parsed <= Duration::zero()) return Error{"'" + std::string(text) + "' is not above zero"};
  out = *parsed;
  return {};
}

Failure read_copies(std::string_view text, uint32_t& out) {
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, out);
  if (problem == std::errc() && rest == end && out >= 1 && out <= wire::kMaxCopies) return {};
  return Error{"'" + std::string(text) + "' is not a number from 1 to " + std::to_string(wire::kMaxCopies)};
}

Failure set(std::string_view key, std::string_view value, ServicePolicy& policy) {
  if (key == "redundancy") {
    const auto parsed = wire::parse_redundancy(value);
    if (!parsed) return Error{parsed.error()};
    policy.policy.redundancy = *parsed;
    return {};
  }
  if (key == "disposal") return wire::parse_disposal(value, policy.policy);
  if (key == "copies") return read_copies(value, policy.copies);
  if (key == "hedge-percentile") return read_number(value, 0.01, 0.9999, policy.hedge_percentile);
  if (key == "hedge-least") return read_delay(value, policy.hedge_least);
  if (key == "hedge-most") return read_delay(value, policy.hedge_most);
  if (key == "extra-share") return read_share(value, policy.extra_share);
  if (key == "all-extra-share") return read_share(value, policy.all_extra_share);
  return Error{
      "there is no such key; there are redundancy, copies, disposal, hedge-percentile, hedge-least, "
      "hedge-most, extra-share and all-extra-share"};
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Failure read_settings(std::string_view settings, ServicePolicy& policy) {
  std::vector<std::string_view> seen;
  for (size_t from = 0, comma = 0; comma != std::string_view::npos; from = comma + 1) {
    comma = settings.find(',', from);
    const std::string_view one =
        settings.substr(from, comma == std::string_view::npos ? comma : comma - from);
    const size_t equals = one.find('=');
    const std::string_view key = trimmed(one.substr(0, equals));
    if (key.empty()) return Error{"a setting is empty: write key=value,key=value"};
    if (equals == std::string_view::npos)
      return Error{"'" + std::string(key) + "' has no value: write key=value"};
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return Error{std::string(key) + " stands there twice; leave one of them out"};
    seen.push_back(key);
    if (Failure failure = set(key, trimmed(one.substr(equals + 1)), policy))
      return Error{std::string(key) + ": " + failure->text};
  }
  if (policy.hedge_least > policy.hedge_most)
    return Error{"hedge-least is above hedge-most (" + format_duration(policy.hedge_most) + ")"};
  if (policy.policy.redundancy == wire::Redundancy::kSingle && policy.copies > 1)
    return Error{"redundancy=single is one copy: leave copies out, or choose per-level"};
  return {};
}

}  // namespace

Result<NamedPolicy> parse_policy(std::string_view text) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(')'))
    return Error{
        "'" + std::string(text) +
        "' is no policy: write one such as decode(redundancy=hedge,copies=2), or *(...) for all services"};
  NamedPolicy named{std::string(trimmed(text.substr(0, open))), {}};
  if (named.service.size() > wire::kMaxNameBytes || !is_one_line(named.service))
    return Error{"'" + one_line(named.service, 40) + "': a service's name has at most " +
                 std::to_string(wire::kMaxNameBytes) + " bytes of UTF-8 without control characters"};
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  if (Failure failure = read_settings(inside, named.policy))
    return Error{"'" + std::string(text) + "': " + failure->text};
  return named;
}

}  // namespace redoubt::broker
