// A handler may be executed more than once for one request (at least once); delivery to the application is
// exactly once.
//
// What users implement: services and their handlers, and serve(), which makes a program of them. Installed as
// <redoubt/replica.h>. Nothing of the broker or of the wire shows here.
//
//   int main(int argc, char** argv) {
//     return redoubt::serve(argc, argv, {{"decode", [](const redoubt::Task& task) {
//       return decode(task.payload, task.stop_token);  // std::string, std::vector<std::byte> or
//       redoubt::Payload
//     }}});
//   }
#pragma once

#include <redoubt/payload.h>
#include <redoubt/time.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace redoubt {

// One execution of a request at a service. Good for the time of the call.
struct Task {
  std::string_view service;
  Payload payload;             // converts to std::string_view
  std::stop_token stop_token;  // asked to stop: nobody needs the result any more; fail or throw soon
  Time deadline = kNever;      // of the request, on this process's steady clock
  uint64_t client = 0;         // client and seq name the request: the same for every copy and every attempt,
  uint64_t seq = 0;            // so a handler with side effects can recognise one that it has seen
  uint32_t level = 0;          // which level of the request this is, from 0
  uint32_t attempt = 0;        // how many copies of this level went out before this one
  uint32_t worker = 0;      // which of this replica's workers runs it, from 0: an index for what each keeps
  uint64_t max_result = 0;  // bytes; a longer result is a failure
};

// Returns the result. An exception is a failure of this copy, with the exception's text; it never ends the
// program. Called by several workers at once when there are several.
using Handler = std::function<Payload(const Task&)>;

struct Service {
  std::string name;
  Handler handler;
  // Runs between two reads of the network instead of on a worker's thread: only for what takes microseconds
  // and never blocks. It then cannot be asked to stop, and its task's worker is the number of workers.
  bool runs_inline = false;
};

// Runs a replica that offers these services until it is told to stop (SIGTERM, SIGINT): reads its flags from
// the command line, the environment and --config (see --help), and returns the exit code.
int serve(int argc, char** argv, std::vector<Service> services);

}  // namespace redoubt
