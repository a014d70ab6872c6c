// What programs under test print and write down, as numbers and operations, and what holds of every good
// result.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace redoubt::test {

// JSON or metrics, flat: `latency_us/p99`, `redoubt_copies_total{fate="won"}`.
using Numbers = std::map<std::string, double>;

// The numbers of a JSON object; nothing if the text is none.
std::optional<Numbers> parse_numbers(const std::string& json);

// One request of a bench, from its history.
struct Operation {
  double submitted = 0, deadline = 0, ended = 0;  // wall-clock seconds; `ended` is that of the first outcome
  int outcomes = 0;
  std::string outcome, text;
  bool running = false;
};
using History = std::map<std::string, Operation>;

History read_history(const std::string& path);
// The longest time between two results in a row, in seconds: within a second after a moment and at any other
// time, which tells what this machine does to anybody.
struct Gaps {
  double after = 0, elsewhere = 0;
};
Gaps longest_gaps(const History& history, double moment);
double wall_now();

// The full length of each experiment instead of a short one.
bool long_run();
// Prints a measured figure in a line, as release notes quote it.
void figure(const std::string& what, double value, const std::string& unit = "");

// Lost, duplicated and unexpected are 0 and `sent` is not.
void expect_clean(const Numbers& result);
// The same, and every request was answered in time.
void expect_all_answered(const Numbers& result);

}  // namespace redoubt::test
