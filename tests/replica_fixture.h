// What the tests of the replica's core share: a replica without a world, and a clock that is set by hand.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <utility>
#include <vector>

#include "replica/replica.h"

namespace redoubt::replica {

inline constexpr LinkId kLink{0, 1};

// A replica, the effects of all its steps so far, and a clock that is set by hand.
class ReplicaTest : public testing::Test {
 protected:
  void build(Settings settings) {
    settings.name = "r";
    if (settings.services.empty()) settings.services = {"decode"};
    replica_ = std::make_unique<Replica>(std::move(settings));
  }

  void step(Event event) {
    Effects effects;
    replica_->step(now_, std::move(event), effects);
    for (Effect& effect : effects) effects_.push_back(std::move(effect));
  }

  void pass(Duration time) {
    now_ += time;
    step(TimePassed{});
  }

  // As often as the replica asks for it.
  void live_on(Duration time) {
    const Time until = now_ + time;
    while (replica_->next_deadline() <= until) {
      now_ = std::max(now_, replica_->next_deadline());
      step(TimePassed{});
    }
    now_ = until;
  }

  // To a manager, or to a standby that has heard of this epoch.
  void connect(LinkId link = kLink, wire::Epoch epoch = {1, 0}, bool rules = true) {
    step(LinkUp{link});
    step(WelcomeArrived{link,
                        {.version = wire::kVersionMax,
                         .name = "b",
                         .epoch = epoch,
                         .max_payload = 1000,
                         .heartbeat_us = 50'000,
                         .dead_after_us = 500'000,
                         .sent_us = to_us(now_),
                         .rules = rules}});
    step(DummyArrived{link, {.sent_us = to_us(now_)}});
  }

  wire::Copy copy(uint64_t id, Duration deadline = std::chrono::seconds(1)) {
    wire::Copy made;
    made.copy = id;
    made.epoch = {1, 0};
    made.request = {7, id};
    made.deadline_us = static_cast<uint64_t>(to_us(deadline));
    made.sent_us = to_us(now_);
    made.payload = Payload("in");
    return made;
  }
  void arrive(uint64_t id, Duration deadline = std::chrono::seconds(1)) {
    step(CopyArrived{kLink, copy(id, deadline)});
  }
  void halt(std::vector<uint64_t> ids) { step(HaltArrived{kLink, {std::move(ids)}}); }

  template <class What>
  std::vector<What> all() const {
    std::vector<What> found;
    for (const Effect& effect : effects_)
      if (const auto* one = std::get_if<What>(&effect)) found.push_back(*one);
    return found;
  }
  template <class Message>
  std::vector<Message> sent() const {
    std::vector<Message> found;
    for (const Send& send : all<Send>())
      if (const auto* one = std::get_if<Message>(&send.message)) found.push_back(*one);
    return found;
  }
  std::vector<uint64_t> started() const {
    std::vector<uint64_t> found;
    for (const StartCopy& start : all<StartCopy>()) found.push_back(start.request.seq);
    return found;
  }

  // What the worker that has the n-th started copy says.
  void end(size_t index, Outcome outcome = Outcome::kOk, std::string text = "") {
    const StartCopy start = all<StartCopy>().at(index);
    CopyEnded ended;
    ended.copy = start.copy;
    ended.outcome = outcome;
    ended.text = std::move(text);
    if (outcome == Outcome::kOk) ended.result = Payload("out");
    ended.started_at = ended.ended_at = now_;
    step(std::move(ended));
  }

  Time now_ = Time{} + std::chrono::hours(1);
  std::unique_ptr<Replica> replica_;
  Effects effects_;
};

}  // namespace redoubt::replica
