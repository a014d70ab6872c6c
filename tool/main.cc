// The `redoubt` program: finds the command and runs it.
#include <cstdio>
#include <vector>

#include "options/daemon.h"
#include "tool/commands.h"

int main(int argc, char** argv) {
  using namespace redoubt;
  open_standard_descriptors();
  ignore_sigpipe();
  Options program("redoubt", "Talks to a Redoubt cluster.");
  std::vector<std::unique_ptr<tool::Command>> commands;
  commands.push_back(tool::make_call(program));
  commands.push_back(tool::make_bench(program));
  commands.push_back(tool::make_status(program));
  commands.push_back(tool::make_model(program));
  const Parsed parsed = program.parse(argc, argv);
  if (!parsed.run) return parsed.finish();
  for (const auto& command : commands)
    if (command->chosen()) return command->run();
  return kExitUsage;
}
