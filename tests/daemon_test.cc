// What daemons share: the form of events, that a deaf reader harms nobody, and the limit of descriptors.
#include "options/daemon.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace redoubt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  std::string read_some() {
    std::array<char, 4096> buffer;
    ssize_t size = ::read(ends_[0], buffer.data(), buffer.size());
    return std::string(buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(EventTest, IsOneJsonObjectALineInTheOrderGiven) {
  std::string line = event_line("ready", {{"listen", "127.0.0.1:7400"},
                                          {"epoch", 2},
                                          {"seq", uint64_t{1} << 63},
                                          {"load", 0.5},
                                          {"witness", false},
                                          {"services", std::vector<std::string>{"a", "b"}}});

  EXPECT_EQ(
      line,
      R"({"event":"ready","listen":"127.0.0.1:7400","epoch":2,"seq":9223372036854775808,"load":0.5,"witness":false,"services":["a","b"]})"
      "\n");
}

TEST(EventTest, WhateverIsInATextStaysOneLine) {
  std::string line = event_line("role", {{"name", std::string("a\nb\"c\xff")}});

  EXPECT_THAT(line, AllOf(HasSubstr(R"(a\nb\"c)"), Not(HasSubstr("\xff"))));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(EventTest, IsOutAtOnce) {
  Pipe pipe;

  bool written = write_event(pipe.writer(), "stopped", {});

  EXPECT_TRUE(written);
  EXPECT_EQ(pipe.read_some(), "{\"event\":\"stopped\"}\n");
}

TEST(EventTest, AClosedReaderDoesNotEndTheProcess) {
  ignore_sigpipe();
  Pipe pipe;
  pipe.close_reader();

  bool written = write_event(pipe.writer(), "stopped", {});

  EXPECT_FALSE(written);
}

TEST(EventTest, AReaderThatNeverReadsDoesNotHoldUpTheProcess) {
  Pipe pipe;

  int written = 0;
  while (written < 100'000 && write_event(pipe.writer(), "role", {{"role", "manager"}})) ++written;

  EXPECT_GT(written, 100);
  EXPECT_LT(written, 100'000);
}

TEST(EventTest, AClosedDescriptorIsOnlyAFailure) {
  bool written = write_event(-1, "stopped", {});

  EXPECT_FALSE(written);
}

TEST(DaemonTest, TheDescriptorLimitRisesToTheHardOne) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit low{std::min<rlim_t>(256, limit.rlim_max), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);

  uint64_t raised = raise_descriptor_limit();

  EXPECT_EQ(raised, limit.rlim_max);
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
}

TEST(DaemonTest, TheLogGoesToStderrUnderItsNameFromItsLevelUp) {
  testing::internal::CaptureStderr();
  Options options("redoubt-broker", "Stands between.");
  DaemonFlags flags;
  add_daemon_flags(options, flags);
  std::array<const char*, 3> arguments{"program", "--log-level", "error"};

  Parsed parsed = options.parse(static_cast<int>(arguments.size()), arguments.data());
  start_daemon("redoubt-broker", flags);
  write_event(-1, "quiet", {});
  log_to_stderr("redoubt-broker", "warn");
  write_event(-1, "loud", {});
  std::string log = testing::internal::GetCapturedStderr();

  EXPECT_TRUE(parsed.run) << parsed.text;
  EXPECT_THAT(log, AllOf(HasSubstr("redoubt-broker: "), HasSubstr("'loud'"), Not(HasSubstr("'quiet'"))));
}

TEST(DaemonTest, WhateverIsLoggedStaysOneLine) {
  testing::internal::CaptureStderr();
  log_to_stderr("redoubt-broker", "warn");

  write_event(-1, "a\nready \x1b[2J\xc2\x9bz\xff", {});
  std::string log = testing::internal::GetCapturedStderr();

  EXPECT_THAT(log, HasSubstr("'a?ready ?[2J?z?'"));
  EXPECT_EQ(log.find('\n'), log.size() - 1);
}

TEST(DaemonTest, ALogThatNobodyReadsDoesNotHoldUpTheProcess) {
  Pipe pipe;
  const int before = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(pipe.writer(), STDERR_FILENO), STDERR_FILENO);
  log_to_stderr("redoubt-broker", "warn");

  for (int i = 0; i < 2000; ++i) write_event(-1, std::string(i % 2 == 0 ? 10 : 10'000, 'x'), {});
  std::string log;
  while (log.find("dropped here") == std::string::npos && log.size() < 10'000'000) {
    log += pipe.read_some();
    write_event(-1, "later", {});
  }
  ::dup2(before, STDERR_FILENO);
  ::close(before);

  EXPECT_THAT(log, HasSubstr("lines were dropped here: nobody read stderr"));
}

// Exits 0 if no socket can get the number of a standard descriptor that was closed at the start.
[[noreturn]] void start_without_stdout() {
  ::close(STDOUT_FILENO);
  start_daemon("redoubt-broker", DaemonFlags{.log_level = "error"});
  int next = ::dup(STDERR_FILENO);
  std::exit(next > STDERR_FILENO && print_event("ready") ? 0 : 1);
}

TEST(DaemonTest, AClosedStdoutIsNotReplacedByASocket) {
  EXPECT_EXIT(start_without_stdout(), testing::ExitedWithCode(0), "");
}

TEST(DaemonTest, ABadLogLevelIsNamed) {
  Options options("redoubt-broker", "Stands between.");
  DaemonFlags flags;
  add_daemon_flags(options, flags);
  std::array<const char*, 3> arguments{"program", "--log-level", "loud"};

  Parsed parsed = options.parse(static_cast<int>(arguments.size()), arguments.data());

  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_THAT(parsed.text, HasSubstr("--log-level: 'loud' is not one of trace|debug|info|warn|error|off"));
}

}  // namespace
}  // namespace redoubt
