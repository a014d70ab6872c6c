// Real daemons for one test; see cluster.h.
#include "cluster.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "../poll.h"
#include "socket.h"

namespace redoubt::test {

using namespace std::chrono_literals;

namespace {

using Json = nlohmann::json;

Texts joined(Texts first, const Texts& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Numbers flat(const Json& json) {
  Numbers numbers;
  const Json all = json.flatten();
  for (const auto& [key, value] : all.items())
    if (value.is_number()) numbers[key.substr(1)] = value.get<double>();
  return numbers;
}

// Whatever lost its parent inside a test comes to us, and goes: children of a replica that was killed, say.
void end_orphans() {
  std::istringstream pids(read_file("/proc/self/task/" + std::to_string(::getpid()) + "/children"));
  for (pid_t pid = 0; pids >> pid;) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace

Cluster::Cluster(std::string listen) : address_(std::move(listen)) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::filesystem::create_directories(REDOUBT_SCRATCH);
  std::string pattern =
      std::string(REDOUBT_SCRATCH "/") + test->test_suite_name() + "." + test->name() + ".XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  folder_ = pattern;
}

Cluster::~Cluster() {
  others_.clear();
  broker_.reset();
  end_orphans();
  if (testing::Test::HasFailure() || std::uncaught_exceptions() > 0)
    std::fprintf(stderr, "what the processes said: %s\n", folder_.c_str());
  else
    std::filesystem::remove_all(folder_);
}

Process& Cluster::start_broker(const Texts& flags) {
  broker_ = std::make_unique<Process>(
      joined({REDOUBT_BROKER, "--listen", address_, "--admin", "127.0.0.1:0"}, flags), next_log("broker"));
  auto ready = broker_->event("ready");
  if (ready.empty()) throw std::runtime_error("the broker did not start: " + broker_->err());
  address_ = ready["listen"];
  admin_ = ready["admin"];
  return *broker_;
}

Process& Cluster::start_replica(const std::string& service, const Texts& what) {
  others_.push_back(std::make_unique<Process>(
      joined({REDOUBT_REPLICA, "--brokers", address_, "--service", service}, what), next_log(service)));
  if (others_.back()->event("ready").empty())
    throw std::runtime_error("the replica did not register: " + others_.back()->err());
  return *others_.back();
}

std::unique_ptr<Process> Cluster::start(const Texts& arguments, const std::string& input) {
  const std::string log = next_log(arguments.at(0));
  write_file(log + ".in", input);
  return std::make_unique<Process>(joined({REDOUBT_TOOL}, arguments), log, log + ".in");
}

Ended Cluster::run(const Texts& arguments, const std::string& input, Nanoseconds limit) {
  const auto process = start(arguments, input);
  return finish(*process, limit);
}

Ended Cluster::finish(Process& process, Nanoseconds limit) const {
  const auto from = std::chrono::steady_clock::now();
  const int code = process.wait(limit).value_or(Ended::kStillRunning);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - from;
  return {code, process.out(), process.err(), seconds.count()};
}

Ended Cluster::call(const Texts& arguments, const std::string& input) {
  return run(joined({"call", "--brokers", address_}, arguments), input);
}

std::unique_ptr<Process> Cluster::start_bench(const Texts& arguments) {
  return start(joined({"bench", "--json", "--brokers", address_}, arguments));
}

Numbers Cluster::result_of(Process& bench, Nanoseconds limit) {
  const Ended ended = finish(bench, limit);
  const Json json = Json::parse(ended.out, nullptr, false);
  if (!json.is_object())
    throw std::runtime_error("no result from the bench, exit " + std::to_string(ended.code) + ": " +
                             ended.err);
  Numbers numbers = flat(json);
  numbers["exit"] = ended.code;
  return numbers;
}

Process& Cluster::start_program(const Texts& command) {
  others_.push_back(std::make_unique<Process>(command, next_log("program")));
  return *others_.back();
}

Ended Cluster::run_broker(const Texts& flags) {
  Process process(joined({REDOUBT_BROKER}, flags), next_log("broker"));
  return finish(process, 10s);
}

Ended Cluster::run_replica(const Texts& flags) {
  Process process(joined({REDOUBT_REPLICA}, flags), next_log("replica"));
  return finish(process, 10s);
}

std::string Cluster::fetch(const std::string& path, int* status) const {
  Socket socket(admin_);
  socket.send("GET " + path + " HTTP/1.0\r\nHost: test\r\nConnection: close\r\n\r\n");
  const std::string reply = socket.read_to_end(5s);
  const size_t body = reply.find("\r\n\r\n");
  if (body == std::string::npos) return {};
  if (status != nullptr) *status = std::stoi(reply.substr(reply.find(' ')));
  return reply.substr(body + 4);
}

Numbers Cluster::metrics() const {
  Numbers numbers;
  std::istringstream lines(fetch("/metrics"));
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    numbers[line.substr(0, space)] = std::stod(line.substr(space));
  }
  return numbers;
}

Numbers Cluster::status() const { return flat(Json::parse(fetch("/status"))); }

double Cluster::metric(const std::string& name) const {
  const Numbers all = metrics();
  const auto found = all.find(name);
  if (found == all.end()) throw std::runtime_error("no metric " + name);
  return found->second;
}

std::string Cluster::next_log(const std::string& name) {
  return path(name + "-" + std::to_string(++processes_));
}

bool long_run() {
  const char* wanted = std::getenv("REDOUBT_LONG");
  return wanted != nullptr && std::string(wanted) == "1";
}

void figure(const std::string& what, double value, const std::string& unit) {
  std::printf("figure: %s: %.6g%s%s\n", what.c_str(), value, unit.empty() ? "" : " ", unit.c_str());
}

History read_history(const std::string& path) {
  History history;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    Operation& operation = history[json.at("id").get<std::string>()];
    const double at = json.at("wall_us").get<double>() / 1e6;
    if (json.at("event") == "submit") {
      operation.submitted = at;
      operation.deadline = at + json.at("deadline_us").get<double>() / 1e6;
    } else if (++operation.outcomes == 1) {
      operation.ended = at;
      operation.outcome = json.at("outcome").get<std::string>();
      operation.text = json.at("text").get<std::string>();
      operation.running = json.at("running").get<bool>();
    }
  }
  return history;
}

double wall_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void expect_clean(const Numbers& result) {
  EXPECT_GT(result.at("sent"), 0);
  for (const char* name : {"lost", "duplicated", "unexpected"}) EXPECT_EQ(result.at(name), 0) << name;
}

void expect_all_answered(const Numbers& result) {
  expect_clean(result);
  EXPECT_EQ(result.at("ok") + result.at("late"), result.at("sent"));
  for (const char* name : {"expired", "refused", "failed"}) EXPECT_EQ(result.at(name), 0) << name;
}

void expect_copies_add_up(const Cluster& cluster) {
  EXPECT_TRUE(eventually([&] { return cluster.metric("redoubt_copies_outstanding") == 0; }));
  const Numbers metrics = cluster.metrics();
  double ended = 0;
  for (const char* fate : {"won", "halted_queued", "halted_running", "expired", "failed", "lost", "wasted"})
    ended += metrics.at(std::string("redoubt_copies_total{fate=\"") + fate + "\"}");
  EXPECT_EQ(ended, metrics.at("redoubt_copies_dispatched_total"));
  EXPECT_EQ(metrics.at("redoubt_executions_started_expired_total"), 0);
  EXPECT_EQ(metrics.at("redoubt_pending_requests"), 0);
  EXPECT_EQ(metrics.at("redoubt_queue_length"), 0);
}

int free_port() {
  for (int port = 20000 + ::getpid() % 10000; port < 32000; ++port) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = ::bind(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(probe);
    if (free) return port;
  }
  throw std::runtime_error("no free port");
}

}  // namespace redoubt::test
