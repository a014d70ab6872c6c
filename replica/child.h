// Child: a command that the shell runs as a process of its own group, with pipes. Nothing it starts outlives
// it here: what is left of its group is killed with it. A Child belongs to one thread, which has to live as
// long as the child.
#pragma once

#include <sys/types.h>

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.h"

namespace redoubt::replica {

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

// A descriptor that becomes readable when a stop is asked for, so that one poll() waits for that too.
class StopWake {
 public:
  explicit StopWake(const std::stop_token& stop);
  int descriptor() const { return event_.get(); }

 private:
  struct Ring {
    int descriptor;
    void operator()() const;
  };
  Descriptor event_;
  std::stop_callback<Ring> callback_;
};

class Child {
 public:
  struct Command {
    std::string line;                      // for /bin/sh -c
    std::vector<std::string> environment;  // KEY=value, beside the process's own
    Time start_before = kNever;  // the child itself looks at the clock, right before it becomes the command
    bool takes_stderr = true;    // through a pipe; else it shares this process's
  };
  enum class Started : uint8_t { kYes, kExpired, kFailed };

  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  // kFailed: error() says why.
  Started start(const Command& command);
  const std::string& error() const { return error_; }
  bool alive() const { return pid_ > 0; }

  // Our ends of its pipes, non-blocking; closing the first is its end of input.
  Descriptor& input() { return input_; }
  Descriptor& output() { return output_; }
  Descriptor& errors() { return errors_; }
  // Readable once it has ended.
  int end_descriptor() const { return end_.get(); }
  bool ended() const;

  // To its whole group.
  void signal(int number) const;
  // Kills what is left of the group and returns how the command ended, as waitpid() tells it. Closes the
  // pipes.
  int reap();
  // SIGTERM, and the time to follow it, before reap().
  int stop();

 private:
  pid_t pid_ = -1;
  Descriptor input_, output_, errors_, end_;
  std::string error_;
};

// "exited with status 3", "was killed by signal 9 (Killed)"
std::string describe_end(int wait_status);

// For a process that ends at once: no child and no part of its group is left behind.
void kill_all_children();

// What poll() takes to wait until then.
int ms_until(Time time);

enum class ReadEnd : uint8_t { kMore, kNothingNow, kClosed };
// Appends what can be read at once, up to `most` bytes.
ReadEnd read_some(int descriptor, std::string& out, size_t most);
// Writes what can be written at once and takes it off `bytes`. False if nobody reads any more.
bool write_some(int descriptor, std::string_view& bytes);

}  // namespace redoubt::replica
