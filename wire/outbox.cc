// The write side of a link's memory; see outbox.h.
#include "wire/outbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace redoubt::wire {

std::unique_ptr<char[]> ChunkPool::take() {
  if (free_.empty()) return std::unique_ptr<char[]>(new char[kChunk]);
  auto chunk = std::move(free_.back());
  free_.pop_back();
  return chunk;
}

void ChunkPool::give_back(std::unique_ptr<char[]> chunk) {
  if (free_.size() < kMostKept) free_.push_back(std::move(chunk));
}

char* Outbox::append(size_t size) {
  bytes_ += size;
  if (front_ == segments_.size() || segments_.back().room < size) return append_segment(size);
  Segment& last = segments_.back();
  char* at = last.begin + last.size;
  last.size += size;
  last.room -= size;
  return at;
}

char* Outbox::append_segment(size_t size) {
  Segment segment;
  segment.size = size;
  if (size > ChunkPool::kChunk) {
    segment.shared = Payload::uninitialised(size);
    segment.begin = segment.shared.writable();
  } else {
    if (open_ >= front_ && open_ < segments_.size() && segments_[open_].room >= size) {
      // Behind a payload: the chunk before it has room left.
      Segment& before = segments_[open_];
      segment.chunk = std::move(before.chunk);
      segment.begin = before.begin + before.size;
      segment.room = std::exchange(before.room, 0) - size;
    } else {
      segment.chunk = pool_.take();
      segment.begin = segment.chunk.get();
      segment.room = ChunkPool::kChunk - size;
    }
    open_ = segments_.size();
  }
  return segments_.emplace_back(std::move(segment)).begin;
}

void Outbox::take_back(size_t size) {
  Segment& last = segments_.back();
  CHECK(size < last.size);
  last.size -= size;
  if (last.chunk) last.room += size;
  bytes_ -= size;
}

void Outbox::append(const Payload& payload) {
  if (payload.empty()) return;
  if (payload.size() < kCopyBelow) {
    std::memcpy(append(payload.size()), payload.data(), payload.size());
    return;
  }
  bytes_ += payload.size();
  Segment& segment = segments_.emplace_back();
  segment.shared = payload;
  segment.begin = segment.shared.writable();
  segment.size = payload.size();
}

size_t Outbox::gather(std::span<iovec> pieces) const {
  size_t used = 0;
  for (size_t i = front_; i < segments_.size() && used < pieces.size(); ++i)
    pieces[used++] = {segments_[i].begin, segments_[i].size};
  return used;
}

void Outbox::consume(size_t size) {
  CHECK(size <= bytes_);
  bytes_ -= size;
  while (size > 0) {
    Segment& first = segments_[front_];
    if (size < first.size) {
      first.begin += size;
      first.size -= size;
      return;
    }
    size -= first.size;
    drop_front();
  }
}

void Outbox::drop_front() {
  Segment& first = segments_[front_];
  if (first.chunk) pool_.give_back(std::move(first.chunk));
  first = Segment{};
  if (++front_ < segments_.size()) {
    // A link that never drains would otherwise keep every segment it ever had.
    if (front_ >= 64 && front_ * 2 >= segments_.size()) {
      segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(front_));
      open_ -= std::min(open_, front_);
      front_ = 0;
    }
    return;
  }
  segments_.clear();
  if (segments_.capacity() > 16) segments_.shrink_to_fit();
  front_ = open_ = 0;
}

void Outbox::clear() {
  while (front_ < segments_.size()) drop_front();
  bytes_ = 0;
}

}  // namespace redoubt::wire
