// See policy_text.h.
#include "wire/policy_text.h"

#include <charconv>
#include <cmath>
#include <string>

namespace redoubt::wire {

Result<Redundancy> parse_redundancy(std::string_view text) {
  for (auto each = Redundancy::kSingle; each <= Redundancy::kAuto;
       each = static_cast<Redundancy>(static_cast<int>(each) + 1))
    if (text == name_of(each)) return each;
  return Error{"'" + std::string(text) + "' is no redundancy: write one of " + std::string(kRedundancyWords)};
}

Result<uint16_t> parse_thousandths(std::string_view text, uint16_t most) {
  double share = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, share);
  const double thousandths = std::round(share * 1000);
  if (problem != std::errc() || rest != end || !(thousandths >= 1) || !(thousandths <= most) || share > 1)
    return Error{"'" + std::string(text) + "' is not a share: write a number above 0 and " +
                 (most < 1000 ? "below 1" : "at most 1") + ", such as 0.5 (in thousandths)"};
  return static_cast<uint16_t>(thousandths);
}

Failure parse_disposal(std::string_view text, Policy& policy) {
  constexpr std::string_view kTwoPhase = "two-phase:";
  if (text.starts_with(kTwoPhase)) {
    const auto share = parse_thousandths(text.substr(kTwoPhase.size()));
    if (!share) return Error{share.error()};
    policy.disposal = Disposal::kTwoPhase;
    policy.first_phase = *share;
    return {};
  }
  for (auto each = Disposal::kNone; each <= Disposal::kOnStart;
       each = static_cast<Disposal>(static_cast<int>(each) + 1)) {
    if (text != name_of(each)) continue;
    policy.disposal = each;
    policy.first_phase = each == Disposal::kTwoPhase ? kUsualFirstPhase : 0;
    return {};
  }
  return Error{"'" + std::string(text) + "' is no disposal: write one of " + std::string(kDisposalWords)};
}

}  // namespace redoubt::wire
