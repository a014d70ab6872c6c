// The folder and the programs of one test; see stage.h.
#include "stage.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace redoubt::test {

using namespace std::chrono_literals;

namespace {

// Whatever lost its parent inside a test comes to us, and goes: children of a replica that was killed, say.
void end_orphans() {
  std::istringstream pids(read_file("/proc/self/task/" + std::to_string(::getpid()) + "/children"));
  for (pid_t pid = 0; pids >> pid;) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace

Texts joined(Texts first, const Texts& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Stage::Stage() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::filesystem::create_directories(REDOUBT_SCRATCH);
  std::string pattern =
      std::string(REDOUBT_SCRATCH "/") + test->test_suite_name() + "." + test->name() + ".XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  folder_ = pattern;
}

Stage::~Stage() {
  others_.clear();
  end_orphans();
  if (testing::Test::HasFailure() || std::uncaught_exceptions() > 0)
    std::fprintf(stderr, "what the processes said: %s\n", folder_.c_str());
  else
    std::filesystem::remove_all(folder_);
}

std::unique_ptr<Process> Stage::start_broker_with(const Texts& flags, const std::string& name) {
  auto broker = std::make_unique<Process>(joined({REDOUBT_BROKER}, flags), next_log(name));
  if (broker->event("ready").empty()) throw std::runtime_error("the broker did not start: " + broker->err());
  return broker;
}

Process& Stage::start_replica_at(const std::string& brokers, const std::string& service, const Texts& what) {
  others_.push_back(std::make_unique<Process>(
      joined({REDOUBT_REPLICA, "--brokers", brokers, "--service", service}, what), next_log(service)));
  if (others_.back()->event("ready").empty())
    throw std::runtime_error("the replica did not register: " + others_.back()->err());
  return *others_.back();
}

std::unique_ptr<Process> Stage::start(const Texts& arguments, const std::string& input) {
  const std::string log = next_log(arguments.at(0));
  write_file(log + ".in", input);
  return std::make_unique<Process>(joined({REDOUBT_TOOL}, arguments), log, log + ".in");
}

Ended Stage::run(const Texts& arguments, const std::string& input, Nanoseconds limit) {
  const auto process = start(arguments, input);
  return finish(*process, limit);
}

Ended Stage::finish(Process& process, Nanoseconds limit) const {
  const auto from = std::chrono::steady_clock::now();
  const int code = process.wait(limit).value_or(Ended::kStillRunning);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - from;
  return {code, process.out(), process.err(), seconds.count()};
}

Ended Stage::call(const Texts& arguments, const std::string& input) {
  return run(joined({"call", "--brokers", brokers_of_tools_}, arguments), input);
}

Ended Stage::status_table() { return run({"status", "--brokers", brokers_of_tools_}); }

std::unique_ptr<Process> Stage::start_bench(const Texts& arguments) {
  return start(joined({"bench", "--json", "--brokers", brokers_of_tools_}, arguments));
}

Numbers Stage::result_of(Process& bench, Nanoseconds limit) {
  const Ended ended = finish(bench, limit);
  auto numbers = parse_numbers(ended.out);
  if (!numbers)
    throw std::runtime_error("no result from the bench, exit " + std::to_string(ended.code) + ": " +
                             ended.err);
  (*numbers)["exit"] = ended.code;
  return *numbers;
}

Process& Stage::start_program(const Texts& command) {
  others_.push_back(std::make_unique<Process>(command, next_log("program")));
  return *others_.back();
}

Ended Stage::run_broker(const Texts& flags) {
  Process process(joined({REDOUBT_BROKER}, flags), next_log("broker"));
  return finish(process, 10s);
}

Ended Stage::run_replica(const Texts& flags) {
  Process process(joined({REDOUBT_REPLICA}, flags), next_log("replica"));
  return finish(process, 10s);
}

std::string Stage::next_log(const std::string& name) {
  return path(name + "-" + std::to_string(++processes_));
}

}  // namespace redoubt::test
