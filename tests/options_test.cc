// Flags from the command line, the environment and a file: what they set, which goes first, and what errors
// say.
#include "options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace redoubt {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

enum class Ack { kNone, kOne, kAll };

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    options.takes_config();
    options.add("name", name, "what others call it");
    options.add("queue-limit", queue_limit, {1, 1'000'000}, "requests waiting");
    options.add("class", share, {0, 1}, "share of requests");
    options.add("dead-after", dead_after, "silence after which a peer counts as dead");
    options.add("max-payload", max_payload, "largest payload");
    options.add("listen", listen, "where to listen");
    options.add("admin", admin, "where to answer HTTP").shown_default("none");
    options.section("Group");
    options.add("group", group, "all voting brokers");
    options.add("service", services, "a service offered");
    options.add("rate", rates, "rates to try");
    options.add("slow", slow, "extra service time");
    options.add("witness", witness, "only vote");
    options.add_on_off("early-refusal", early_refusal, "refuse what would be late");
    options.add_choice("checkpoint-ack", ack, {{"none", Ack::kNone}, {"one", Ack::kOne}, {"all", Ack::kAll}},
                       "whose acknowledgement a dispatch waits for");
    options.add_choice("quorum", quorum, {{"majority", true}, {"one", false}}, "who may rule");
  }

  Parsed parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    return options.parse(static_cast<int>(arguments.size()), arguments.data(), [this](const char* variable) {
      auto found = environment.find(variable);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  }

  // The text of a usage error, or what happened instead.
  std::string error_of(std::vector<const char*> arguments) {
    Parsed parsed = parse(std::move(arguments));
    if (parsed.run) return "no error";
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_THAT(parsed.text, StartsWith("redoubt-broker: "));
    return parsed.text;
  }

  std::string write_file(std::string_view text) {
    std::string path = testing::TempDir() + "/options_test_" +
                       testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
    std::ofstream(path) << text;
    return path;
  }

  std::string file_error(std::string_view text) {
    std::string path = write_file(text);
    std::string error = error_of({"--config", path.c_str()});
    size_t at = error.find(path);
    return at == std::string::npos ? error : error.replace(at, path.size(), "FILE");
  }

  Options options{"redoubt-broker", "Stands between clients and replicas."};
  std::map<std::string, std::string> environment;

  std::string name = "nobody";
  size_t queue_limit = 10'000;
  double share = 0.5;
  Duration dead_after = 500ms;
  ByteSize max_payload{16U << 20};
  Address listen{"127.0.0.1", 7400};
  std::optional<Address> admin;
  std::vector<Address> group;
  std::vector<std::string> services;
  std::vector<double> rates;
  std::vector<Distribution> slow;
  bool witness = false;
  bool early_refusal = true;
  Ack ack = Ack::kNone;
  std::optional<bool> quorum;
};

TEST_F(OptionsTest, WithoutAnythingTheDefaultsStay) {
  Parsed parsed = parse({});

  EXPECT_TRUE(parsed.run);
  EXPECT_EQ(queue_limit, 10'000U);
  EXPECT_EQ(dead_after, 500ms);
  EXPECT_FALSE(admin);
}

TEST_F(OptionsTest, FlagsSetEveryType) {
  Parsed parsed = parse({"--name",
                         "west",
                         "--queue-limit=7",
                         "--class",
                         "0.8",
                         "--dead-after",
                         "1.5s",
                         "--max-payload",
                         "1MiB",
                         "--listen",
                         "[::1]:0",
                         "--admin",
                         "localhost:7401",
                         "--witness",
                         "--early-refusal",
                         "off",
                         "--checkpoint-ack",
                         "all",
                         "--quorum",
                         "one"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(name, "west");
  EXPECT_EQ(queue_limit, 7U);
  EXPECT_EQ(share, 0.8);
  EXPECT_EQ(dead_after, 1500ms);
  EXPECT_EQ(max_payload.bytes, 1U << 20);
  EXPECT_EQ(listen, (Address{"::1", 0}));
  EXPECT_EQ(admin, (Address{"localhost", 7401}));
  EXPECT_TRUE(witness);
  EXPECT_FALSE(early_refusal);
  EXPECT_EQ(ack, Ack::kAll);
  EXPECT_EQ(quorum, false);
}

TEST_F(OptionsTest, ListsTakeCommasAndRepetition) {
  Parsed parsed = parse({"--group", "a:1, b:2", "--group", "[::1]:3", "--service", "x", "--service", "y",
                         "--rate", "1,2.5", "--slow", "uniform(1ms,2ms),const(3ms)"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_THAT(group, ElementsAre(Address{"a", 1}, Address{"b", 2}, Address{"::1", 3}));
  EXPECT_THAT(services, ElementsAre("x", "y"));
  EXPECT_THAT(rates, ElementsAre(1, 2.5));
  ASSERT_EQ(slow.size(), 2U);
  EXPECT_EQ(slow[0].text(), "uniform(1ms,2ms)");
}

TEST_F(OptionsTest, OfAFlagGivenTwiceTheLastCounts) {
  Parsed parsed = parse({"--queue-limit", "1", "--queue-limit", "2"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(queue_limit, 2U);
}

TEST_F(OptionsTest, AValueMayStartWithADashOrHoldBrackets) {
  Parsed parsed = parse({"--name", "-", "--service", "[a]"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(name, "-");
  EXPECT_THAT(services, ElementsAre("[a]"));
}

TEST_F(OptionsTest, TheEnvironmentSetsWhatNoFlagDoes) {
  environment = {{"REDOUBT_QUEUE_LIMIT", "5"}, {"REDOUBT_WITNESS", "true"}, {"REDOUBT_GROUP", "a:1,b:2"}};

  Parsed parsed = parse({});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(queue_limit, 5U);
  EXPECT_TRUE(witness);
  EXPECT_THAT(group, ElementsAre(Address{"a", 1}, Address{"b", 2}));
}

TEST_F(OptionsTest, AnEmptyVariableCountsAsNotSet) {
  environment = {{"REDOUBT_QUEUE_LIMIT", ""}};

  Parsed parsed = parse({});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(queue_limit, 10'000U);
}

TEST_F(OptionsTest, AFileSetsEveryType) {
  std::string path = write_file(
      "# a comment\n"
      "name = 'west'\n"
      "queue_limit = 7\n"
      "class = 1\n"
      "dead_after = '1.5s'\n"
      "max_payload = 4096\n"
      "listen = '[::1]:0'\n"
      "group = ['a:1', 'b:2']\n"
      "service = 'x,y'\n"
      "rate = [1, 2.5]\n"
      "slow = 'exp(1ms)'\n"
      "witness = true\n"
      "early_refusal = false\n"
      "checkpoint_ack = 'one'\n");

  Parsed parsed = parse({"--config", path.c_str()});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(name, "west");
  EXPECT_EQ(queue_limit, 7U);
  EXPECT_EQ(share, 1);
  EXPECT_EQ(dead_after, 1500ms);
  EXPECT_EQ(max_payload.bytes, 4096U);
  EXPECT_EQ(listen, (Address{"::1", 0}));
  EXPECT_THAT(group, ElementsAre(Address{"a", 1}, Address{"b", 2}));
  EXPECT_THAT(services, ElementsAre("x", "y"));
  EXPECT_THAT(rates, ElementsAre(1, 2.5));
  EXPECT_TRUE(witness);
  EXPECT_FALSE(early_refusal);
  EXPECT_EQ(ack, Ack::kOne);
}

TEST_F(OptionsTest, FlagGoesOverEnvironmentOverFileOverDefault) {
  std::string path = write_file("queue_limit = 1\nname = 'file'\nservice = ['file']\nwitness = true\n");
  environment = {{"REDOUBT_QUEUE_LIMIT", "2"}, {"REDOUBT_NAME", "variable"}, {"REDOUBT_SERVICE", "variable"}};

  Parsed parsed = parse({"--config", path.c_str(), "--queue-limit", "3", "--service", "flag"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(queue_limit, 3U);
  EXPECT_EQ(name, "variable");
  EXPECT_THAT(services, ElementsAre("flag"));
  EXPECT_TRUE(witness);
  EXPECT_EQ(dead_after, 500ms);
}

TEST_F(OptionsTest, AFlagCanTakeBackASwitchOfTheFile) {
  std::string path = write_file("witness = true\n");

  Parsed parsed = parse({"--config", path.c_str(), "--witness=false"});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_FALSE(witness);
}

TEST_F(OptionsTest, TheFileItselfCanComeFromTheEnvironment) {
  environment["REDOUBT_CONFIG"] = write_file("queue_limit = 4");

  Parsed parsed = parse({});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(queue_limit, 4U);
}

TEST_F(OptionsTest, AnEmptyFileAndAnEmptyListAreFine) {
  group = {Address{"a", 1}};
  std::string empty = write_file("");
  EXPECT_TRUE(parse({"--config", empty.c_str()}).run);
  std::string path = write_file("group = []");

  Parsed parsed = parse({"--config", path.c_str()});

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_THAT(group, IsEmpty());
}

TEST_F(OptionsTest, ABadFlagIsNamedWithItsCure) {
  EXPECT_THAT(error_of({"--queue-limt", "5"}),
              HasSubstr("--queue-limt: unknown flag: did you mean --queue-limit?"));
  EXPECT_THAT(error_of({"--frobnicate=5"}), HasSubstr("--frobnicate: unknown flag: --help lists the flags"));
  EXPECT_THAT(error_of({"-x"}), HasSubstr("-x: unknown flag"));
  EXPECT_THAT(error_of({"stray"}), HasSubstr("'stray': unexpected argument"));
  EXPECT_THAT(error_of({"--listen"}), HasSubstr("--listen: its value is missing: write --listen ADDR"));
  EXPECT_THAT(error_of({"--dead-after", "500"}), HasSubstr("--dead-after: '500' has no unit: write 500ms"));
  EXPECT_THAT(error_of({"--queue-limit", "0"}),
              HasSubstr("--queue-limit: '0' is out of range: it must be from 1 to"));
  EXPECT_THAT(error_of({"--queue-limit", "-1"}),
              HasSubstr("--queue-limit: '-1' is not a whole number from 0 up"));
  EXPECT_THAT(error_of({"--queue-limit", "99999999999999999999"}), HasSubstr("is too large"));
  EXPECT_THAT(error_of({"--queue-limit", "many"}), HasSubstr("--queue-limit: 'many' is not a whole number"));
  EXPECT_THAT(error_of({"--class", "1.5"}),
              HasSubstr("--class: '1.5' is out of range: it must be from 0 to 1"));
  EXPECT_THAT(error_of({"--class", "half"}), HasSubstr("--class: 'half' is not a number"));
  EXPECT_THAT(error_of({"--max-payload", "1MB"}), HasSubstr("--max-payload: '1MB' is not a size"));
  EXPECT_THAT(error_of({"--group", "a:1,b"}), HasSubstr("--group: 'b' has no port"));
  EXPECT_THAT(error_of({"--slow", "4ms"}),
              HasSubstr("--slow: distribution '4ms': not a known form: write const(4ms)"));
  EXPECT_THAT(error_of({"--early-refusal", "maybe"}),
              HasSubstr("--early-refusal: 'maybe' is neither on nor off"));
  EXPECT_THAT(error_of({"--witness=maybe"}), HasSubstr("--witness: 'maybe'"));
  EXPECT_THAT(error_of({"--checkpoint-ack", "two"}),
              HasSubstr("--checkpoint-ack: 'two' is not one of none|one|all"));
}

TEST_F(OptionsTest, AnEmptyListIsAskedAboutWhereverItStands) {
  const std::string line = error_of({"--group", ""});
  const std::string blank = error_of({"--service", " "});
  const std::string file = file_error("group = ''");
  const std::string item = file_error("group = ['']");

  EXPECT_THAT(line, HasSubstr("--group: its value is empty: give one, or leave it out"));
  EXPECT_THAT(blank, HasSubstr("--service: its value is empty"));
  EXPECT_THAT(file, HasSubstr("FILE:1: group: its value is empty"));
  EXPECT_THAT(item, HasSubstr("FILE:1: group: its value is empty"));
}

TEST_F(OptionsTest, AnEmptyVariableOfAListIsNotTakenForNotSet) {
  environment["REDOUBT_GROUP"] = "";

  EXPECT_THAT(error_of({}), HasSubstr("REDOUBT_GROUP: its value is empty"));
}

TEST_F(OptionsTest, AnEmptyValueWithinAListIsACommaTooMany) {
  EXPECT_THAT(error_of({"--group", "a:1,,b:2"}),
              HasSubstr("--group: one of the values in 'a:1,,b:2' is empty"));
  EXPECT_THAT(error_of({"--service", "x,"}), HasSubstr("a comma too many?"));
}

TEST_F(OptionsTest, AnEmptyTextIsAValueUnlessTheFlagSaysOtherwise) {
  std::string folder = "here";
  options.add("data-dir", folder, "where to write").must_not_be_empty();

  EXPECT_TRUE(parse({"--name", ""}).run);
  EXPECT_EQ(name, "");
  EXPECT_THAT(error_of({"--data-dir", ""}), HasSubstr("--data-dir: its value is empty"));
  EXPECT_THAT(error_of({"--data-dir="}), HasSubstr("--data-dir: its value is missing"));
  EXPECT_THAT(error_of({"--config", ""}), HasSubstr("--config: its value is empty"));
  environment["REDOUBT_DATA_DIR"] = "";
  EXPECT_THAT(error_of({}), HasSubstr("REDOUBT_DATA_DIR: its value is empty"));
}

TEST_F(OptionsTest, AFlagInThePlaceOfAValueMeansThatTheValueIsMissing) {
  EXPECT_THAT(
      error_of({"--group", "--listen", "127.0.0.1:1"}),
      HasSubstr("--group: its value is missing: write --group ADDR,... (or --group=--listen if that is it)"));
  EXPECT_THAT(error_of({"--witness", "--name", "--witness"}), HasSubstr("--name: its value is missing"));
  EXPECT_TRUE(parse({"--witness", "--name", "-x", "--service=--y"}).run);
  EXPECT_THAT(services, ElementsAre("--y"));
}

TEST_F(OptionsTest, ABadVariableIsNamed) {
  environment["REDOUBT_DEAD_AFTER"] = "soon";

  std::string error = error_of({});

  EXPECT_THAT(error, AllOf(HasSubstr("REDOUBT_DEAD_AFTER: 'soon'"), HasSubstr("50ms")));
}

TEST_F(OptionsTest, AnErrorInTheFileNamesFileLineKeyAndCure) {
  EXPECT_THAT(file_error("\nqueue_limt = 5"),
              HasSubstr("FILE:2: queue_limt: unknown key: did you mean queue_limit?"));
  EXPECT_THAT(file_error("queue-limit = 5"),
              HasSubstr("FILE:1: queue-limit: unknown key: did you mean queue_limit?"));
  EXPECT_THAT(file_error("frobnicate = 5"),
              HasSubstr("FILE:1: frobnicate: unknown key: the keys are the flags"));
  EXPECT_THAT(file_error("config = 'x'"), HasSubstr("FILE:1: config: unknown key"));
  EXPECT_THAT(file_error("[queue_limit]\nx = 1"), HasSubstr("FILE:1: queue_limit: is a table"));
  EXPECT_THAT(file_error("dead_after = 500"),
              HasSubstr("FILE:1: dead_after: '500' has no unit: write 500ms"));
  EXPECT_THAT(file_error("name = 5"), HasSubstr("FILE:1: name: 5 is not a text: write it in quotes, \"5\""));
  EXPECT_THAT(file_error("witness = 'yes'"), HasSubstr("FILE:1: witness: 'yes' is not a truth value"));
  EXPECT_THAT(file_error("queue_limit = true"),
              HasSubstr("FILE:1: queue_limit: 'true' is not a whole number"));
  EXPECT_THAT(file_error("queue_limit = 1.5"), HasSubstr("FILE:1: queue_limit: '1.5' is not a whole number"));
  EXPECT_THAT(file_error("queue_limit = [1]"), HasSubstr("FILE:1: queue_limit: takes one value, not a list"));
  EXPECT_THAT(file_error("group = [\n 'a:1',\n ['b:2']]"),
              HasSubstr("FILE:3: group: is a list within a list"));
  EXPECT_THAT(file_error("group = ['a']"), HasSubstr("FILE:1: group: 'a' has no port"));
  EXPECT_THAT(file_error("name = 2020-01-01"), HasSubstr("FILE:1: name: is a date"));
}

TEST_F(OptionsTest, AFileThatIsNoTomlIsNamedWithItsLine) {
  std::string broken = file_error("name = 'a'\nqueue_limit = = 5");
  std::string twice = file_error("name = 'a'\nname = 'b'");

  EXPECT_THAT(broken, HasSubstr("FILE:2: "));
  EXPECT_THAT(twice, AllOf(HasSubstr("FILE:2: "), HasSubstr("name")));
}

TEST_F(OptionsTest, TheFirstOfSeveralErrorsInAFileIsTold) {
  std::string error = file_error("zzz_unknown = 1\naaa_unknown = 1");

  EXPECT_THAT(error, HasSubstr("FILE:1: zzz_unknown"));
}

TEST_F(OptionsTest, AFileThatCannotBeReadIsNamed) {
  std::string folder = testing::TempDir();

  EXPECT_THAT(error_of({"--config", "no/such.toml"}),
              HasSubstr("--config: cannot read 'no/such.toml': No such file"));
  EXPECT_THAT(error_of({"--config", folder.c_str()}), HasSubstr("Is a directory"));
}

TEST_F(OptionsTest, HelpShowsFlagsDefaultsAndHeadings) {
  Parsed parsed = parse({"--help"});

  EXPECT_FALSE(parsed.run);
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text,
              StartsWith("Usage: redoubt-broker [flags]\n\nStands between clients and replicas.\n"));
  EXPECT_THAT(parsed.text,
              AllOf(HasSubstr("--queue-limit N             requests waiting (default: 10000)"),
                    HasSubstr("(default: 500ms)"), HasSubstr("(default: 16MiB)"),
                    HasSubstr("(default: 127.0.0.1:7400)"), HasSubstr("(default: none)"),
                    HasSubstr("\nGroup:\n"), HasSubstr("--early-refusal on|off"), HasSubstr("none|one|all"),
                    HasSubstr("(default: on)"), HasSubstr("--config FILE")));
  for (size_t start = 0; start < parsed.text.size();) {
    size_t end = parsed.text.find('\n', start);
    EXPECT_LE(end - start, 100U) << parsed.text.substr(start, end - start);
    start = end + 1;
  }
}

TEST(Options, HelpTellsExitStatusesByNumberAndUsageAmongThem) {
  Options options("program", "Does something.");
  options.exits(5, "nobody answers");
  options.exits(0, "done");

  const std::string help = options.help_text();

  const std::vector<std::string> lines{"Exit status:", "0    ", "done",          "2    ",
                                       "usage",        "5    ", "nobody answers"};
  size_t at = 0;
  for (const std::string& line : lines) {
    at = help.find(line, at);
    ASSERT_NE(at, std::string::npos) << line << " is missing, or not in its place, in\n" << help;
  }
}

TEST_F(OptionsTest, VersionNamesTheProgram) {
  Parsed parsed = parse({"--version"});

  EXPECT_FALSE(parsed.run);
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text, AllOf(StartsWith("redoubt-broker "), HasSubstr("."), Not(HasSubstr("  "))));
}

TEST_F(OptionsTest, WhatMustBeGivenIsNamedUntilItIs) {
  std::vector<Address> brokers;
  options.add("brokers", brokers, "the brokers").must_be_given();

  std::string error = error_of({});
  environment["REDOUBT_BROKERS"] = "a:1";
  Parsed parsed = parse({});

  EXPECT_THAT(error, AllOf(HasSubstr("--brokers is missing"), HasSubstr("REDOUBT_BROKERS"),
                           HasSubstr("brokers into")));
  EXPECT_TRUE(parsed.run) << parsed.text;
}

TEST_F(OptionsTest, AProgramsOwnRulesGiveTheSameKindOfError) {
  Parsed parsed = options.usage_error("--demote-after: must be below --dead-after");

  EXPECT_FALSE(parsed.run);
  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_EQ(parsed.text, "redoubt-broker: --demote-after: must be below --dead-after\n");
}

}  // namespace
}  // namespace redoubt
