// --exec-persistent: one long-lived command per worker. A copy is one frame on its stdin and one on its
// stdout: u32 length (little-endian), bytes. A command that dies fails the copy it held and is started again;
// one whose copy is halted is killed and started again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "replica/child.h"
#include "replica/handler.h"
#include "replica/workers.h"

namespace redoubt::replica {

class Persistent {
 public:
  Persistent(std::string command, uint32_t workers) : command_(std::move(command)), commands_(workers) {}

  // On the worker's thread: before its first copy, for each, and after its last. SIGPIPE has to be ignored.
  void prepare(uint32_t worker);
  Payload run(const Task& task);
  void done(uint32_t worker);

 private:
  struct Running {
    Child child;
    uint32_t deaths = 0;  // in a row, without a result between
    Time restart_at{};
  };

  void start(Running& running, const Task& task, const StopWake& wake);
  void died(Running& running);

  const std::string command_;
  std::vector<Running> commands_;  // each used by its worker's thread alone
};

Service make_persistent(std::string name, std::shared_ptr<Persistent> persistent);

}  // namespace redoubt::replica
