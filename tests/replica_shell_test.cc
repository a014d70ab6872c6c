// The replica's shell with real sockets and threads against a broker that only listens and notes.
#include "replica/shell.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "fake_broker.h"
#include "replica/builtin.h"

namespace redoubt::replica {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::Fate;

class ReplicaShellTest : public testing::Test {
 protected:
  void run(std::vector<Service> services, uint32_t workers = 1) {
    Settings settings;
    settings.name = "r";
    settings.workers = workers;
    settings.incarnation = 5;
    const Reports reports{.ready = [this](const std::string&) { ++ready_; },
                          .log = [](Reports::Level, const std::string&) {}};
    shell_ = std::make_unique<Shell>(std::vector<Address>{broker_.address()}, Duration::zero(), settings,
                                     std::move(services), reports);
    thread_ = std::thread([this] { shell_->run(); });
    broker_.wait_for<wire::Register>();
  }

  void stop() {
    if (!thread_.joinable()) return;
    shell_->ask_stop();
    thread_.join();
  }

  void TearDown() override { stop(); }

  wire::Copy copy(uint64_t id, std::string_view payload) {
    wire::Copy made;
    made.copy = id;
    made.epoch = {1, 0};
    made.request = {7, id};
    made.deadline_us = 10'000'000;
    made.sent_us = to_us(Clock::now());
    made.payload = Payload(payload);
    return made;
  }

  wire::Done done(uint64_t id) {
    return broker_.wait_for<wire::Done>([id](const wire::Done& done) { return done.copy == id; });
  }

  FakeBroker broker_;
  std::atomic<int> ready_ = 0;
  std::unique_ptr<Shell> shell_;
  std::thread thread_;
};

Service worker_service(Handler handler) { return {.name = "s", .handler = std::move(handler)}; }

TEST_F(ReplicaShellTest, EchoesACopyInline) {
  run({make_builtin("s", Builtin{}, 1, 1)});

  broker_.send(copy(1, "hello"));
  const wire::Done answer = done(1);

  EXPECT_EQ(answer.fate, Fate::kOk);
  EXPECT_EQ(answer.payload.view(), "hello");
  EXPECT_FALSE(answer.started_expired);
  EXPECT_EQ(ready_, 1);
}

// Copies that come with one read have its time, which is before the end of those among them that ran already.
TEST_F(ReplicaShellTest, TimeDoesNotGoBackFromAnInlineCopyToTheNext) {
  const auto slow = [](const Task& task) {
    const Time until = Clock::now() + 1ms;
    while (Clock::now() < until) {
    }
    return task.payload;
  };
  run({{.name = "s", .handler = slow, .runs_inline = true}});
  constexpr uint64_t kCopies = 50;

  for (uint64_t id = 1; id <= kCopies; ++id) broker_.send(copy(id, std::to_string(id)));

  for (uint64_t id = 1; id <= kCopies; ++id) ASSERT_EQ(done(id).payload.view(), std::to_string(id));
}

TEST_F(ReplicaShellTest, RunsACopyOnAWorkerAndTellsItsStart) {
  run({worker_service([](const Task& task) { return std::string(task.payload) + "!"; })});
  wire::Copy told = copy(1, "hello");
  told.tell_start = true;

  broker_.send(told);
  const wire::Done answer = done(1);

  EXPECT_EQ(answer.payload.view(), "hello!");
  EXPECT_EQ(broker_.count<wire::Started>(), 1U);
}

TEST_F(ReplicaShellTest, ACopyWithoutTimeLeftIsNotRun) {
  std::atomic<int> calls = 0;
  run({worker_service([&](const Task&) { return ++calls, Payload(); })});
  wire::Copy late = copy(1, "");
  late.deadline_us = 0;

  broker_.send(late);
  const wire::Done answer = done(1);

  EXPECT_EQ(answer.fate, Fate::kExpired);
  EXPECT_EQ(calls, 0);
}

TEST_F(ReplicaShellTest, AHaltReachesARunningHandler) {
  run({make_builtin("s", *parse_builtin("sleep:const(1h)"), 1, 1)});

  broker_.send(copy(1, ""));
  broker_.send(copy(2, ""));
  broker_.send(wire::Halt{{1, 2}});

  EXPECT_THAT(done(1).fate, testing::AnyOf(Fate::kHaltedRunning, Fate::kHaltedQueued));
  EXPECT_EQ(done(2).fate, Fate::kHaltedQueued);
}

TEST_F(ReplicaShellTest, AnExceptionIsAFailureAndTheNextCopyRuns) {
  run({worker_service([](const Task& task) -> Payload {
    if (task.seq == 1) throw std::runtime_error("no such frame");
    return task.payload;
  })});

  broker_.send(copy(1, ""));
  broker_.send(copy(2, "x"));

  EXPECT_EQ(done(1).fate, Fate::kFailed);
  EXPECT_EQ(done(1).text, "no such frame");
  EXPECT_EQ(done(2).payload.view(), "x");
}

TEST_F(ReplicaShellTest, ALargePayloadGoesThereAndBack) {
  run({make_builtin("s", Builtin{}, 1, 1)});
  const std::string large(8 << 20, 'x');

  broker_.send(copy(1, large));

  EXPECT_TRUE(done(1).payload.view() == large);
}

TEST_F(ReplicaShellTest, ManyCopiesOverSeveralWorkersAreAllAnswered) {
  run({worker_service([](const Task& task) { return task.payload; })}, 3);
  constexpr uint64_t kCopies = 1000;

  for (uint64_t id = 1; id <= kCopies; ++id) broker_.send(copy(id, std::to_string(id)));

  for (uint64_t id = 1; id <= kCopies; ++id) ASSERT_EQ(done(id).payload.view(), std::to_string(id));
}

TEST_F(ReplicaShellTest, ComesBackAfterALossWithAHigherGenerationAndIsReadyOnce) {
  run({make_builtin("s", Builtin{}, 1, 1)});

  broker_.drop_link();
  const wire::Hello again =
      broker_.wait_for<wire::Hello>([](const wire::Hello& h) { return h.link_generation == 2; });
  ASSERT_TRUE(broker_.wait_for_count<wire::Register>(2));
  broker_.send(copy(1, "after"));

  EXPECT_EQ(again.incarnation, 5U);
  EXPECT_EQ(done(1).payload.view(), "after");
  EXPECT_EQ(ready_, 1);
}

TEST_F(ReplicaShellTest, ACopyThatOutlivesItsLinkIsAdoptedAndAnswered) {
  std::promise<void> started, go;
  run({worker_service([&](const Task& task) {
    started.set_value();
    go.get_future().wait();
    return task.payload;
  })});
  broker_.send(copy(1, "orphan"));
  started.get_future().wait();

  broker_.drop_link();
  const auto holding =
      broker_.wait_for<wire::Holding>([](const wire::Holding& said) { return !said.held.empty(); });
  ASSERT_EQ(holding.held.size(), 1U);
  broker_.send(wire::Adopt{
      .epoch = {1, 0}, .adopted = {{.handle = holding.held[0].handle, .copy = 9}}, .dropped = {}});
  go.set_value();

  EXPECT_EQ(done(9).payload.view(), "orphan");
}

TEST_F(ReplicaShellTest, AnAnnounceReachesTheCore) {
  run({make_builtin("s", Builtin{}, 1, 1)});

  broker_.send(wire::Announce{.epoch = {2, 0}, .rules = true, .sent_us = to_us(Clock::now())});

  EXPECT_TRUE(broker_.wait_for_count<wire::Holding>(2));
}

TEST_F(ReplicaShellTest, AMessageThatNoReplicaWantsEndsTheLink) {
  run({make_builtin("s", Builtin{}, 1, 1)});

  broker_.send(wire::Submit{.requests = {wire::Request{.seq = 1, .levels = {}, .payload = {}}}});

  EXPECT_THAT(broker_.wait_for_loss(), HasSubstr("submit"));
}

TEST_F(ReplicaShellTest, AStopFinishesWhatRunsAndGivesBackTheRest) {
  std::promise<void> started, go;
  run({worker_service([&](const Task& task) {
    started.set_value();
    go.get_future().wait();
    return task.payload;
  })});
  broker_.send(copy(1, "finished"));
  broker_.send(copy(2, "given back"));
  started.get_future().wait();

  shell_->ask_stop();
  EXPECT_EQ(done(2).fate, Fate::kHaltedQueued);
  go.set_value();
  thread_.join();

  EXPECT_EQ(broker_.count<wire::Leaving>(), 1U);
  EXPECT_EQ(done(1).payload.view(), "finished");
  EXPECT_THAT(broker_.wait_for_loss(), HasSubstr("stopping"));
}

}  // namespace
}  // namespace redoubt::replica
