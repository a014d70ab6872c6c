// The words that people write for a policy, on command lines and in files: `hedge`, `two-phase:0.5`. What is
// printed is name_of()'s.
#pragma once

#include <string_view>

#include "core/result.h"
#include "wire/terms.h"

namespace redoubt::wire {

inline constexpr uint16_t kUsualFirstPhase = 500;  // thousandths
inline constexpr std::string_view kRedundancyWords = "single|per-level|paths|backup|spare|hedge|auto";
inline constexpr std::string_view kDisposalWords = "none|expire|two-phase[:F]|on-completion|on-start";

Result<Redundancy> parse_redundancy(std::string_view text);

// Sets the discipline, and the first phase of two-phase (`two-phase:F` with F above 0 and at most 1).
Failure parse_disposal(std::string_view text, Policy& policy);

// A share in thousandths, above 0 and at most 1; `most` below 1000 leaves the top out.
Result<uint16_t> parse_thousandths(std::string_view text, uint16_t most = 1000);

}  // namespace redoubt::wire
