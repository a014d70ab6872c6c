// The one place where a program declares its flags. Each is declared once, with the variable it sets, and can
// then be given on the command line, in the environment or in a file, in this order of precedence. Parsing
// returns what to do; it never exits. Rules that tie several flags together are the program's own: check them
// after parse().
//
//   Options options("redoubt-broker", "Stands between clients and replicas.");
//   options.takes_config();
//   options.add("queue-limit", queue_limit, {1, 1'000'000}, "requests waiting at the manager");
//   options.add("dead-after", dead_after, "silence after which a peer counts as dead");
//   if (Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "options/flag.h"
#include "options/value_text.h"

namespace redoubt {

inline constexpr int kExitUsage = 2;

// Run on, or end with this exit code and text.
struct Parsed {
  bool run = true;
  int exit_code = 0;
  std::string text;

  // Prints the text (to stderr if it is an error) and returns the exit code.
  int finish() const;
};

class Options {
 public:
  // Gives the value of a variable, or nullptr; the process's own unless a test hands in another.
  using Environment = std::function<const char*(const char*)>;

  Options(std::string program, std::string about) : program_(std::move(program)), about_(std::move(about)) {}
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // A flag with a value. The variable's value is the default. T is a string, an integer, a double, Duration,
  // ByteSize, Address or Distribution, an optional of one (no default), or a vector (commas, or the flag
  // several times). A bool is a switch: it takes no value.
  template <class T>
  Flag& add(std::string name, T& variable, std::string help);

  // The same, with the smallest and the largest value it takes.
  template <class T>
  Flag& add(std::string name, T& variable, Range<std::type_identity_t<Scalar<T>>> range, std::string help);

  // A flag that takes `on` or `off`.
  Flag& add_on_off(std::string name, bool& variable, std::string help);

  // One of a fixed list of names, each with its value; T may be an optional.
  template <class T>
  Flag& add_choice(std::string name, T& variable,
                   std::vector<std::pair<std::string, std::type_identity_t<Scalar<T>>>> choices,
                   std::string help);

  // An argument without a flag, in the order of declaration; it has to be given unless T is an optional.
  template <class T>
  Flag& add_positional(std::string name, T& variable, std::string help);

  // Flags declared from now on stand under this heading in the help.
  void section(std::string heading) { section_ = std::move(heading); }

  // What one of the program's exit statuses means. The help tells them in order of their numbers; where there
  // is one, it tells 2 as well, a usage error.
  void exits(int status, std::string meaning) { exits_.emplace_back(status, std::move(meaning)); }

  // Adds --config FILE.
  void takes_config();

  // A command with flags of its own; commands nest. A program with commands must be given one.
  Options& command(std::string name, std::string about);
  // After parse(): was this command the one given?
  bool chosen() const { return chosen_; }

  Parsed parse(int argc, const char* const* argv);
  Parsed parse(int argc, const char* const* argv, const Environment& environment);

  // What a program returns when its own rules find a usage error: the same form as parse()'s, exit code 2.
  Parsed usage_error(std::string text) const;

  std::string help_text() const;

 private:
  // The parsed command line: the only thing that knows CLI11.
  class CommandLine;

  template <class T, class Read>
  Flag& declare(std::string name, T& variable, std::string help, Read read);
  template <class T, class Format>
  static std::string default_of(const T& variable, Format format);
  Flag& add_flag(Flag flag);

  Failure apply(const CommandLine& line, const Environment& environment);
  Failure apply_file(const std::string& path);
  Failure apply_texts(Flag& flag, const std::vector<std::string>& texts, const std::string& source);
  Failure check_complete() const;

  std::string program_;
  std::string about_;
  std::string section_ = "Flags";
  std::vector<std::pair<int, std::string>> exits_;
  std::string config_path_;
  bool chosen_ = false;
  // A deque, for what add() returns must stay where it is.
  std::deque<Flag> flags_;
  std::vector<std::unique_ptr<Options>> commands_;
  std::vector<const Flag*> given_;
};

// ---- What follows is how the templates above do it.

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T, class Format>
std::string Options::default_of(const T& variable, Format format) {
  if constexpr (kIsVector<T>) {
    std::string text;
    for (const auto& item : variable) text += (text.empty() ? "" : ",") + format(item);
    return text;
  } else if constexpr (kIsOptional<T>) {
    return variable ? format(*variable) : "";
  } else {
    return format(variable);
  }
}

template <class T, class Read>
Flag& Options::declare(std::string name, T& variable, std::string help, Read read) {
  Flag flag;
  flag.name = std::move(name);
  flag.help = std::move(help);
  flag.list = kIsVector<T>;
  if constexpr (std::same_as<Scalar<T>, std::string>) flag.kind = Flag::Kind::kText;
  flag.assign = [&variable, read](const std::vector<std::string>& texts) -> Failure {
    if constexpr (kIsVector<T>) {
      T items;
      for (const std::string& text : texts) {
        for (const std::string& item : split_list(text)) {
          Result<Scalar<T>> parsed = read(item);
          if (!parsed) return Error{parsed.error()};
          items.push_back(*std::move(parsed));
        }
      }
      variable = std::move(items);
    } else {
      // Given twice, the last counts, so that a script can append to a command line.
      Result<Scalar<T>> parsed = read(texts.back());
      if (!parsed) return Error{parsed.error()};
      variable = *std::move(parsed);
    }
    return {};
  };
  return add_flag(std::move(flag));
}

template <class T>
Flag& Options::add(std::string name, T& variable, std::string help) {
  using Text = ValueText<Scalar<T>>;
  Flag& flag = declare(std::move(name), variable, std::move(help), Text::parse);
  if constexpr (std::same_as<T, bool>) {
    flag.kind = Flag::Kind::kSwitch;
    return flag;
  }
  flag.default_text = default_of(variable, Text::format);
  return flag.shaped(std::string(Text::kShape) + (flag.list ? ",..." : ""));
}

template <class T>
Flag& Options::add(std::string name, T& variable, Range<std::type_identity_t<Scalar<T>>> range,
                   std::string help) {
  using Text = ValueText<Scalar<T>>;
  auto read = [range](std::string_view text) -> Result<Scalar<T>> {
    Result<Scalar<T>> parsed = Text::parse(text);
    if (parsed && (*parsed < range.min || *parsed > range.max)) {
      return Error{"'" + std::string(text) + "' is out of range: it must be from " + Text::format(range.min) +
                   " to " + Text::format(range.max)};
    }
    return parsed;
  };
  Flag& flag = declare(std::move(name), variable, std::move(help), read);
  flag.default_text = default_of(variable, Text::format);
  return flag.shaped(std::string(Text::kShape) + (flag.list ? ",..." : ""));
}

template <class T>
Flag& Options::add_choice(std::string name, T& variable,
                          std::vector<std::pair<std::string, std::type_identity_t<Scalar<T>>>> choices,
                          std::string help) {
  std::string names;
  for (const auto& choice : choices) names += (names.empty() ? "" : "|") + choice.first;
  auto read = [choices, names](std::string_view text) -> Result<Scalar<T>> {
    for (const auto& [known, value] : choices) {
      if (known == text) return value;
    }
    return Error{"'" + std::string(text) + "' is not one of " + names};
  };
  auto format = [&choices](const Scalar<T>& value) {
    for (const auto& choice : choices) {
      if (choice.second == value) return choice.first;
    }
    return std::string();
  };
  std::string shown = default_of(variable, format);
  return declare(std::move(name), variable, std::move(help), read)
      .shaped(names)
      .shown_default(std::move(shown));
}

template <class T>
Flag& Options::add_positional(std::string name, T& variable, std::string help) {
  Flag& flag = add(std::move(name), variable, std::move(help));
  flag.positional = true;
  flag.required = !kIsOptional<T>;
  return flag;
}

}  // namespace redoubt
