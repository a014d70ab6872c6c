// Durations from and to text: one table of units serves both ways.
#include "core/duration_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace redoubt {
namespace {

struct Unit {
  std::string_view name;
  int64_t nanoseconds;
};

// Longest first: formatting takes the first that fits.
constexpr std::array kUnits{
    Unit{"h", 3'600'000'000'000}, Unit{"min", 60'000'000'000}, Unit{"s", 1'000'000'000},
    Unit{"ms", 1'000'000},        Unit{"us", 1'000},           Unit{"ns", 1}};
constexpr std::string_view kCure =
    "write a number and a unit (ns, us, ms, s, min, h), as in 400us, 50ms or 1.5s";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

Error bad(std::string_view text, std::string_view why) {
  return Error{"'" + std::string(text) + "' " + std::string(why)};
}

// `whole.thousandths` without the zeros at the end.
std::string with_thousandths(int64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  int64_t rest = thousandths % 1000;
  if (rest == 0) return text;
  std::string digits = std::to_string(1000 + rest).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration::zero();
  if (text.size() > 1 && text[0] == '-' && is_digit(text[1]))
    return bad(text, "is negative, and a duration cannot be: " + std::string(kCure));
  if (text.empty() || !is_digit(text.front())) return bad(text, "is not a duration: " + std::string(kCure));

  // The whole part and the fraction apart: a double alone would lose the last nanoseconds of a long duration.
  int64_t whole = 0;
  double fraction = 0;
  const char* end = text.data() + text.size();
  auto [rest, problem] = std::from_chars(text.data(), end, whole);
  if (rest != end && *rest == '.') rest = std::from_chars(rest, end, fraction, std::chars_format::fixed).ptr;

  std::string_view unit_name(rest, static_cast<size_t>(end - rest));
  if (unit_name.empty()) {
    return bad(text, "has no unit: write " + std::string(text) + "ms or " + std::string(text) + "s");
  }
  const Unit* unit = find_unit(unit_name);
  if (!unit) return bad(text, "is not a duration: " + std::string(kCure));
  if (problem != std::errc() || whole > kLongestDuration.count() / unit->nanoseconds) {
    return bad(text, "is too long: the longest duration is " + format_duration(kLongestDuration));
  }
  return Duration(whole * unit->nanoseconds +
                  std::llround(fraction * static_cast<double>(unit->nanoseconds)));
}

std::string format_duration(Duration duration) {
  int64_t count = duration.count();
  if (count == 0) return "0s";
  if (count < 0) return "-" + format_duration(-duration);
  for (const Unit& unit : kUnits) {
    if (count < unit.nanoseconds) continue;
    // Fractions of an hour or a minute are for nobody; those of a second are, down to three digits.
    bool whole_only = unit.nanoseconds >= 60'000'000'000 || unit.nanoseconds == 1;
    int64_t step = whole_only ? unit.nanoseconds : unit.nanoseconds / 1000;
    if (count % step != 0) continue;
    return with_thousandths(count / step * (whole_only ? 1000 : 1)) + std::string(unit.name);
  }
  return std::to_string(count) + "ns";
}

Duration duration_from_seconds(double seconds) {
  double nanoseconds = seconds * 1e9;
  if (!(nanoseconds < static_cast<double>(kLongestDuration.count()))) return kLongestDuration;
  return nanoseconds > 0 ? Duration(std::llround(nanoseconds)) : Duration::zero();
}

}  // namespace redoubt
