// The `redoubt` program from outside: exit codes, what goes to stdout and what to stderr.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "poll.h"
#include "scripted_broker.h"

namespace redoubt {
namespace {

using test::eventually;
using test::ScriptedBroker;
using testing::HasSubstr;
using Manner = ScriptedBroker::Manner;
using Json = nlohmann::json;

// Files of one run of the program, gone afterwards.
struct Files {
  Files() {
    std::string pattern = testing::TempDir() + "redoubt-tool-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~Files() {
    for (const char* name : {"in", "out", "err"}) unlink(path(name).c_str());
    rmdir(folder.c_str());
  }
  std::string path(const char* name) const { return folder + "/" + name; }
  std::string read(const char* name) const {
    std::string text;
    if (std::FILE* file = std::fopen(path(name).c_str(), "r")) {
      for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
      std::fclose(file);
    }
    return text;
  }
  std::string folder;
};

// The program, running.
class Program {
 public:
  // `out`: a file for its stdout, where that is not to be read.
  explicit Program(std::vector<std::string> arguments, const std::string& input = {},
                   const std::string& out = {}) {
    std::FILE* in = std::fopen(files_.path("in").c_str(), "w");
    std::fwrite(input.data(), 1, input.size(), in);
    std::fclose(in);
    arguments.insert(arguments.begin(), REDOUBT_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const std::string names[3] = {files_.path("in"), out.empty() ? files_.path("out") : out,
                                  files_.path("err")};
    child_ = fork();
    if (child_ != 0) return;
    for (int i = 0; i < 3; ++i)
      dup2(open(names[i].c_str(), i == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600), i);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  void interrupt() const { kill(child_, SIGINT); }
  int exit_code() {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string out() const { return files_.read("out"); }
  std::string err() const { return files_.read("err"); }

 private:
  Files files_;
  pid_t child_ = 0;
};

TEST(CallCommand, WritesTheResultAndNothingElse) {
  ScriptedBroker broker;
  const std::string bytes("a\0b\n", 4);
  Program call({"call", "--brokers", broker.address(), "--levels", "echo"}, bytes);

  EXPECT_EQ(call.exit_code(), 0);
  EXPECT_EQ(call.out(), bytes);
  EXPECT_EQ(call.err(), "");
}

TEST(CallCommand, JsonHasStatusResultAndLevels) {
  ScriptedBroker broker;
  Program call({"call", "--brokers", broker.address(), "--levels", "a,b", "--copies", "2,3", "--json"},
               "foo");

  EXPECT_EQ(call.exit_code(), 0);
  const Json json = Json::parse(call.out());
  EXPECT_EQ(json.at("status"), "ok");
  EXPECT_EQ(json.at("payload_base64"), "Zm9v");
  EXPECT_TRUE(json.at("latency_us").is_number());
  EXPECT_EQ(json.at("levels").at(0).at("copies"), 2);
  const auto requests = broker.seen().requests;
  EXPECT_EQ(requests.at(0).levels, (wire::Levels{{"a", 2}, {"b", 3}}));
}

TEST(CallCommand, ExitCodesTellHowItEnded) {
  ScriptedBroker broker;
  const std::vector<std::pair<Manner, int>> cases{
      {Manner::kFail, 1}, {Manner::kTurnAway, 3}, {Manner::kExpire, 4}, {Manner::kSilent, 4}};
  for (const auto& [manner, code] : cases) {
    broker.behave(manner);
    Program call({"call", "--brokers", broker.address(), "--levels", "echo", "--deadline", "200ms"});

    EXPECT_EQ(call.exit_code(), code);
    EXPECT_EQ(call.out(), "");
    EXPECT_THAT(call.err(), HasSubstr("redoubt call: "));
  }
}

TEST(CallCommand, NoBrokerIsSaidByTheDeadline) {
  Program call({"call", "--brokers", "127.0.0.1:1", "--levels", "echo", "--deadline", "100ms"});

  EXPECT_EQ(call.exit_code(), 5);
  EXPECT_THAT(call.err(), HasSubstr("no broker answers"));
}

TEST(CallCommand, StandbyWithoutAManagerIsNoBroker) {
  ScriptedBroker standby({.epoch = {}, .rules = false});
  Program call({"call", "--brokers", standby.address(), "--levels", "echo", "--deadline", "300ms"});

  EXPECT_EQ(call.exit_code(), 5);
  EXPECT_THAT(call.err(), HasSubstr("it is a standby and knows of no manager"));
}

TEST(CallCommand, BrokerThatLeavesForGoodIsNoExpiry) {
  std::optional<ScriptedBroker> broker(ScriptedBroker::Settings{.manner = Manner::kSilent});
  Program call({"call", "--brokers", broker->address(), "--levels", "echo", "--deadline", "1s"});
  ASSERT_TRUE(eventually([&] { return broker->seen().requests.size() == 1; }));

  broker.reset();

  EXPECT_EQ(call.exit_code(), 5);
  EXPECT_THAT(call.err(), HasSubstr("no broker answers any more"));
}

TEST(CallCommand, UsageErrorsExitWithTwo) {
  EXPECT_EQ(Program({"call"}).exit_code(), 2);
  EXPECT_EQ(Program({"call", "--levels", "a,b", "--copies", "1,2,3"}).exit_code(), 2);
  EXPECT_EQ(Program({"call", "--levels", "a", "--copies", "2", "--redundancy", "single"}).exit_code(), 2);
  EXPECT_EQ(Program({"call", "--levels", "a", "--input", "/nonexistent/file"}).exit_code(), 2);
  EXPECT_EQ(Program({"bench", "--levels", "a", "--window", "1", "--rate", "5"}).exit_code(), 2);
  EXPECT_EQ(Program({"bench", "--levels", "a", "--rate", "5", "--arrivals", "bursts"}).exit_code(), 2);
}

TEST(CallCommand, InterruptCancelsTheRequest) {
  ScriptedBroker broker({.manner = Manner::kSilent});
  Program call({"call", "--brokers", broker.address(), "--levels", "echo", "--deadline", "60s"});
  ASSERT_TRUE(eventually([&] { return broker.seen().requests.size() == 1; }));

  call.interrupt();

  EXPECT_EQ(call.exit_code(), 130);
  EXPECT_TRUE(eventually([&] { return broker.seen().cancelled.size() == 1; }));
}

TEST(EveryCommand, NamesItsClusterToTheBrokers) {
  ScriptedBroker broker;
  const std::string at = broker.address();
  EXPECT_EQ(Program({"call", "--brokers", at, "--levels", "echo", "--cluster", "west"}).exit_code(), 0);
  EXPECT_EQ(Program({"bench", "--brokers", at, "--levels", "echo", "--requests", "1", "--cluster", "west"})
                .exit_code(),
            0);
  EXPECT_EQ(Program({"status", "--brokers", at, "--cluster", "west"}).exit_code(), 0);
  setenv("REDOUBT_CLUSTER", "east", 1);
  EXPECT_EQ(Program({"status", "--brokers", at}).exit_code(), 0);
  unsetenv("REDOUBT_CLUSTER");
  EXPECT_EQ(Program({"status", "--brokers", at}).exit_code(), 0);

  std::vector<std::string> clusters;
  for (const wire::Hello& hello : broker.seen().hellos) clusters.push_back(hello.cluster);
  EXPECT_THAT(clusters, testing::ElementsAre("west", "west", "west", "east", "redoubt"));
  EXPECT_EQ(Program({"status", "--cluster", std::string(256, 'x')}).exit_code(), 2);
}

TEST(Commands, AResultThatCannotBeWrittenIsAFailure) {
  ScriptedBroker broker;
  const std::vector<std::vector<std::string>> commands{
      {"call", "--levels", "echo"},
      {"status"},
      {"status", "--json"},
      {"bench", "--levels", "echo", "--requests", "1"},
      {"bench", "--levels", "echo", "--requests", "1", "--json"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--brokers", broker.address()});
    Program program(command, "x", "/dev/full");

    EXPECT_EQ(program.exit_code(), 1) << command.front();
    EXPECT_THAT(program.err(), HasSubstr("cannot write '-': No space left on device"));
  }
}

TEST(StatusCommand, PrintsATableOrTheBrokersJson) {
  ScriptedBroker broker;
  Program table({"status", "--brokers", broker.address()});
  Program json({"status", "--brokers", broker.address(), "--json"});

  EXPECT_EQ(table.exit_code(), 0);
  EXPECT_THAT(table.out(), HasSubstr("epoch 1"));
  EXPECT_EQ(json.exit_code(), 0);
  EXPECT_EQ(json.out(), "{\"epoch\":1}\n");
  EXPECT_EQ(Program({"status", "--brokers", "127.0.0.1:1", "--timeout", "50ms"}).exit_code(), 5);
}

TEST(BenchCommand, CountsAndExitsByWhatItFound) {
  ScriptedBroker broker;
  const std::vector<std::string> common{"bench",      "--brokers", broker.address(), "--levels", "echo",
                                        "--requests", "101",       "--clients",      "2",        "--json"};
  std::vector<std::string> all = common;
  all.push_back("--require-all");
  Program good(all);
  EXPECT_EQ(good.exit_code(), 0);
  const Json json = Json::parse(good.out());
  EXPECT_EQ(json.at("sent"), 101);
  EXPECT_EQ(json.at("ok"), 101);
  EXPECT_EQ(good.err(), "");

  broker.behave(Manner::kTurnAway);
  Program refused(common);
  EXPECT_EQ(refused.exit_code(), 0) << "a refusal is an honest outcome";
  EXPECT_EQ(Json::parse(refused.out()).at("refused"), 101);
  EXPECT_EQ(refused.err(), "refused, such as: queue_full\n");
  EXPECT_EQ(Program(all).exit_code(), 1);
}

TEST(BenchCommand, WithoutABrokerEverythingIsLostSoonAfterTheDeadline) {
  Program bench({"bench", "--brokers", "127.0.0.1:1", "--levels", "echo", "--requests", "20", "--deadline",
                 "100ms", "--window", "20", "--json"});

  EXPECT_EQ(bench.exit_code(), 1);
  EXPECT_EQ(Json::parse(bench.out()).at("lost"), 20);
}

TEST(BenchCommand, InterruptStopsItAndPrintsWhatThereIs) {
  ScriptedBroker broker({.manner = Manner::kSilent});
  Program bench({"bench", "--brokers", broker.address(), "--levels", "echo", "--window", "8", "--json"});
  ASSERT_TRUE(eventually([&] { return broker.seen().requests.size() == 8; }));

  bench.interrupt();

  EXPECT_EQ(bench.exit_code(), 130);
  EXPECT_EQ(Json::parse(bench.out()).at("cancelled"), 8);
}

}  // namespace
}  // namespace redoubt
