// Cluster: real daemons in a folder of their own, for one test: a broker, its replicas, and the `redoubt`
// program run against them. Everything listens on loopback at ports the system chooses, and everything is
// ended by process id with this object. The folder is kept when the test has failed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "process.h"

namespace redoubt::test {

// JSON or metrics, flat: `latency_us/p99`, `redoubt_copies_total{fate="won"}`.
using Numbers = std::map<std::string, double>;

struct Ended {
  int code = 0;  // -N: ended by signal N; kStillRunning: not ended in time
  std::string out, err;
  double seconds = 0;
  static constexpr int kStillRunning = -1000;
};

// One request of a bench, from its history.
struct Operation {
  double submitted = 0, deadline = 0, ended = 0;  // wall-clock seconds; `ended` is that of the first outcome
  int outcomes = 0;
  std::string outcome, text;
  bool running = false;
};
using History = std::map<std::string, Operation>;

class Cluster {
 public:
  // Where the broker listens; at port 0 the system chooses.
  explicit Cluster(std::string listen = "127.0.0.1:0");
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Starts the broker and waits until it is ready. Again, after its end: at the same port.
  Process& start_broker(const Texts& flags = {});
  // Starts a replica of the service and waits until it has registered.
  Process& start_replica(const std::string& service, const Texts& what);
  Process& broker() { return *broker_; }
  const std::string& address() const { return address_; }

  // The `redoubt` program: `call` and `bench` are given the broker's address.
  std::unique_ptr<Process> start(const Texts& arguments, const std::string& input = {});
  Ended run(const Texts& arguments, const std::string& input = {},
            Nanoseconds limit = std::chrono::seconds(30));
  Ended call(const Texts& arguments, const std::string& input = {});
  std::unique_ptr<Process> start_bench(const Texts& arguments);
  // What a bench printed at its end, which is waited for.
  Numbers result_of(Process& bench, Nanoseconds limit = std::chrono::seconds(40));
  Numbers bench(const Texts& arguments) { return result_of(*start_bench(arguments)); }
  // Any program, with its output in the folder.
  Process& start_program(const Texts& command);
  // A daemon with these flags that is expected to end by itself.
  Ended run_broker(const Texts& flags);
  Ended run_replica(const Texts& flags);

  // From the broker's admin port. Empty if it does not answer.
  std::string fetch(const std::string& path, int* status = nullptr) const;
  Numbers metrics() const;
  Numbers status() const;
  double metric(const std::string& name) const;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // The same for a shell's command line: the folder's name may have spaces.
  std::string shell_path(const std::string& name) const { return "'" + path(name) + "'"; }

 private:
  std::string next_log(const std::string& name);
  Ended finish(Process& process, Nanoseconds limit) const;

  std::string folder_;
  std::string address_, admin_;
  int processes_ = 0;
  std::unique_ptr<Process> broker_;
  std::vector<std::unique_ptr<Process>> others_;
};

// The full length of each experiment instead of a short one.
bool long_run();
// Prints a measured figure in a line, as release notes quote it.
void figure(const std::string& what, double value, const std::string& unit = "");

History read_history(const std::string& path);
double wall_now();

// Lost, duplicated and unexpected are 0 and `sent` is not.
void expect_clean(const Numbers& result);
// The same, and every request was answered in time.
void expect_all_answered(const Numbers& result);
// Every copy that was dispatched has ended in one way, soon.
void expect_copies_add_up(const Cluster& cluster);

// A free port of loopback below those the system gives out, for a daemon that is to return to its port.
int free_port();

}  // namespace redoubt::test
