// Results of programs under test; see results.h.
#include "results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "process.h"

namespace redoubt::test {

using Json = nlohmann::json;

std::optional<Numbers> parse_numbers(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object()) return {};
  Numbers numbers;
  const Json all = parsed.flatten();
  for (const auto& [key, value] : all.items())
    if (value.is_number()) numbers[key.substr(1)] = value.get<double>();
  return numbers;
}

History read_history(const std::string& path) {
  History history;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    Operation& operation = history[json.at("id").get<std::string>()];
    const double at = json.at("wall_us").get<double>() / 1e6;
    if (json.at("event") == "submit") {
      operation.submitted = at;
      operation.deadline = at + json.at("deadline_us").get<double>() / 1e6;
    } else if (++operation.outcomes == 1) {
      operation.ended = at;
      operation.outcome = json.at("outcome").get<std::string>();
      operation.text = json.at("text").get<std::string>();
      operation.running = json.at("running").get<bool>();
    }
  }
  return history;
}

Gaps longest_gaps(const History& history, double moment) {
  std::vector<double> ends;
  for (const auto& [id, operation] : history)
    if (operation.outcomes > 0) ends.push_back(operation.ended);
  std::ranges::sort(ends);
  Gaps gaps;
  for (size_t i = 1; i < ends.size(); ++i) {
    const bool after = ends[i] >= moment && ends[i - 1] < moment + 1;
    double& longest = after ? gaps.after : gaps.elsewhere;
    longest = std::max(longest, ends[i] - ends[i - 1]);
  }
  return gaps;
}

double wall_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool long_run() {
  const char* wanted = std::getenv("REDOUBT_LONG");
  return wanted != nullptr && std::string(wanted) == "1";
}

void figure(const std::string& what, double value, const std::string& unit) {
  std::printf("figure: %s: %.6g%s%s\n", what.c_str(), value, unit.empty() ? "" : " ", unit.c_str());
}

void expect_clean(const Numbers& result) {
  EXPECT_GT(result.at("sent"), 0);
  for (const char* name : {"lost", "duplicated", "unexpected"}) EXPECT_EQ(result.at(name), 0) << name;
}

void expect_all_answered(const Numbers& result) {
  expect_clean(result);
  EXPECT_EQ(result.at("ok") + result.at("late"), result.at("sent"));
  for (const char* name : {"expired", "refused", "failed"}) EXPECT_EQ(result.at(name), 0) << name;
}

}  // namespace redoubt::test
