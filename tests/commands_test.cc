// Commands with flags of their own, as the `redoubt` tool has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "options/options.h"

namespace redoubt {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() {
    call.add("deadline", deadline, "when the answer is worthless");
    run.add_positional("SCENARIO", scenario, "the file to run");
    run.add("seed", seed, "of the random numbers");
  }

  Parsed parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    return options.parse(static_cast<int>(arguments.size()), arguments.data(),
                         [](const char*) -> const char* { return nullptr; });
  }

  std::string error_of(std::vector<const char*> arguments) {
    Parsed parsed = parse(std::move(arguments));
    EXPECT_FALSE(parsed.run);
    EXPECT_EQ(parsed.exit_code, 2);
    return parsed.text;
  }

  Options options{"redoubt", "Talks to a cluster."};
  Options& call = options.command("call", "Sends one request.");
  Options& bench = options.command("bench", "Sends many.");
  Options& lab = options.command("lab", "Experiments.");
  Options& run = lab.command("run", "Runs a scenario.");
  Duration deadline = 5s;
  std::string scenario;
  uint64_t seed = 1;
};

TEST_F(CommandsTest, ACommandTakesItsOwnFlags) {
  Parsed parsed = parse({"call", "--deadline", "50ms"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_TRUE(call.chosen());
  EXPECT_FALSE(bench.chosen());
  EXPECT_EQ(deadline, 50ms);
}

TEST_F(CommandsTest, CommandsNestAndTakeArguments) {
  Parsed parsed = parse({"lab", "run", "crash.toml", "--seed", "7"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_TRUE(lab.chosen());
  EXPECT_TRUE(run.chosen());
  EXPECT_EQ(scenario, "crash.toml");
  EXPECT_EQ(seed, 7U);
}

TEST_F(CommandsTest, WhatIsWrongWithACommandIsNamed) {
  EXPECT_THAT(error_of({}), HasSubstr("redoubt: a command is missing: known: call, bench, lab"));
  EXPECT_THAT(error_of({"lab"}), HasSubstr("redoubt lab: a command is missing: known: run"));
  EXPECT_THAT(error_of({"benhc"}), HasSubstr("redoubt: 'benhc': unknown command: did you mean bench?"));
  EXPECT_THAT(error_of({"frobnicate"}), HasSubstr("'frobnicate': unknown command: known: call, bench, lab"));
  EXPECT_THAT(error_of({"call", "--seed", "7"}), HasSubstr("redoubt call: --seed: unknown flag"));
  EXPECT_THAT(error_of({"call", "bench"}), HasSubstr("'bench': un"));
  EXPECT_THAT(error_of({"call", "--deadline", "5"}), HasSubstr("redoubt call: --deadline: '5' has no unit"));
  EXPECT_THAT(error_of({"lab", "run"}), HasSubstr("redoubt lab run: SCENARIO is missing"));
  EXPECT_THAT(error_of({"lab", "run", "a", "b"}), HasSubstr("redoubt lab run: 'b': unexpected argument"));
}

TEST_F(CommandsTest, HelpIsThatOfTheCommand) {
  Parsed all = parse({"--help"});
  Parsed one = parse({"call", "--help"});
  Parsed nested = parse({"lab", "run", "--help"});

  EXPECT_THAT(all.text,
              AllOf(StartsWith("Usage: redoubt COMMAND"), HasSubstr("\n  bench "), HasSubstr("Sends many.")));
  EXPECT_THAT(one.text, AllOf(StartsWith("Usage: redoubt call [flags]"), HasSubstr("--deadline")));
  EXPECT_THAT(nested.text, StartsWith("Usage: redoubt lab run SCENARIO [flags]"));
  EXPECT_EQ(all.exit_code + one.exit_code + nested.exit_code, 0);
}

TEST_F(CommandsTest, VersionWorksAfterACommandToo) {
  Parsed parsed = parse({"call", "--version"});

  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text, StartsWith("redoubt "));
}

}  // namespace
}  // namespace redoubt
