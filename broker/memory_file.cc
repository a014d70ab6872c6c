// The file of votes; see memory_file.h.
#include "broker/memory_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/check.h"

namespace redoubt::broker {
namespace {

// Each slot is a sector of its own: a write to one cannot harm the other. Text, so that a person can read it.
constexpr size_t kSlot = 512;
constexpr size_t kSlots = 2;

uint64_t checksum(const std::string& text) {
  uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a
  for (const char byte : text) sum = (sum ^ static_cast<uint8_t>(byte)) * 0x100000001b3U;
  return sum;
}

struct Slot {
  uint64_t write = 0, group = 0;
  BrokerNumber self = kNoBroker;
  Memory memory;
};

std::string encode(const Slot& slot) {
  std::ostringstream out;
  const Memory& memory = slot.memory;
  out << "redoubt-memory 1 " << slot.write << ' ' << slot.group << ' ' << slot.self << ' '
      << (memory.blank ? 1 : 0) << ' ' << memory.promised.number << ' ' << memory.promised.broker << ' '
      << memory.set.epoch.number << ' ' << memory.set.epoch.broker << ' ' << memory.set.version << ' '
      << memory.set.members << ' ';
  std::string text = out.str();
  text += std::to_string(checksum(text)) + "\n";
  text.resize(kSlot, ' ');
  return text;
}

bool decode(const std::string& text, Slot& slot) {
  std::istringstream in(text);
  std::string magic;
  int version = 0, blank = 0;
  uint64_t sum = 0;
  Memory& memory = slot.memory;
  in >> magic >> version >> slot.write >> slot.group >> slot.self >> blank >> memory.promised.number >>
      memory.promised.broker >> memory.set.epoch.number >> memory.set.epoch.broker >> memory.set.version >>
      memory.set.members;
  if (!in || magic != "redoubt-memory" || version != 1) return false;
  const auto summed = static_cast<size_t>(in.tellg()) + 1;
  in >> sum;
  memory.blank = blank != 0;
  return in && summed <= text.size() && checksum(text.substr(0, summed)) == sum;
}

std::string reason() { return std::strerror(errno); }

// A new file is there after a power cut only if its folder has been written.
bool sync_folder(const std::string& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = handle >= 0 && ::fsync(handle) == 0;
  if (handle >= 0) ::close(handle);
  return done;
}

}  // namespace

MemoryFile::~MemoryFile() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  if (file_ >= 0) ::close(file_);
}

Result<Memory> MemoryFile::open(const std::string& folder, uint64_t group_hash, BrokerNumber self) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{"--data-dir " + folder + ": cannot make it: " + error.message()};
  path_ = folder + "/votes";
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) return Error{"--data-dir: cannot open " + path_ + ": " + reason()};
  struct stat kind {};
  if (::fstat(file_, &kind) != 0 || !S_ISREG(kind.st_mode))
    return Error{"--data-dir: " + path_ + " is not a file; remove it, or give another folder"};
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0)
    return Error{"--data-dir: " + path_ +
                 " is in use by another broker; give each broker a folder of its own"};
  const std::string parent = std::filesystem::absolute(folder).parent_path().string();
  if (!sync_folder(folder) || !sync_folder(parent))
    return Error{"--data-dir: cannot write " + folder + " to disk: " + reason()};
  group_hash_ = group_hash;
  self_ = self;
  Slot newest;
  size_t damaged = 0;
  for (size_t i = 0; i < kSlots; ++i) {
    std::string text(kSlot, ' ');
    const ssize_t size = ::pread(file_, text.data(), kSlot, static_cast<off_t>(i * kSlot));
    Slot slot;
    const bool good = size == static_cast<ssize_t>(kSlot) && decode(text, slot);
    if (good && slot.write > newest.write) newest = slot;
    // What a power cut has hit begins as ours, or with nothing; and it never hits both.
    const bool written = size > 0 && text[0] != '\0';
    if (!good && written) damaged += text[0] == 'r' ? 1 : kSlots;
  }
  writes_ = newest.write;
  if (newest.write == 0 && damaged >= kSlots)
    return Error{
        "--data-dir: " + path_ +
        " is damaged: remove it, and this broker joins without a vote until a manager has told it all"};
  if (newest.write == 0) return Memory{};
  if (newest.group != group_hash || newest.self != self)
    return Error{"--data-dir: " + path_ +
                 " was written for another --group or another place in it; give this broker "
                 "the list it had, or a new folder if the whole group is made anew"};
  return newest.memory;
}

void MemoryFile::start(std::function<void(uint64_t)> written) {
  written_ = std::move(written);
  thread_ = std::thread([this] { run(); });
}

void MemoryFile::write(uint64_t number, const Memory& memory) {
  const std::lock_guard lock(mutex_);
  CHECK(number > wanted_);
  wanted_ = number;
  memory_ = memory;
  changed_.notify_one();
}

void MemoryFile::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || wanted_ != done_; });
    if (stopping_) return;
    const uint64_t number = wanted_;
    const Memory memory = memory_;
    lock.unlock();
    put(memory);
    written_(number);
    lock.lock();
    done_ = number;
  }
}

void MemoryFile::put(const Memory& memory) {
  const std::string text = encode({++writes_, group_hash_, self_, memory});
  const auto at = static_cast<off_t>(writes_ % kSlots * kSlot);
  if (::pwrite(file_, text.data(), kSlot, at) != static_cast<ssize_t>(kSlot) || ::fdatasync(file_) != 0) {
    std::fprintf(stderr, "cannot write %s: %s; this broker ends, for it could forget its vote\n",
                 path_.c_str(), reason().c_str());
    std::abort();
  }
}

}  // namespace redoubt::broker
