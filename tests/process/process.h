// Process: a program under test, running. Its output goes to files, which are read while it runs; it is ended
// by its process id, at the latest with this object, and by the kernel if the test itself dies. To be started
// from the main thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace redoubt::test {

using Nanoseconds = std::chrono::nanoseconds;
using Texts = std::vector<std::string>;

class Process {
 public:
  static constexpr Nanoseconds kLimit = std::chrono::seconds(10);

  // What it prints goes to LOG.out and LOG.err. The environment is ours without REDOUBT_ variables.
  Process(Texts command, const std::string& log, const std::string& input = "/dev/null");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void signal(int number) const;
  // SIGKILL, and waits for the end.
  void kill();
  // The exit status, or -N if signal N ended it; nothing if it still runs after `limit`.
  std::optional<int> wait(Nanoseconds limit = kLimit);

  std::string out() const;
  std::string err() const;
  // The objects on its stdout so far, one a line, each as the texts of its fields.
  using Fields = std::map<std::string, std::string>;
  std::vector<Fields> events() const;
  // The first event of this name, once it is there; empty if it never comes.
  Fields event(const std::string& name, Nanoseconds limit = kLimit);

  // Resident memory in bytes.
  double resident() const;
  // Open descriptors.
  int descriptors() const;

 private:
  const std::string log_;
  pid_t pid_ = -1;
  std::optional<int> ended_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace redoubt::test
