// A command for every copy; see exec.h.
#include "replica/exec.h"

#include <poll.h>

#include <array>
#include <csignal>
#include <stdexcept>

#include "replica/child.h"
#include "replica/limits.h"
#include "replica/workers.h"

namespace redoubt::replica {

namespace {

// One copy and its command.
class Execution {
 public:
  explicit Execution(const Task& task) : task_(task), wake_(task.stop_token), to_write_(task.payload) {}

  Payload run(const std::string& command) {
    switch (child_.start({.line = command, .environment = environment(), .start_before = task_.deadline})) {
      case Child::Started::kExpired:
        throw ExpiredBeforeStart{};
      case Child::Started::kFailed:
        throw std::runtime_error(child_.error());
      case Child::Started::kYes:
        break;
    }
    if (to_write_.empty()) child_.input().close();
    while (!child_.ended() && !too_large()) serve_once();
    // What it left in the pipes when it ended; what it started and left behind may hold them open.
    while (!too_large() && read_result() == ReadEnd::kMore) {
    }
    while (read_errors() == ReadEnd::kMore) {
    }
    return judge(child_.reap());
  }

 private:
  std::vector<std::string> environment() const {
    return {"REDOUBT_REQUEST=" + std::to_string(task_.client) + "-" + std::to_string(task_.seq),
            "REDOUBT_SERVICE=" + std::string(task_.service),
            "REDOUBT_ATTEMPT=" + std::to_string(task_.attempt),
            "REDOUBT_LEVEL=" + std::to_string(task_.level)};
  }

  bool too_large() const { return result_.size() > task_.max_result; }

  // Waits for whatever comes first, and does what can be done then. A closed pipe's descriptor is -1, which
  // poll() passes over.
  void serve_once() {
    std::array<pollfd, 5> waits{{{child_.input().get(), POLLOUT, 0},
                                 {child_.output().get(), POLLIN, 0},
                                 {child_.errors().get(), POLLIN, 0},
                                 {child_.end_descriptor(), POLLIN, 0},
                                 {halted_ ? -1 : wake_.descriptor(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), ms_until(kill_at_)) < 0) return;
    if (waits[0].revents && (!write_some(child_.input().get(), to_write_) || to_write_.empty()))
      child_.input().close();
    if (waits[1].revents && read_result() == ReadEnd::kClosed) child_.output().close();
    if (waits[2].revents && read_errors() == ReadEnd::kClosed) child_.errors().close();
    if (waits[4].revents) halt();
    if (Clock::now() >= kill_at_) {
      child_.signal(SIGKILL);
      kill_at_ = kNever;
    }
  }

  void halt() {
    halted_ = true;
    kill_at_ = later(Clock::now(), kKillAfter);
    child_.signal(SIGTERM);
  }

  ReadEnd read_result() {
    if (!child_.output()) return ReadEnd::kClosed;
    return read_some(child_.output().get(), result_, task_.max_result + 1 - result_.size());
  }

  ReadEnd read_errors() {
    if (!child_.errors()) return ReadEnd::kClosed;
    const ReadEnd end = read_some(child_.errors().get(), said_, kStderrKept * 16);
    if (said_.size() > kStderrKept) said_.erase(0, said_.size() - kStderrKept);
    return end;
  }

  Payload judge(int status) {
    if (too_large())
      throw std::runtime_error("result of more than " + std::to_string(task_.max_result) +
                               " bytes, which is the limit: the command was killed");
    // A command that was told to stop may well end with 0, and with half a result.
    if (halted_) throw std::runtime_error("halted; the command " + describe_end(status));
    if (status == 0) return Payload(result_);
    while (!said_.empty() && said_.back() == '\n') said_.pop_back();
    throw std::runtime_error("the command " + describe_end(status) + (said_.empty() ? "" : ": " + said_));
  }

  const Task& task_;
  StopWake wake_;
  Child child_;
  std::string_view to_write_;
  std::string result_, said_;
  bool halted_ = false;
  Time kill_at_ = kNever;
};

}  // namespace

Service make_exec(std::string name, std::string command) {
  return {.name = std::move(name), .handler = [command = std::move(command)](const Task& task) {
            return Execution(task).run(command);
          }};
}

}  // namespace redoubt::replica
