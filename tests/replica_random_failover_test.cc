// The replica's core under a long random mix of failovers, checked from its managers' side.
#include <set>

#include "failover_fixture.h"

namespace redoubt::replica {
namespace {

using testing::IsEmpty;

// Managers come and go, adopt, drop, halt and forget to answer. Every effect is looked at once.
class ReplicaRandomFailoverTest : public ReplicaFailoverTest {
 protected:
  void begin() {
    build({.workers = 3, .queue_limit = 8, .brokers = 3});
    for (uint32_t i = 0; i < 3; ++i) connect({i, 1}, epoch_, i == 0);
    look();
  }

  void send_copy() {
    const uint64_t most_us = random_.chance(0.1) ? 9'000'000 : 9000;
    wire::Copy sent = copy(++number_, from_us(static_cast<int64_t>(random_.below(most_us))));
    sent.epoch = epoch_;
    open_.insert(number_);
    step(CopyArrived{manager_, sent});
  }

  void halt_two() {
    if (!open_.empty()) step(HaltArrived{manager_, {{*open_.begin(), *open_.rbegin()}}});
  }

  void answer_offer() {
    wire::Adopt answer{.epoch = epoch_, .adopted = {}, .dropped = {}};
    for (const wire::Held& held : offered_) {
      if (random_.chance(0.6)) {
        answer.adopted.push_back({held.handle, ++number_});
        open_.insert(number_);
        ++adoptions_;
      } else if (random_.chance(0.6)) {
        answer.dropped.push_back(held.handle);
      }
    }
    offered_.clear();
    step(AdoptArrived{manager_, answer});
  }

  void take_over() {
    open_.clear();
    const auto next = static_cast<uint32_t>(random_.below(3));
    if (random_.chance(0.5)) {
      step(LinkLost{manager_});
      ++generations_[manager_.broker];
      connect({manager_.broker, generations_[manager_.broker]}, epoch_, false);
    }
    epoch_ = {epoch_.number + 1, next};
    manager_ = {next, generations_[next]};
    announce(manager_, epoch_);
  }

  void end_one() {
    if (out_.empty()) return;
    const auto which = out_.begin() + static_cast<std::ptrdiff_t>(random_.below(out_.size()));
    CopyEnded ended;
    ended.copy = *which;
    ended.started_at = ended.ended_at = now_;
    out_.erase(which);
    step(std::move(ended));
  }

  void pass_some_time() {
    now_ += from_us(static_cast<int64_t>(random_.below(2000)));
    for (uint32_t i = 0; i < 3; ++i) step(DummyArrived{{i, generations_[i]}, {.sent_us = to_us(now_)}});
  }

  // What the managers see. Only the one that rules is answered, once a copy that it waits for.
  void look() {
    for (const StartCopy& start : all<StartCopy>()) out_.push_back(start.copy);
    for (const Send& send : all<Send>()) {
      if (const auto* done = std::get_if<wire::Done>(&send.message)) {
        ASSERT_EQ(send.link, manager_);
        ASSERT_EQ(done->epoch, epoch_);
        ASSERT_EQ(open_.erase(done->copy), 1U);
      } else if (const auto* holding = std::get_if<wire::Holding>(&send.message)) {
        offered_ = holding->held;
      }
    }
    ASSERT_THAT(all<CloseLink>(), IsEmpty());
    ASSERT_EQ(replica_->running(), out_.size());
    ASSERT_LE(replica_->queued(), 8U);
    effects_.clear();
  }

  Random random_{1};
  wire::Epoch epoch_ = kFirstEpoch;
  LinkId manager_ = kLink;
  std::vector<uint32_t> generations_ = {1, 1, 1};
  std::vector<CopyHandle> out_;      // with a worker
  std::set<uint64_t> open_;          // what the manager waits for
  std::vector<wire::Held> offered_;  // what it has not answered
  uint64_t number_ = 0, adoptions_ = 0;
};

TEST_F(ReplicaRandomFailoverTest, EveryAdoptedCopyIsAnsweredOnceAndNothingIsLeftBehind) {
  begin();

  for (int round = 0; round < 50'000 && !HasFatalFailure(); ++round) {
    pass_some_time();
    look();
    const uint64_t what = random_.below(100);
    if (what < 50)
      send_copy();
    else if (what < 56)
      halt_two();
    else if (what < 62)
      answer_offer();
    else if (what < 64)
      take_over();
    else
      end_one();
    look();
  }
  while (!out_.empty() && !HasFatalFailure()) {
    end_one();
    look();
  }

  EXPECT_THAT(open_, IsEmpty());
  EXPECT_GT(adoptions_, 1000U);
  EXPECT_EQ(replica_->queued() + replica_->running(), 0U);
}

}  // namespace
}  // namespace redoubt::replica
