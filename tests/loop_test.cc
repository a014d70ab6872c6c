// When a thread with nothing to do asks on, and when it sleeps.
#include "net/loop.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <asio/steady_timer.hpp>
#include <atomic>
#include <functional>
#include <thread>

#include "poll.h"

namespace redoubt::net {
namespace {

using namespace std::chrono_literals;
using test::eventually;

// What it may ask after so many turns of that length.
Duration after(BusyPoll& poll, Time& now, int turns, Duration length) {
  Duration limit{};
  for (int i = 0; i < turns; ++i) limit = poll.limit(now += length);
  return limit;
}

TEST(BusyPoll, AsksOnWhileTurnsAreShort) {
  BusyPoll poll(200us);
  Time now(1h);
  after(poll, now, 100, 150us);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(after(poll, now, 1, 150us), 200us);
}

TEST(BusyPoll, SleepsAtOnceWhereTurnsAreLong) {
  BusyPoll poll(200us);
  Time now(1h);
  EXPECT_EQ(after(poll, now, 20, 50ms), 0us);
  EXPECT_EQ(after(poll, now, 1, 10us), 0us) << "one short turn proves nothing";
  EXPECT_EQ(after(poll, now, 1000, 250us), 0us);
}

TEST(BusyPoll, AnHourOfIdlenessIsForgottenWithinSomeDozenTurns) {
  BusyPoll poll(200us);
  Time now(1h);
  EXPECT_EQ(after(poll, now, 1000, 1h), 0us);
  EXPECT_EQ(after(poll, now, 24, 20us), 200us);
}

TEST(BusyPoll, WithoutALimitItNeverAsksOn) {
  BusyPoll poll(0us);
  Time now(1h);
  for (const Duration length : {Duration(0us), Duration(1us), Duration(1s)})
    EXPECT_EQ(after(poll, now, 10, length), 0us);
}

struct Use {
  int64_t sleeps = 0;
  Duration processor{};
};

// Runs the loop to its end on a thread of its own and tells what that took.
Use run(Loop& loop) {
  Use use;
  std::thread([&] {
    loop.run([] {});
    rusage of{};
    ::getrusage(RUSAGE_THREAD, &of);
    use.sleeps = of.ru_nvcsw;
    const auto as_duration = [](const timeval& time) {
      return Duration(std::chrono::seconds(time.tv_sec)) + std::chrono::microseconds(time.tv_usec);
    };
    use.processor = as_duration(of.ru_utime) + as_duration(of.ru_stime);
  }).join();
  return use;
}

// A loop with so many timers behind one another, and what it used.
Use beats(Duration busy_poll, int count, Duration pause) {
  Loop loop(busy_poll);
  asio::steady_timer timer(loop.io());
  const std::function<void()> beat = [&] {
    if (--count == 0) return loop.stop();
    timer.expires_after(pause);
    timer.async_wait([&](const asio::error_code&) { beat(); });
  };
  beat();
  return run(loop);
}

TEST(Loop, WhoHasNewsSoonDoesNotSleepMeanwhile) {
  EXPECT_LT(beats(20ms, 500, 100us).sleeps, 50);
  EXPECT_GT(beats(0ms, 500, 100us).sleeps, 250) << "or sleeps are not what is counted";
}

TEST(Loop, AStopFromAnotherThreadEndsOneThatPolls) {
  Loop loop(kMostBusyPoll);
  std::atomic<int> turns = 0;
  asio::steady_timer timer(loop.io());
  const std::function<void()> beat = [&] {
    timer.expires_after(100us);
    timer.async_wait([&](const asio::error_code& error) {
      if (!error) beat();
    });
  };
  beat();
  std::thread thread([&] { loop.run([&] { ++turns; }); });
  ASSERT_TRUE(eventually([&] { return turns > 1000; })) << "it has had time to find that polling pays";

  const Time asked = Clock::now();
  loop.stop();
  thread.join();

  EXPECT_LT(Clock::now() - asked, kMostBusyPoll / 2);
}

TEST(Loop, AnIdleOneLeavesTheProcessorAlone) {
  EXPECT_LT(beats(kBusyPoll, 60, 5ms).processor, 60ms) << "of about 300";
}

}  // namespace
}  // namespace redoubt::net
