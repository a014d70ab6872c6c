// Questions about status and their answers; see status_questions.h.
#include "client/status_questions.h"

#include <utility>

#include "client/limits.h"

namespace redoubt::client {

void StatusQuestions::Waiter::finish(std::string json) {
  const std::lock_guard lock(mutex_);
  json_ = std::move(json);
  done_ = true;
  changed_.notify_one();
}

bool StatusQuestions::Waiter::wait_for(Duration time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [&] { return done_; });
}

std::string StatusQuestions::Waiter::take() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  return std::move(json_);
}

bool StatusQuestions::Waiter::is_abandoned() {
  const std::lock_guard lock(mutex_);
  return abandoned_;
}

void StatusQuestions::add(std::shared_ptr<Waiter> waiter) {
  // Those that gave up and were never asked for.
  while (waiters_.size() > asked_ && waiters_.back()->is_abandoned()) waiters_.pop_back();
  if (waiters_.size() >= kMostQuestions) {
    waiter->finish({});
    return;
  }
  waiters_.push_back(std::move(waiter));
}

void StatusQuestions::ask(net::Link& link) {
  if (link.id() == link_ && asked_ > 0) return;
  link_ = link.id();
  asked_ = waiters_.size();
  if (asked_ > 0) link.send(wire::StatusQuery{});
}

bool StatusQuestions::answered(net::Link& link, const wire::StatusReply& status) {
  // One that was asked earlier, on this link or another, may answer late.
  if (link.id() != link_) return link_ != 0;
  for (; asked_ > 0; --asked_) {
    waiters_.front()->finish(status.payload.str());
    waiters_.pop_front();
  }
  if (!waiters_.empty()) ask(link);
  return true;
}

void StatusQuestions::stop() {
  for (const auto& waiter : waiters_) waiter->finish({});
  waiters_.clear();
  asked_ = 0;
}

}  // namespace redoubt::client
