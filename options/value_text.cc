// Numbers and lists from and to text; the other types have parsers of their own.
#include "options/value_text.h"

#include <array>
#include <cmath>

namespace redoubt {

Result<double> ValueText<double>::parse(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || rest != end || !std::isfinite(value)) {
    return Error{"'" + std::string(text) + "' is not a number: write one such as 0.8"};
  }
  return value;
}

std::string ValueText<double>::format(double value) {
  std::array<char, 32> buffer;
  auto [end, problem] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  CHECK(problem == std::errc());
  return std::string(buffer.data(), end);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  int depth = 0;
  items.emplace_back();
  for (char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth <= 0) {
      items.emplace_back();
    } else if (c != ' ' || !items.back().empty()) {
      items.back().push_back(c);
    }
  }
  return items;
}

}  // namespace redoubt
