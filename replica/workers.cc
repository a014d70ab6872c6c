// The threads that run handlers; see workers.h.
#include "replica/workers.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <exception>

namespace redoubt::replica {

namespace {

// Calls the handler and says what came of it. Whatever it throws is the copy's failure and nobody else's.
void call(const Service& service, const Task& task, CopyEnded& ended) {
  try {
    ended.result = service.handler(task);
  } catch (const ExpiredBeforeStart&) {
    ended.outcome = Outcome::kExpired;
  } catch (const std::exception& thrown) {
    ended.outcome = Outcome::kFailed;
    ended.text = thrown.what();
    if (ended.text.empty()) ended.text = "the handler threw an exception without a text";
  } catch (...) {
    ended.outcome = Outcome::kFailed;
    ended.text = "the handler threw something that is no std::exception";
  }
}

// Signals are the main thread's business.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

CopyEnded run_copy(const Service& service, StartCopy& work, const std::stop_token& stop, uint32_t worker,
                   const std::function<void()>& announce) {
  CopyEnded ended;
  ended.copy = work.copy;
  const Task task{.service = service.name,
                  .payload = std::move(work.payload),
                  .stop_token = stop,
                  .deadline = work.deadline,
                  .client = work.request.client,
                  .seq = work.request.seq,
                  .level = work.level,
                  .attempt = work.attempt,
                  .worker = worker,
                  .max_result = work.max_result};
  if (stop.stop_requested()) ended.outcome = Outcome::kSkipped;
  // The siblings of an announced copy may be dropped at once, so what is over already must not be announced.
  if (work.tell_start && ended.outcome == Outcome::kOk && Clock::now() < work.start_before) announce();

  ended.started_at = ended.ended_at = Clock::now();
  if (ended.outcome == Outcome::kSkipped || ended.started_at >= work.start_before) {
    if (ended.outcome == Outcome::kOk) ended.outcome = Outcome::kExpired;
    return ended;
  }
  call(service, task, ended);
  ended.ended_at = Clock::now();
  return ended;
}

Workers::Workers(const std::vector<Service>& services, uint32_t count, Hooks hooks)
    : services_(services), hooks_(std::move(hooks)), slots_(count) {
  threads_.reserve(count);
  for (uint32_t worker = 0; worker < count; ++worker) threads_.emplace_back([this, worker] { work(worker); });
}

Workers::~Workers() {
  std::vector<std::stop_source> running;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (Slot& slot : slots_) {
      slot.stopped = true;
      running.push_back(slot.stop);
    }
  }
  for (std::stop_source& stop : running) stop.request_stop();
  given_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::start(StartCopy work) {
  {
    const std::lock_guard lock(mutex_);
    pending_.push_back({std::move(work)});
  }
  given_.notify_one();
}

void Workers::stop(CopyHandle copy) {
  std::stop_source source{std::nostopstate};
  {
    const std::lock_guard lock(mutex_);
    for (Given& given : pending_)
      if (given.work.copy == copy) given.stopped = true;
    for (Slot& slot : slots_) {
      if (slot.copy != copy) continue;
      slot.stopped = true;
      source = slot.stop;
    }
  }
  // Without the lock: this calls what handlers have registered with their tokens. The worker's next copy gets
  // a new source, for this one is marked.
  source.request_stop();
}

void Workers::collect(std::vector<Event>& out) {
  CHECK(out.empty());
  const std::lock_guard lock(mutex_);
  std::swap(out, happened_);
}

void Workers::report(Event event) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = happened_.empty();
    happened_.push_back(std::move(event));
  }
  if (first) hooks_.wake();
}

bool Workers::take(uint32_t worker, StartCopy& work, std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  slots_[worker].copy = {};
  given_.wait(lock, [this] { return ending_ || !pending_.empty(); });
  if (ending_) return false;
  Slot& slot = slots_[worker];
  if (slot.stopped) slot.stop = std::stop_source();
  slot.stopped = pending_.front().stopped;
  if (slot.stopped) slot.stop.request_stop();  // nobody can have registered anything yet
  work = std::move(pending_.front().work);
  pending_.pop_front();
  slot.copy = work.copy;
  stop = slot.stop.get_token();
  return true;
}

void Workers::work(uint32_t worker) {
  block_signals();
  if (hooks_.prepared) hooks_.prepared(worker);
  StartCopy work;
  std::stop_token stop;
  while (take(worker, work, stop)) {
    const auto announce = [this, &work] { report(CopyStarted{work.copy}); };
    report(run_copy(services_[work.service], work, stop, worker, announce));
  }
  if (hooks_.done) hooks_.done(worker);
}

}  // namespace redoubt::replica
