// The commands of the `redoubt` program: each declares its flags and runs. One file a command.
#pragma once

#include <memory>

#include "options/options.h"

namespace redoubt::tool {

// Exit codes: a contract.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitRefused = 3;
inline constexpr int kExitExpired = 4;
inline constexpr int kExitNoBroker = 5;
inline constexpr int kExitInterrupted = 130;

class Command {
 public:
  virtual ~Command() = default;
  virtual bool chosen() const = 0;
  // Returns the exit code.
  virtual int run() = 0;
};

std::unique_ptr<Command> make_bench(Options& program);
std::unique_ptr<Command> make_call(Options& program);
std::unique_ptr<Command> make_model(Options& program);
std::unique_ptr<Command> make_status(Options& program);

}  // namespace redoubt::tool
