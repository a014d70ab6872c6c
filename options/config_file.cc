// The only file that sees toml++.
#include "options/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "options/value_text.h"

namespace redoubt {
namespace {

Result<ConfigValue> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return ConfigValue{ConfigValue::Type::kString, text->get()};
  if (const auto* whole = node.as_integer()) {
    return ConfigValue{ConfigValue::Type::kNumber, std::to_string(whole->get())};
  }
  if (const auto* real = node.as_floating_point()) {
    return ConfigValue{ConfigValue::Type::kNumber, ValueText<double>::format(real->get())};
  }
  if (const auto* truth = node.as_boolean()) {
    return ConfigValue{ConfigValue::Type::kBool, truth->get() ? "true" : "false"};
  }
  if (node.is_table()) return Error{"is a table: keys stand alone, without a [heading] or a dot"};
  if (node.is_array()) return Error{"is a list within a list: write one list"};
  return Error{"is a date or a time: write a string, a number, true or false"};
}

Result<ConfigEntry> entry_of(const std::string& path, const std::string& key, const toml::node& node) {
  ConfigEntry entry{key, node.source().begin.line, node.is_array(), {}};
  auto take = [&](const toml::node& one) -> Failure {
    Result<ConfigValue> value = scalar(one);
    if (!value) return Error{at_line(path, one.source().begin.line, key, value.error())};
    entry.values.push_back(*std::move(value));
    return {};
  };
  if (!entry.array) {
    if (Failure failure = take(node)) return *failure;
    return entry;
  }
  for (const toml::node& item : *node.as_array()) {
    if (Failure failure = take(item)) return *failure;
  }
  return entry;
}

}  // namespace

std::string at_line(const std::string& path, unsigned line, const std::string& key, std::string_view what) {
  return path + ":" + std::to_string(line) + ": " + key + ": " + std::string(what);
}

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, const std::string& path) {
  toml::table table;
  try {
    table = toml::parse(text, std::string_view(path));
  } catch (const toml::parse_error& problem) {
    return Error{path + ":" + std::to_string(problem.source().begin.line) + ": " +
                 std::string(problem.description())};
  }
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : table) {
    Result<ConfigEntry> entry = entry_of(path, std::string(key.str()), node);
    if (!entry) return Error{entry.error()};
    entries.push_back(*std::move(entry));
  }
  // The table sorts by key; people read by line, and want the first error first.
  std::ranges::stable_sort(entries, {}, &ConfigEntry::line);
  return entries;
}

Result<std::vector<ConfigEntry>> read_config_file(const std::string& path) {
  std::string text;
  // stdio and not a stream: only it tells why, also for a folder, which opens but cannot be read.
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), std::fclose);
  std::array<char, 4096> chunk;
  while (file) {
    size_t size = std::fread(chunk.data(), 1, chunk.size(), file.get());
    text.append(chunk.data(), size);
    if (size < chunk.size()) break;
  }
  if (!file || std::ferror(file.get()))
    return Error{"--config: cannot read '" + path + "': " + std::strerror(errno)};
  return parse_config(text, path);
}

}  // namespace redoubt
