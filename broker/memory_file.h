// MemoryFile: what a broker of a group must not forget (its vote, the newest in-sync set), in a file of its
// --data-dir. Two slots take turns, so that a write that breaks off leaves the one before it. Writes happen
// on a thread of their own: a disk that is slow must not keep the loop from serving.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "broker/group/group.h"
#include "core/result.h"

namespace redoubt::broker {

class MemoryFile {
 public:
  MemoryFile() = default;
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Makes the folder if there is none, and keeps every other broker out of it while this object lives. The
  // answer is what was written last, blank if nothing was. An error names the file and the cure.
  Result<Memory> open(const std::string& folder, uint64_t group_hash, BrokerNumber self);

  // Writes in the order of the calls; `written(number)` is called from the file's thread when it and all
  // before it are on disk. Older ones that a newer one overtakes are not written. A disk that fails ends the
  // process: a broker that cannot remember its vote must not give one.
  void start(std::function<void(uint64_t number)> written);
  void write(uint64_t number, const Memory& memory);

 private:
  void run();
  void put(const Memory& memory);

  std::string path_;
  uint64_t group_hash_ = 0;
  BrokerNumber self_ = kNoBroker;
  int file_ = -1;
  uint64_t writes_ = 0;  // in the file
  std::function<void(uint64_t)> written_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  uint64_t wanted_ = 0, done_ = 0;
  Memory memory_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace redoubt::broker
