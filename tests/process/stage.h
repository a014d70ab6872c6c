// Stage: the folder and the programs of one test: replicas, the `redoubt` program, whatever else it starts.
// Which brokers they are given is said by what stands on it: Cluster (one broker) or Group (several). All is
// ended by process id with this object. The folder is kept when the test has failed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process.h"
#include "results.h"

namespace redoubt::test {

struct Ended {
  int code = 0;  // -N: ended by signal N; kStillRunning: not ended in time
  std::string out, err;
  double seconds = 0;
  static constexpr int kStillRunning = -1000;
};

class Stage {
 public:
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Starts a replica of the service and waits until it has registered.
  Process& start_replica(const std::string& service, const Texts& what) {
    return start_replica_at(brokers_of_replicas_, service, what);
  }
  // The same with other brokers than the rest: for one that has a way of its own.
  Process& start_replica_at(const std::string& brokers, const std::string& service, const Texts& what);

  // The `redoubt` program: `call` and `bench` are given the brokers' addresses.
  std::unique_ptr<Process> start(const Texts& arguments, const std::string& input = {});
  Ended run(const Texts& arguments, const std::string& input = {},
            Nanoseconds limit = std::chrono::seconds(30));
  Ended call(const Texts& arguments, const std::string& input = {});
  // What an operator is told.
  Ended status_table();
  std::unique_ptr<Process> start_bench(const Texts& arguments);
  // What a bench printed at its end, which is waited for.
  Numbers result_of(Process& bench, Nanoseconds limit = std::chrono::seconds(40));
  Numbers bench(const Texts& arguments) { return result_of(*start_bench(arguments)); }
  // Any program, with its output in the folder.
  Process& start_program(const Texts& command);
  // A daemon with these flags that is expected to end by itself.
  Ended run_broker(const Texts& flags);
  Ended run_replica(const Texts& flags);

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // The same for a shell's command line: the folder's name may have spaces.
  std::string shell_path(const std::string& name) const { return "'" + path(name) + "'"; }

 protected:
  Stage();
  ~Stage();

  // What --brokers says from now on.
  void set_brokers(const std::string& of_tools, const std::string& of_replicas) {
    brokers_of_tools_ = of_tools;
    brokers_of_replicas_ = of_replicas;
  }
  // Starts a broker and waits until it is ready.
  std::unique_ptr<Process> start_broker_with(const Texts& flags, const std::string& name);
  std::string next_log(const std::string& name);

 private:
  Ended finish(Process& process, Nanoseconds limit) const;

  std::string folder_;
  std::string brokers_of_tools_, brokers_of_replicas_;
  int processes_ = 0;
  std::vector<std::unique_ptr<Process>> others_;
};

// One list of arguments behind the other.
Texts joined(Texts first, const Texts& second);

}  // namespace redoubt::test
