// How --help is laid out: flags under their headings, one column for what to write, one for what it means.
#include <algorithm>
#include <map>

#include "options/options.h"

namespace redoubt {
namespace {

constexpr size_t kColumn = 30;
constexpr size_t kWidth = 100;

// `text` broken at spaces; lines after the first start at `indent`.
std::string wrapped(const std::string& text, size_t indent) {
  std::string out;
  size_t column = indent;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find(' ', start), text.size());
    std::string word = text.substr(start, end - start);
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += " ";
      ++column;
    }
    out += word;
    column += word.size();
    start = end + 1;
  }
  return out + "\n";
}

std::string row(const std::string& left, const std::string& right) {
  std::string out = "  " + left;
  if (out.size() + 2 > kColumn) {
    out += "\n" + std::string(kColumn, ' ');
  } else {
    out.resize(kColumn, ' ');
  }
  return out + wrapped(right, kColumn);
}

std::string row(const Flag& flag) {
  std::string right = flag.help;
  if (flag.required && !flag.positional) right += " (must be given)";
  if (!flag.default_text.empty()) right += " (default: " + flag.default_text + ")";
  bool valued = !flag.positional && !flag.shape.empty();
  return row(flag.spelling() + (valued ? " " + flag.shape : ""), right);
}

}  // namespace

std::string Options::help_text() const {
  std::string out = "Usage: " + program_;
  if (!commands_.empty()) out += " COMMAND";
  for (const Flag& flag : flags_) {
    if (flag.positional) out += flag.required ? " " + flag.name : " [" + flag.name + "]";
  }
  out += " [flags]\n\n" + wrapped(about_, 0);

  if (!commands_.empty()) out += "\nCommands:\n";
  for (const auto& command : commands_) {
    out += row(command->program_.substr(program_.size() + 1), command->about_);
  }

  std::string heading;
  bool has_file = false;
  auto show = [&](const Flag& flag) {
    if (heading != flag.section) out += "\n" + flag.section + ":\n";
    heading = flag.section;
    has_file = has_file || flag.name == "config";
    out += row(flag);
  };
  std::ranges::for_each(flags_, show);

  out += "\nGeneral:\n" + row("-h, --help", "show this help") + row("--version", "show the version");
  if (!exits_.empty()) {
    out += "\nExit status:\n";
    std::map<int, std::string> all(exits_.begin(), exits_.end());
    all.emplace(2, "usage");
    for (const auto& [status, meaning] : all) out += row(std::to_string(status), meaning);
  }
  if (!flags_.empty()) {
    std::string rule =
        "A flag such as --queue-limit can also be given as REDOUBT_QUEUE_LIMIT in the environment";
    rule +=
        has_file
            ? " or as queue_limit in the file of --config; the flag goes before the environment, that before "
              "the file."
            : "; the flag goes before the environment.";
    out += "\n" + wrapped(rule, 0);
  }
  return out;
}

}  // namespace redoubt
