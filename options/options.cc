// The only file that sees CLI11, and only for taking a command line apart: its own handling of files and
// variables puts the file first, which is the wrong way round.
#include "options/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "options/config_file.h"
#include "options/nearest.h"

namespace redoubt {

class Options::CommandLine {
 public:
  // Takes the command line apart; says what to do if that alone ends the program (help, version, an error).
  Parsed read(Options& root, int argc, const char* const* argv) {
    CLI::App app(root.about_, root.program_);
    declare(root, app);
    try {
      app.parse(argc, argv);
      find_chosen(root);
      const Parsed ended = check_values(argc, argv);
      return ended.run ? check_extras() : ended;
    } catch (const CLI::CallForHelp&) {
      find_chosen(root);
      return Parsed{false, 0, chosen_.back()->help_text()};
    } catch (const CLI::CallForVersion&) {
      return Parsed{false, 0, root.program_ + " " + REDOUBT_VERSION + "\n"};
    } catch (const CLI::ParseError& problem) {
      find_chosen(root);
      return chosen_.back()->usage_error(in_our_words(problem.what()));
    }
  }

  // The texts a flag was given, empty if it was not.
  std::vector<std::string> texts(const Flag& flag) const {
    auto found = texts_.find(&flag);
    return found == texts_.end() ? std::vector<std::string>() : found->second;
  }

  // The program, then the command in it that was chosen, then the one in that.
  const std::vector<Options*>& chosen() const { return chosen_; }

 private:
  void declare(Options& options, CLI::App& app) {
    apps_[&options] = &app;
    app.set_help_flag("-h,--help");
    app.set_version_flag("--version", std::string(REDOUBT_VERSION));
    // What is left over is reported by check_extras(), which can say what was meant.
    app.allow_extras();
    app.require_subcommand(0, 1);
    for (const Flag& flag : options.flags_) declare(flag, app);
    for (const auto& command : options.commands_) {
      std::string name = command->program_.substr(options.program_.size() + 1);
      declare(*command, *app.add_subcommand(name, command->about_));
    }
  }

  void declare(const Flag& flag, CLI::App& app) {
    auto keep = [this, &flag](const std::vector<std::string>& texts) {
      texts_[&flag] = texts;
      return true;
    };
    CLI::Option* option = app.add_option(flag.spelling(), CLI::callback_t(keep));
    option->type_name(flag.shape)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (flag.kind == Flag::Kind::kSwitch) {
      option->expected(0);
    } else if (!flag.positional) {
      // Any number of times, each time with one value: `--service a --service b`, never `--service a b`.
      option->expected(1, -1)->allow_extra_args(false);
    }
  }

  void find_chosen(Options& root) {
    chosen_ = {&root};
    while (true) {
      const auto& commands = chosen_.back()->commands_;
      auto next =
          std::ranges::find_if(commands, [&](const auto& one) { return apps_.at(one.get())->parsed(); });
      if (next == commands.end()) return;
      chosen_.push_back(next->get());
    }
  }

  // CLI11 takes whatever follows a flag as its value. What begins with two dashes is the next flag, and the
  // value was forgotten.
  Parsed check_values(int argc, const char* const* argv) {
    for (int i = 1; i + 1 < argc && std::string_view(argv[i]) != "--"; ++i) {
      const std::string_view next = argv[i + 1];
      if (!next.starts_with("--")) continue;
      for (const Options* options : chosen_) {
        for (const Flag& flag : options->flags_) {
          if (flag.positional || flag.kind == Flag::Kind::kSwitch || flag.spelling() != argv[i]) continue;
          return options->usage_error(missing_value(flag) + " (or " + flag.spelling() + "=" +
                                      std::string(next) + " if that is it)");
        }
      }
    }
    return {};
  }

  static std::string missing_value(const Flag& flag) {
    return flag.spelling() + ": its value is missing: write " + flag.spelling() + " " + flag.shape;
  }

  Parsed check_extras() {
    for (Options* options : chosen_) {
      std::vector<std::string> extras = apps_.at(options)->remaining();
      if (!extras.empty()) return options->usage_error(extra_in_our_words(*options, extras.front()));
    }
    Options& last = *chosen_.back();
    if (last.commands_.empty()) return Parsed{};
    return last.usage_error("a command is missing: " + suggestion("", command_names(last), "see --help"));
  }

  static std::vector<std::string> command_names(const Options& options) {
    std::vector<std::string> names;
    for (const auto& one : options.commands_)
      names.push_back(one->program_.substr(options.program_.size() + 1));
    return names;
  }

  static std::string extra_in_our_words(const Options& options, const std::string& extra) {
    if (extra.starts_with("-")) {
      std::string name = extra.substr(0, extra.find('='));
      std::vector<std::string> known{"--help", "--version"};
      for (const Flag& flag : options.flags_) {
        if (!flag.positional) known.push_back(flag.spelling());
      }
      return name + ": unknown flag: " + suggestion(name, known, "--help lists the flags");
    }
    if (options.commands_.empty())
      return "'" + extra + "': unexpected argument: --help shows what is expected";
    return "'" + extra +
           "': unknown command: " + suggestion(extra, command_names(options), "--help lists the commands");
  }

  std::string in_our_words(const std::string& problem) const {
    for (const Flag& flag : chosen_.back()->flags_) {
      // All that is left to CLI11 to find is a flag at the end of the line without its value.
      if (problem.starts_with(flag.spelling() + ":")) return missing_value(flag);
    }
    return problem;
  }

  std::map<const Options*, CLI::App*> apps_;
  std::map<const Flag*, std::vector<std::string>> texts_;
  std::vector<Options*> chosen_;
};

int Parsed::finish() const {
  std::fputs(text.c_str(), exit_code == 0 ? stdout : stderr);
  return exit_code;
}

Flag& Options::add_flag(Flag flag) {
  flag.section = section_;
  flags_.push_back(std::move(flag));
  return flags_.back();
}

Flag& Options::add_on_off(std::string name, bool& variable, std::string help) {
  using Text = ValueText<bool>;
  std::string shown = Text::format(variable);
  return declare(std::move(name), variable, std::move(help), Text::parse)
      .shaped(std::string(Text::kShape))
      .shown_default(std::move(shown));
}

void Options::takes_config() {
  add("config", config_path_,
      "TOML file with a key for each flag, `_` for `-`: queue_limit for --queue-limit")
      .shaped("FILE")
      .must_not_be_empty();
}

Options& Options::command(std::string name, std::string about) {
  commands_.push_back(std::make_unique<Options>(program_ + " " + name, std::move(about)));
  return *commands_.back();
}

Parsed Options::usage_error(std::string text) const {
  return Parsed{false, kExitUsage, program_ + ": " + std::move(text) + "\n"};
}

Parsed Options::parse(int argc, const char* const* argv) {
  return parse(argc, argv, [](const char* variable) -> const char* { return std::getenv(variable); });
}

Parsed Options::parse(int argc, const char* const* argv, const Environment& environment) {
  CommandLine line;
  if (Parsed ended = line.read(*this, argc, argv); !ended.run) return ended;
  for (Options* options : line.chosen()) {
    options->chosen_ = true;
    if (Failure failure = options->apply(line, environment)) return options->usage_error(failure->text);
  }
  return Parsed{};
}

// Lowest precedence first: what comes later overwrites. So everything that was given is checked, used or not.
Failure Options::apply(const CommandLine& line, const Environment& environment) {
  auto from_environment = [&](Flag& flag) -> Failure {
    const char* text = flag.positional ? nullptr : environment(flag.variable().c_str());
    // An empty variable counts as not set, unless that is worth a question.
    if (!text || (!*text && flag.wrongly_empty({text}).empty())) return {};
    return apply_texts(flag, {text}, flag.variable());
  };
  auto from_line = [&](Flag& flag) -> Failure {
    std::vector<std::string> texts = line.texts(flag);
    if (texts.empty()) return {};
    return apply_texts(flag, texts, flag.spelling());
  };
  for (Flag& flag : flags_) {
    if (flag.name != "config") continue;
    if (Failure failure = from_environment(flag)) return failure;
    if (Failure failure = from_line(flag)) return failure;
    if (config_path_.empty()) continue;
    if (Failure failure = apply_file(config_path_)) return failure;
  }
  for (Flag& flag : flags_) {
    if (Failure failure = from_environment(flag)) return failure;
  }
  for (Flag& flag : flags_) {
    if (Failure failure = from_line(flag)) return failure;
  }
  return check_complete();
}

Failure Options::apply_texts(Flag& flag, const std::vector<std::string>& texts, const std::string& source) {
  if (const std::string empty = flag.wrongly_empty(texts); !empty.empty())
    return Error{source + ": " + empty};
  if (Failure failure = flag.assign(texts)) return Error{source + ": " + failure->text};
  given_.push_back(&flag);
  return {};
}

namespace {

// Why the flag cannot take values of these types, or nothing.
std::string wrong_type(const Flag& flag, const ConfigEntry& entry) {
  if (entry.array && !flag.list) return "takes one value, not a list";
  for (const ConfigValue& value : entry.values) {
    if (flag.kind == Flag::Kind::kText && value.type != ConfigValue::Type::kString) {
      return value.text + " is not a text: write it in quotes, \"" + value.text + "\"";
    }
    if (flag.kind == Flag::Kind::kSwitch && value.type != ConfigValue::Type::kBool) {
      return "'" + value.text + "' is not a truth value: write true or false, without quotes";
    }
  }
  return "";
}

}  // namespace

Failure Options::apply_file(const std::string& path) {
  Result<std::vector<ConfigEntry>> entries = read_config_file(path);
  if (!entries) return Error{entries.error()};
  std::map<std::string, Flag*> by_key;
  std::vector<std::string> keys;
  for (Flag& flag : flags_) {
    if (flag.positional || flag.name == "config") continue;
    by_key[flag.key()] = &flag;
    keys.push_back(flag.key());
  }
  for (const ConfigEntry& entry : *entries) {
    auto found = by_key.find(entry.key);
    if (found == by_key.end()) {
      std::string cure =
          suggestion(entry.key, keys, "the keys are the flags that --help lists, with _ for -");
      return Error{at_line(path, entry.line, entry.key, "unknown key: " + cure)};
    }
    Flag& flag = *found->second;
    if (std::string wrong = wrong_type(flag, entry); !wrong.empty()) {
      return Error{at_line(path, entry.line, entry.key, wrong)};
    }
    std::vector<std::string> texts;
    for (const ConfigValue& value : entry.values) texts.push_back(value.text);
    if (std::string empty = flag.wrongly_empty(texts); !empty.empty())
      return Error{at_line(path, entry.line, entry.key, empty)};
    if (Failure failure = flag.assign(texts))
      return Error{at_line(path, entry.line, entry.key, failure->text)};
    given_.push_back(&flag);
  }
  return {};
}

Failure Options::check_complete() const {
  bool has_file = std::ranges::any_of(flags_, [](const Flag& flag) { return flag.name == "config"; });
  for (const Flag& flag : flags_) {
    if (!flag.required || std::ranges::find(given_, &flag) != given_.end()) continue;
    if (flag.positional) return Error{flag.name + " is missing: " + flag.help};
    return Error{flag.spelling() + " is missing: give it, or set " + flag.variable() +
                 (has_file ? ", or write " + flag.key() + " into the file of --config" : "")};
  }
  return {};
}

}  // namespace redoubt
