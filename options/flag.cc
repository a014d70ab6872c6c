// The three spellings of a flag's name.
#include "options/flag.h"

#include <algorithm>

namespace redoubt {

std::string Flag::key() const {
  std::string key = name;
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string Flag::variable() const {
  std::string variable = "REDOUBT_" + key();
  std::ranges::transform(variable, variable.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return variable;
}

}  // namespace redoubt
