// The broker's own rules about its flags: what does not fit together is told by the flag's name.
#include "broker/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redoubt::broker {
namespace {

using testing::HasSubstr;

// The error of this command line, or what happened instead.
std::string error_of(std::vector<const char*> arguments) {
  Flags flags;
  Options options("redoubt-broker", "A broker.");
  declare(options, flags);
  arguments.insert(arguments.begin(), "redoubt-broker");
  const Parsed parsed = options.parse(static_cast<int>(arguments.size()), arguments.data(),
                                      [](const char*) -> const char* { return nullptr; });
  if (!parsed.run) return parsed.text;
  const Result<Setup> setup = complete(flags);
  return setup ? "no error" : setup.error();
}

TEST(BrokerFlags, ABrokerStandsOnceInAList) {
  const std::string group = error_of({"--group", "127.0.0.1:7400,a:1,a:1", "--data-dir", "x"});
  const std::string join = error_of({"--join", "a:1,b:2,a:1"});

  EXPECT_EQ(group, "--group: a:1 stands there twice");
  EXPECT_EQ(join, "--join: a:1 stands there twice");
  EXPECT_EQ(error_of({"--join", "a:1,b:2"}), "no error");
}

TEST(BrokerFlags, PortZeroIsNobodysInAList) {
  EXPECT_THAT(error_of({"--group", "127.0.0.1:7400,a:0", "--data-dir", "x"}),
              HasSubstr("--group: a:0: port 0"));
  EXPECT_THAT(error_of({"--join", "a:0"}), HasSubstr("--join: a:0: port 0"));
}

TEST(BrokerFlags, AnEmptyListOrFolderIsNoWayToSayNone) {
  for (const char* flag : {"--group", "--join", "--data-dir", "--dial", "--cluster", "--config"})
    EXPECT_THAT(error_of({flag, ""}), HasSubstr(std::string(flag) + ": its value is empty"));
  EXPECT_EQ(error_of({"--name", ""}), "no error");
}

}  // namespace
}  // namespace redoubt::broker
