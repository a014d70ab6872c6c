// A TOML file as a flat list of keys with the texts of their values. Which keys there are and what their
// texts mean is not known here. Keeps toml++ out of every other file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace redoubt {

struct ConfigValue {
  enum class Type { kString, kNumber, kBool };
  Type type;
  std::string text;
};

struct ConfigEntry {
  std::string key;
  unsigned line = 0;
  bool array = false;
  std::vector<ConfigValue> values;
};

// In the order of the lines. What cannot be a flag's value (a table, a date) is an error that names file,
// line, key.
Result<std::vector<ConfigEntry>> read_config_file(const std::string& path);

// The same for a text; `path` is what errors call it.
Result<std::vector<ConfigEntry>> parse_config(std::string_view text, const std::string& path);

// `path:line: key: what`, the form of every error about a file.
std::string at_line(const std::string& path, unsigned line, const std::string& key, std::string_view what);

}  // namespace redoubt
