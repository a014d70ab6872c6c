// Chaos: redoubt-chaos, running, with a route to each target; and its commands (lab/proxy/commands.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process.h"

namespace redoubt::test {

class Chaos {
 public:
  // Route N leads to target N. Listens at ports that stay its own while connects are refused.
  Chaos(const Texts& targets, const std::string& log);
  ~Chaos();
  Chaos(const Chaos&) = delete;
  Chaos& operator=(const Chaos&) = delete;

  // Where the route listens.
  const std::string& address(size_t route) const { return addresses_.at(route); }

  // Gives the command; what it answered. Throws if that is an error.
  Process::Fields command(const std::string& line);
  // `what` is a treatment: "drop", "delay 5ms", "pass"; `direction`: "forward", "backward", "both".
  void treat(size_t route, const std::string& direction, const std::string& what);

 private:
  Texts addresses_;
  int commands_ = -1;    // the end of a FIFO that is written to
  size_t answered_ = 1;  // lines on its stdout; the first says that it is ready
  std::unique_ptr<Process> process_;
};

}  // namespace redoubt::test
