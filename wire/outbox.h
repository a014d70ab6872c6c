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

  // Room for `most` bytes in one piece. The caller fills it and tells commit() how many it used, before
  // anything else.
  char* reserve(size_t most);
  void commit(size_t size);
  // The payload's bytes follow: copied when they are few (cheaper than a segment of their own), else by
  // reference.
  void append(const Payload& payload);

  // What has been put in so far is whole frames.
  void end_frame();
  // Bytes that are left of a frame whose beginning has been written; 0 between two frames.
  size_t begun() const;

  size_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  // This outbox's part of the memory: a payload's bytes are divided among all who hold it. Walks all that
  // waits.
  size_t own_bytes() const;

  // What is next to write, as many pieces as fit into `pieces` and at most so many bytes; returns how many
  // pieces are used.
  size_t gather(std::span<iovec> pieces, size_t most = ~size_t{0}) const;
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
    size_t room = 0;  // free bytes behind the end
  };
  static constexpr size_t kCopyBelow = 4096;

  Segment room_for(size_t most);
  void drop_front();
  void forget_ends();

  ChunkPool& pool_;
  std::vector<Segment> segments_;
  size_t front_ = 0;
  size_t open_ = 0;  // the last segment in a chunk, if it is still there
  size_t bytes_ = 0;
  // Where frames end, counted in bytes since the outbox was empty last.
  std::vector<size_t> ends_;
  size_t next_end_ = 0;  // in ends_: the first that has not been written
  size_t written_ = 0, last_end_ = 0;
};

}  // namespace redoubt::wire
