// A program under test; see process.h.
#include "process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "../poll.h"

namespace redoubt::test {
namespace {

Texts clean_environment() {
  Texts kept;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("REDOUBT_")) kept.emplace_back(*entry);
  return kept;
}

std::vector<char*> pointers(Texts& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become(const std::vector<char*>& command, const std::vector<char*>& environment,
                         pid_t parent, const std::array<const char*, 3>& files) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int i = 0; i < 3; ++i) {
    const int file =
        ::open(files[static_cast<size_t>(i)], i == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ::dup2(file, i) < 0) ::_exit(125);
    if (file > 2) ::close(file);
  }
  ::execve(command[0], command.data(), environment.data());
  ::_exit(127);
}

}  // namespace

Process::Process(Texts command, const std::string& log, const std::string& input) : log_(log) {
  Texts environment = clean_environment();
  const std::vector<char*> arguments = pointers(command), variables = pointers(environment);
  const std::string out = log + ".out", err = log + ".err";
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(arguments, variables, parent, {input.c_str(), out.c_str(), err.c_str()});
  if (pid_ < 0) throw std::runtime_error("cannot start " + command[0]);
}

Process::~Process() { kill(); }

bool Process::running() {
  if (ended_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return false;
}

void Process::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

void Process::kill() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  (void)wait();
}

std::optional<int> Process::wait(Nanoseconds limit) {
  (void)eventually([&] { return !running(); }, limit);
  return ended_;
}

std::string Process::out() const { return read_file(log_ + ".out"); }
std::string Process::err() const { return read_file(log_ + ".err"); }

std::vector<Process::Fields> Process::events() const {
  std::vector<Fields> events;
  std::istringstream lines(out());
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    Fields& fields = events.emplace_back();
    for (const auto& [key, value] : json.items())
      fields[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return events;
}

Process::Fields Process::event(const std::string& name, Nanoseconds limit) {
  Fields fields;
  const auto found = [&] {
    for (Fields& event : events()) {
      if (event["event"] != name) continue;
      fields = std::move(event);
      return true;
    }
    return false;
  };
  // Who has ended says nothing more.
  bool ended = false;
  (void)eventually([&] { return found() || std::exchange(ended, !running()); }, limit);
  return fields;
}

double Process::resident() const {
  std::istringstream lines(read_file("/proc/" + std::to_string(pid_) + "/status"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) * 1024;
  return 0;
}

int Process::descriptors() const {
  int count = 0;
  for ([[maybe_unused]] const auto& one :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd"))
    ++count;
  return count;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace redoubt::test
