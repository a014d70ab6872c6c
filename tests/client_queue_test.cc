// The way from an application's threads to the client's: bounded, whatever those threads do.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "client/recycled.h"
#include "client/shell.h"
#include "poll.h"

namespace redoubt::client {
namespace {

using test::eventually;

// A client's thread that is held up by one of its handlers until told.
class ClientQueueTest : public testing::Test {
 protected:
  ClientQueueTest() {
    shell_ = std::make_shared<Shell>(
        ShellSettings{.brokers = {{"127.0.0.1", 1}}, .greeting = {"c", "", 1}, .queue_limit = 32});
    shell_->start();
    shell_->call(
        Request{},
        [this, go = go_.get_future().share()](Reply&&) {
          held_.set_value();
          go.wait();
        },
        nullptr);
    held_.get_future().wait();
  }
  ~ClientQueueTest() override { shell_->stop(); }

  void call() {
    shell_->call(
        Request{}, [this](Reply&& reply) { ++(reply.reason == Refusal::kClientLimit ? refused_ : taken_); },
        nullptr);
  }

  std::promise<void> held_, go_;
  std::atomic<int> refused_ = 0, taken_ = 0;
  std::shared_ptr<Shell> shell_;
};

TEST_F(ClientQueueTest, CallsBeyondTheLimitAreRefusedAndThenSlowedDown) {
  std::atomic<int> made = 0;
  std::thread caller([&] {
    for (; made < 100; ++made) call();
  });
  ASSERT_TRUE(eventually([&] { return made == 32 + 3; })) << made;

  go_.set_value();
  caller.join();

  EXPECT_TRUE(eventually([&] { return refused_ + taken_ == 100; })) << refused_ << " and " << taken_;
  EXPECT_GE(refused_, 3);
  EXPECT_GE(taken_, 32);
}

TEST_F(ClientQueueTest, WishesToCancelTheSameCallTakeOnePlace) {
  const auto ticket = std::make_shared<Ticket>();

  for (int i = 0; i < 1000; ++i) shell_->cancel(ticket);

  go_.set_value();
  EXPECT_TRUE(eventually([&] { return !ticket->cancel_queued; }));
}

TEST(Recycled, GivesBackWhatABurstTook) {
  Recycled<std::shared_ptr<int>> list;
  const auto held = std::make_shared<int>(1);
  for (int i = 0; i < 100; ++i) list.add() = held;

  list.shrink(10);
  EXPECT_EQ(held.use_count(), 101) << "in use";
  list.clear();
  list.shrink(10);

  EXPECT_EQ(held.use_count(), 11);
}

}  // namespace
}  // namespace redoubt::client
