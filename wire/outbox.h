// Outbox: the bytes a link still has to write, in order: frames encoded into chunks from a shared pool, and
// large payloads by reference. An idle outbox owns no memory. Not thread-safe; the pool must outlive it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/payload.h"

namespace redoubt::wire {

// Chunks that are used again: one pool a thread, so that links which write in turn share the same warm
// memory.
class ChunkPool {
 public:
  static constexpr size_t kChunk = 32 * 1024;

  std::unique_ptr<char[]> take();
  void give_back(std::unique_ptr<char[]> chunk);

 private:
  static constexpr size_t kMostKept = 64;
  std::vector<std::unique_ptr<char[]>> free_;
};

class Outbox {
 public:
  explicit Outbox(ChunkPool& pool) : pool_(pool) {}
  ~Outbox() { clear(); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Room for `size` bytes in one piece, already counted as written; the caller fills it before it does
  // anything else.
  char* append(size_t size);
  // The last `size` bytes of that room are not needed after all.
  void take_back(size_t size);
  // The payload's bytes follow: copied when they are few (cheaper than a segment of their own), else by
  // reference.
  void append(const Payload& payload);

  size_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }

  // What is next to write, as many pieces as fit into `pieces`; returns how many are used.
  size_t gather(std::span<iovec> pieces) const;
  // The first `size` bytes have been written.
  void consume(size_t size);
  void clear();

 private:
  // Its bytes are part of a payload or of a chunk. A chunk belongs to the last segment in it: those before it
  // are written earlier.
  struct Segment {
    char* begin = nullptr;
    size_t size = 0;
    Payload shared;
    std::unique_ptr<char[]> chunk;
    size_t room = 0;  // free bytes behind the end, in a chunk
  };
  static constexpr size_t kCopyBelow = 4096;

  char* append_segment(size_t size);
  void drop_front();

  ChunkPool& pool_;
  std::vector<Segment> segments_;
  size_t front_ = 0;
  size_t open_ = 0;  // the last segment in a chunk, if it is still there
  size_t bytes_ = 0;
};

}  // namespace redoubt::wire
