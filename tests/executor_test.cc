// What runs copies: the workers' threads, builtin services, and real commands.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <set>
#include <stdexcept>
#include <thread>

#include "options/daemon.h"
#include "replica/builtin.h"
#include "replica/exec.h"
#include "replica/limits.h"
#include "replica/persistent.h"
#include "replica/workers.h"

namespace redoubt::replica {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Task task_of(std::string_view payload, std::stop_token stop = {}) {
  return {.service = "upper",
          .payload = Payload(payload),
          .stop_token = std::move(stop),
          .deadline = Clock::now() + 30s,
          .client = 12,
          .seq = 34,
          .max_result = 64 << 20};
}

std::string run(const Service& service, const Task& task) { return service.handler(task).str(); }

// The text of the failure, or what it did instead.
std::string failure_of(const Service& service, const Task& task) {
  try {
    return "no failure but: " + run(service, task);
  } catch (const std::exception& failure) {
    return failure.what();
  } catch (const ExpiredBeforeStart&) {
    return "expired";
  }
}

// Looks again and again, up to ten seconds.
bool eventually(const std::function<bool()>& holds) {
  const Time until = Clock::now() + 10s;
  while (!holds()) {
    if (Clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

// The path of a file of this test's own, which goes with it.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(testing::TempDir() + "redoubt-" + name + "-" + std::to_string(::getpid())) {}
  ~ScratchFile() { ::unlink(path_.c_str()); }
  operator const std::string&() const { return path_; }  // NOLINT: meant to convert

 private:
  std::string path_;
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// Ended, though perhaps nobody has asked how yet.
bool gone(int pid) {
  const std::string status = content("/proc/" + std::to_string(pid) + "/stat");
  return status.empty() || status.find(") Z ") != std::string::npos;
}

class ExecTest : public testing::Test {
 protected:
  ExecTest() { ignore_sigpipe(); }
};

TEST_F(ExecTest, GivesThePayloadToTheCommandAndTakesItsOutput) {
  const Service service = make_exec("upper", "tr a-z A-Z");

  const std::string result = run(service, task_of("shout"));

  EXPECT_EQ(result, "SHOUT");
}

TEST_F(ExecTest, TellsTheCommandWhichCopyItRuns) {
  const Service service =
      make_exec("upper", "echo $REDOUBT_REQUEST $REDOUBT_SERVICE $REDOUBT_ATTEMPT $REDOUBT_LEVEL");

  const std::string result = run(service, task_of(""));

  EXPECT_EQ(result, "12-34 upper 0 0\n");
}

TEST_F(ExecTest, AFailingCommandIsAFailureWithTheEndOfWhatItSaid) {
  const Service service =
      make_exec("upper", "yes noise | head -c 100000 >&2; echo no such frame >&2; exit 3");

  const std::string failure = failure_of(service, task_of("x"));

  EXPECT_THAT(failure, StartsWith("the command exited with status 3: "));
  EXPECT_THAT(failure, EndsWith("no such frame"));
  EXPECT_LT(failure.size(), wire::kMaxTextBytes);
}

TEST_F(ExecTest, ACommandKilledByASignalIsAFailureThatSaysSo) {
  const Service service = make_exec("upper", "kill -SEGV $$");

  const std::string failure = failure_of(service, task_of("x"));

  EXPECT_EQ(failure, "the command was killed by signal 11 (Segmentation fault)");
}

TEST_F(ExecTest, ACommandThatDoesNotExistIsAFailure) {
  const Service service = make_exec("upper", "no-such-command-here");

  const std::string failure = failure_of(service, task_of("x"));

  EXPECT_THAT(failure, StartsWith("the command exited with status 127: "));
}

TEST_F(ExecTest, MegabytesGoThroughBothPipesAtOnce) {
  const Service service = make_exec("copy", "cat");
  std::string large(4 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761U >> 13);

  const std::string result = run(service, task_of(large));

  EXPECT_TRUE(result == large);
}

TEST_F(ExecTest, ACommandNeedNotReadItsInput) {
  const Service service = make_exec("deaf", "exec <&-; echo done");

  const std::string result = run(service, task_of(std::string(1 << 20, 'x')));

  EXPECT_EQ(result, "done\n");
}

TEST_F(ExecTest, WhatACommandLeavesBehindNeitherDelaysItsResultNorLives) {
  const ScratchFile scratch("left");
  const std::string& file = scratch;
  const Service service = make_exec("left", "sleep 100 & echo $! > " + file + "; echo done");

  const std::string result = run(service, task_of(""));

  EXPECT_EQ(result, "done\n");
  const int left = std::stoi(content(file));
  EXPECT_TRUE(
      eventually([&] { return content("/proc/" + std::to_string(left) + "/cmdline").find("sleep") != 0; }));
}

TEST_F(ExecTest, AHaltEndsTheWholeProcessGroup) {
  const ScratchFile scratch("group");
  const std::string& file = scratch;
  const Service service =
      make_exec("sleep", "sleep 100 & echo $! $$ > " + file + ".new; mv " + file + ".new " + file + "; wait");
  std::stop_source halt;
  auto failure =
      std::async(std::launch::async, [&] { return failure_of(service, task_of("", halt.get_token())); });
  ASSERT_TRUE(eventually([&] { return !content(file).empty(); }));

  halt.request_stop();

  EXPECT_THAT(failure.get(), StartsWith("halted; the command was killed by signal 15"));
  int sleeper = 0, shell = 0;
  std::ifstream(file) >> sleeper >> shell;
  EXPECT_TRUE(gone(shell));
  EXPECT_TRUE(eventually([&] { return gone(sleeper); }));
}

TEST_F(ExecTest, ACommandThatDefiesTheHaltIsKilled) {
  const ScratchFile scratch("defiant");
  const std::string& file = scratch;
  const Service service =
      make_exec("sleep", "trap '' TERM; echo x > " + file + "; while :; do sleep 0.01; done");
  std::stop_source halt;
  auto failure =
      std::async(std::launch::async, [&] { return failure_of(service, task_of("", halt.get_token())); });
  ASSERT_TRUE(eventually([&] { return !content(file).empty(); }));

  halt.request_stop();

  EXPECT_THAT(failure.get(), StartsWith("halted; the command was killed by signal 9"));
}

TEST_F(ExecTest, ACommandWhoseTimeIsOverIsNeverRun) {
  const ScratchFile scratch("late");
  const std::string& file = scratch;
  const Service service = make_exec("late", "echo ran > " + file);
  Task task = task_of("");
  task.deadline = Clock::now() - 1us;

  const std::string failure = failure_of(service, task);

  EXPECT_EQ(failure, "expired");
  EXPECT_EQ(content(file), "");
}

TEST_F(ExecTest, AResultOverTheLimitEndsTheCommand) {
  const Service service = make_exec("endless", "yes");
  Task task = task_of("");
  task.max_result = 1000;

  const std::string failure = failure_of(service, task);

  EXPECT_EQ(failure, "result of more than 1000 bytes, which is the limit: the command was killed");
}

TEST_F(ExecTest, TheCommandInheritsNoDescriptors) {
  const Service service = make_exec("list", "ls /proc/self/fd | wc -l");
  Descriptor open_here(::dup(0));

  const std::string result = run(service, task_of(""));

  EXPECT_EQ(result, "4\n");  // 0, 1, 2 and the folder being listed
}

// A command that speaks frames: answers each with its payload, dies at "die", hangs at "hang", floods at
// "flood".
const std::string kFrames = R"(exec python3 -uc '
import os, struct, sys, time
read, write = sys.stdin.buffer, sys.stdout.buffer
while True:
    head = read.read(4)
    if len(head) < 4: sys.exit(0)
    body = read.read(struct.unpack("<I", head)[0])
    if body == b"die": sys.exit(7)
    if body == b"hang": time.sleep(100)
    if body == b"flood": body = bytes(2000)
    if body == b"pid": body = str(os.getpid()).encode()
    write.write(struct.pack("<I", len(body)) + body)
    write.flush()
')";

class PersistentTest : public testing::Test {
 protected:
  PersistentTest() {
    ignore_sigpipe();
    persistent_->prepare(0);
  }
  ~PersistentTest() override { persistent_->done(0); }

  std::shared_ptr<Persistent> persistent_ = std::make_shared<Persistent>(kFrames, 1);
  Service service_ = make_persistent("frames", persistent_);
};

TEST_F(PersistentTest, OneCommandAnswersAllCopies) {
  const std::string first = run(service_, task_of("pid"));

  const std::string empty = run(service_, task_of(""));
  const std::string second = run(service_, task_of("pid"));

  EXPECT_EQ(first, second);
  EXPECT_EQ(empty, "");
}

TEST_F(PersistentTest, MegabytesGoThroughAsOneFrame) {
  const std::string large(4 << 20, 'x');

  const std::string result = run(service_, task_of(large));

  EXPECT_TRUE(result == large);
}

TEST_F(PersistentTest, ACommandThatDiesFailsItsCopyAndIsStartedAgain) {
  const std::string failure = failure_of(service_, task_of("die"));

  const std::string after = run(service_, task_of("alive"));

  EXPECT_EQ(failure, "the command exited with status 7 while it held this copy");
  EXPECT_EQ(after, "alive");
}

TEST_F(PersistentTest, ACommandThatDiedWhileIdleCostsNoCopy) {
  const int pid = std::stoi(run(service_, task_of("pid")));

  ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return gone(pid); }));
  const std::string after = run(service_, task_of("alive"));

  EXPECT_EQ(after, "alive");
}

TEST_F(PersistentTest, AHaltEndsTheCommandAndTheNextCopyGetsANewOne) {
  const std::string before = run(service_, task_of("pid"));
  std::stop_source halt;
  std::thread stopper([&] { halt.request_stop(); });

  const std::string failure = failure_of(service_, task_of("hang", halt.get_token()));
  stopper.join();
  const std::string after = run(service_, task_of("pid"));

  EXPECT_THAT(failure, StartsWith("halted"));
  EXPECT_NE(before, after);
}

TEST_F(PersistentTest, AResultOverTheLimitEndsTheCommand) {
  Task task = task_of("flood");
  task.max_result = 1000;

  const std::string failure = failure_of(service_, task);
  const std::string after = run(service_, task_of("alive"));

  EXPECT_EQ(failure, "result of 2000 bytes, the limit is 1000: the command was killed");
  EXPECT_EQ(after, "alive");
}

TEST(BuiltinTest, SaysWhatItDoesNotKnow) {
  EXPECT_THAT(parse_builtin("nap:const(1ms)").error(), HasSubstr("write echo, sleep:DIST or spin:DIST"));
  EXPECT_FALSE(parse_builtin("sleep:4 parsecs"));
  EXPECT_TRUE(parse_builtin("spin:exp(4ms)"));
}

TEST(BuiltinTest, AHaltWakesASleeperAtOnce) {
  const Service service = make_builtin("nap", *parse_builtin("sleep:const(1h)"), 1, 1);
  std::stop_source halt;
  std::thread stopper([&] { halt.request_stop(); });

  const std::string failure = failure_of(service, task_of("x", halt.get_token()));
  stopper.join();

  EXPECT_EQ(failure, "halted");
}

TEST(BuiltinTest, FailsAsOftenAsItWasToldTo) {
  Builtin echo = *parse_builtin("echo");
  echo.fail = 0.25;
  const Service service = make_builtin("echo", echo, 1, 1);
  int failures = 0;

  for (int i = 0; i < 1000; ++i)
    failures += failure_of(service, task_of("x")) == "a failure on purpose (--fail)";

  EXPECT_NEAR(failures, 250, 60);
}

// Workers whose results the test collects by hand.
class WorkersTest : public testing::Test {
 protected:
  void build(Handler handler, uint32_t count = 1) {
    services_.push_back({"s", std::move(handler)});
    workers_ = std::make_unique<Workers>(
        services_, count, Workers::Hooks{.wake = [this] { ++wakes_; }, .prepared = {}, .done = {}});
  }

  StartCopy work(uint32_t slot) {
    StartCopy made;
    made.copy = CopyHandle{slot, 1};
    made.payload = Payload("in");
    made.start_before = made.deadline = Clock::now() + 30s;
    return made;
  }

  std::vector<CopyEnded> collect(size_t count) {
    std::vector<CopyEnded> ended;
    eventually([&] {
      std::vector<Event> batch;
      workers_->collect(batch);
      for (Event& event : batch)
        if (auto* one = std::get_if<CopyEnded>(&event)) ended.push_back(std::move(*one));
      return ended.size() >= count;
    });
    return ended;
  }

  std::vector<Service> services_;
  std::atomic<int> wakes_ = 0;
  std::unique_ptr<Workers> workers_;
};

TEST_F(WorkersTest, AnExceptionIsAFailureWithItsText) {
  build([](const Task&) -> Payload { throw std::runtime_error("no such frame"); });

  workers_->start(work(1));
  const std::vector<CopyEnded> ended = collect(1);

  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].outcome, Outcome::kFailed);
  EXPECT_EQ(ended[0].text, "no such frame");
}

TEST_F(WorkersTest, AThrownNumberIsAFailureToo) {
  build([](const Task&) -> Payload { throw 7; });

  workers_->start(work(1));
  const std::vector<CopyEnded> ended = collect(1);

  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].outcome, Outcome::kFailed);
}

TEST_F(WorkersTest, HandlersReturnStringsAndBytes) {
  const Handler text = [](const Task& task) { return std::string(task.payload) + "!"; };
  const Handler bytes = [](const Task&) { return std::vector<std::byte>(3, std::byte{'b'}); };

  EXPECT_EQ(text(task_of("hi")).view(), "hi!");
  EXPECT_EQ(bytes(task_of("")).view(), "bbb");
}

TEST_F(WorkersTest, ACopyWhoseTimeIsOverWhenTheWorkerLooksIsNotRun) {
  std::atomic<int> calls = 0;
  build([&](const Task&) { return ++calls, Payload(); });
  StartCopy late = work(1);
  late.start_before = Clock::now() - 1us;
  late.tell_start = true;

  workers_->start(std::move(late));
  const std::vector<CopyEnded> ended = collect(1);

  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].outcome, Outcome::kExpired);
  EXPECT_EQ(calls, 0);
}

TEST_F(WorkersTest, AHaltReachesTheRightCopyAndNoLaterOne) {
  std::atomic<int> running = 0;
  build([&](const Task& task) {
    ++running;
    if (task.seq == 1) eventually([&] { return task.stop_token.stop_requested(); });
    return Payload(task.stop_token.stop_requested() ? "stopped" : "ran");
  });
  StartCopy first = work(1);
  first.request.seq = 1;

  workers_->start(std::move(first));
  ASSERT_TRUE(eventually([&] { return running == 1; }));
  workers_->stop(CopyHandle{9, 1});
  workers_->stop(CopyHandle{1, 1});
  workers_->start(work(2));
  const std::vector<CopyEnded> ended = collect(2);

  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].result.view(), "stopped");
  EXPECT_EQ(ended[1].result.view(), "ran");
}

TEST_F(WorkersTest, ACopyHaltedBeforeAWorkerTookItIsNotRun) {
  std::promise<void> go;
  build([&](const Task& task) {
    if (task.seq == 1) go.get_future().wait();
    return Payload();
  });
  StartCopy first = work(1);
  first.request.seq = 1;

  workers_->start(std::move(first));
  workers_->start(work(2));
  workers_->stop(CopyHandle{2, 1});
  go.set_value();
  const std::vector<CopyEnded> ended = collect(2);

  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[1].outcome, Outcome::kSkipped);
}

TEST_F(WorkersTest, ManyCopiesOverManyWorkersAllEndOnceWithFewWakes) {
  build([](const Task& task) { return task.payload; }, 4);
  constexpr uint32_t kCopies = 2000;

  for (uint32_t i = 1; i <= kCopies; ++i) workers_->start(work(i));
  std::vector<CopyEnded> ended = collect(kCopies);

  std::set<uint32_t> slots;
  for (const CopyEnded& one : ended) slots.insert(one.copy.slot);
  EXPECT_EQ(slots.size(), kCopies);
  EXPECT_LE(wakes_, static_cast<int>(kCopies));
}

}  // namespace
}  // namespace redoubt::replica
