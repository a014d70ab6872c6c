// The three spellings of a flag's name.
#include "options/flag.h"

#include <algorithm>

#include "options/value_text.h"

namespace redoubt {

namespace {
constexpr const char* kEmpty = "its value is empty: give one, or leave it out";
}

std::string Flag::key() const {
  std::string key = name;
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string Flag::wrongly_empty(const std::vector<std::string>& texts) const {
  for (const std::string& text : texts) {
    if (!list) {
      if (never_empty && text.empty()) return kEmpty;
      continue;
    }
    const std::vector<std::string> items = split_list(text);
    const auto empty = std::ranges::count(items, std::string());
    if (empty == std::ssize(items)) return kEmpty;
    if (empty > 0) return "one of the values in '" + text + "' is empty: is there a comma too many?";
  }
  return {};
}

std::string Flag::variable() const {
  std::string variable = "REDOUBT_" + key();
  std::ranges::transform(variable, variable.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return variable;
}

}  // namespace redoubt
