// One long-lived command per worker; see persistent.h.
#include "replica/persistent.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "replica/limits.h"

namespace redoubt::replica {

namespace {

static_assert(std::endian::native == std::endian::little, "frame heads are written in the machine's order");
constexpr size_t kHead = 4;

// One frame to the command and one back.
class Exchange {
 public:
  Exchange(Child& child, const Task& task, const StopWake& wake)
      : child_(child), task_(task), wake_(wake), payload_(task.payload) {
    const auto size = static_cast<uint32_t>(payload_.size());
    std::memcpy(head_.data(), &size, kHead);
    head_left_ = {head_.data(), kHead};
  }

  // Empty: the result is in result(). Else why there is none; the command is then to be given up.
  std::string run() {
    while (!complete()) {
      if (trouble_.empty() && result_.size() >= kHead && answer_size() > task_.max_result)
        return "result of " + std::to_string(answer_size()) + " bytes, the limit is " +
               std::to_string(task_.max_result);
      if (child_.ended() && !more_to_read()) return trouble_.empty() ? "the command ended" : trouble_;
      if (Clock::now() >= kill_at_) return trouble_;
      serve_once();
    }
    return {};
  }

  bool halted() const { return halted_; }
  Payload result() const { return Payload(std::string_view(result_).substr(kHead)); }

 private:
  uint32_t answer_size() const {
    uint32_t size = 0;
    std::memcpy(&size, result_.data(), kHead);
    return size;
  }
  // A command that was given up may still answer; its answer to a halted copy counts.
  bool complete() const { return result_.size() >= kHead && result_.size() == kHead + answer_size(); }
  bool more_to_read() {
    pollfd output{child_.output().get(), POLLIN, 0};
    return ::poll(&output, 1, 0) > 0 && (output.revents & POLLIN);
  }

  void serve_once() {
    const bool writes = !head_left_.empty() || !payload_.empty();
    std::array<pollfd, 4> waits{{{writes ? child_.input().get() : -1, POLLOUT, 0},
                                 {child_.output().get(), POLLIN, 0},
                                 {child_.end_descriptor(), POLLIN, 0},
                                 {halted_ ? -1 : wake_.descriptor(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), ms_until(kill_at_)) < 0) return;
    if (waits[0].revents && !write_frame()) {
      child_.input().close();
      give_up("the command reads no more");
    }
    if (waits[1].revents && !read_frame()) {
      child_.output().close();
      give_up("the command closed its stdout");
    }
    if (waits[3].revents && !halted_) {
      halted_ = true;
      child_.signal(SIGTERM);
      give_up("halted");
    }
  }

  bool write_frame() {
    if (!write_some(child_.input().get(), head_left_)) return false;
    return !head_left_.empty() || write_some(child_.input().get(), payload_);
  }

  bool read_frame() {
    const size_t wanted =
        result_.size() < kHead ? kHead : kHead + std::min<uint64_t>(answer_size(), task_.max_result);
    if (result_.size() >= wanted) return true;
    return read_some(child_.output().get(), result_, wanted - result_.size()) != ReadEnd::kClosed;
  }

  // It has this long to end by itself: how it ends says more than what was noticed here.
  void give_up(const std::string& why) {
    if (!trouble_.empty()) return;
    trouble_ = why;
    kill_at_ = later(Clock::now(), kKillAfter);
  }

  Child& child_;
  const Task& task_;
  const StopWake& wake_;
  std::array<char, kHead> head_{};
  std::string_view head_left_, payload_;
  std::string result_, trouble_;
  bool halted_ = false;
  Time kill_at_ = kNever;
};

}  // namespace

void Persistent::prepare(uint32_t worker) {
  // If it fails, the first copy finds out and says so.
  Running& running = commands_[worker];
  if (running.child.start({.line = command_, .environment = {}, .takes_stderr = false}) !=
      Child::Started::kYes)
    died(running);
}

void Persistent::done(uint32_t worker) {
  Running& running = commands_[worker];
  if (running.child.alive()) running.child.stop();
}

void Persistent::died(Running& running) {
  const uint32_t doublings = std::min(running.deaths++, 10U);
  const Duration pause = std::min<Duration>(kLongestRestartPause, kFirstRestartPause * (1U << doublings));
  running.restart_at = later(Clock::now(), pause);
}

// Waits for the end of the pause, the copy's deadline or its halt, whichever comes first.
void Persistent::start(Running& running, const Task& task, const StopWake& wake) {
  for (Time now = Clock::now(); now < running.restart_at; now = Clock::now()) {
    if (now >= task.deadline) throw ExpiredBeforeStart{};
    pollfd stop{wake.descriptor(), POLLIN, 0};
    if (::poll(&stop, 1, ms_until(std::min(running.restart_at, task.deadline))) > 0)
      throw std::runtime_error("halted while the command was being restarted");
  }
  const Child::Command command{
      .line = command_, .environment = {}, .start_before = task.deadline, .takes_stderr = false};
  switch (running.child.start(command)) {
    case Child::Started::kExpired:
      throw ExpiredBeforeStart{};
    case Child::Started::kFailed:
      died(running);
      throw std::runtime_error(running.child.error());
    case Child::Started::kYes:
      break;
  }
}

Payload Persistent::run(const Task& task) {
  Running& running = commands_[task.worker];
  const StopWake wake(task.stop_token);
  if (running.child.alive()) {
    // It died while idle, or says what nobody asked for and would be taken for the next copy's result.
    pollfd output{running.child.output().get(), POLLIN, 0};
    if (running.child.ended() || ::poll(&output, 1, 0) > 0) {
      running.child.reap();
      died(running);
    }
  }
  if (!running.child.alive()) start(running, task, wake);

  Exchange exchange(running.child, task, wake);
  if (Clock::now() >= task.deadline) throw ExpiredBeforeStart{};
  const std::string trouble = exchange.run();
  if (trouble.empty() && !exchange.halted()) {
    running.deaths = 0;
    return exchange.result();
  }

  const bool by_itself = running.child.ended();
  const std::string end = describe_end(running.child.reap());
  if (exchange.halted()) {
    prepare(task.worker);
    if (trouble.empty()) return exchange.result();
    throw std::runtime_error("halted; the command " + end);
  }
  died(running);
  if (by_itself) throw std::runtime_error("the command " + end + " while it held this copy");
  throw std::runtime_error(trouble + ": the command was killed");
}

Service make_persistent(std::string name, std::shared_ptr<Persistent> persistent) {
  return {.name = std::move(name), .handler = [persistent = std::move(persistent)](const Task& task) {
            return persistent->run(task);
          }};
}

}  // namespace redoubt::replica
