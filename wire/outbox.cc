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

char* Outbox::reserve(size_t most) {
  if (front_ == segments_.size() || segments_.back().room < most) segments_.push_back(room_for(most));
  return segments_.back().begin + segments_.back().size;
}

Outbox::Segment Outbox::room_for(size_t most) {
  Segment segment;
  if (most > ChunkPool::kChunk) {
    segment.shared = Payload::uninitialised(most);
    segment.begin = segment.shared.writable();
    segment.room = most;
    return segment;
  }
  if (open_ >= front_ && open_ < segments_.size() && segments_[open_].room >= most) {
    // Behind a payload: the chunk before it has room left.
    Segment& before = segments_[open_];
    segment.chunk = std::move(before.chunk);
    segment.begin = before.begin + before.size;
    segment.room = std::exchange(before.room, 0);
  } else {
    segment.chunk = pool_.take();
    segment.begin = segment.chunk.get();
    segment.room = ChunkPool::kChunk;
  }
  open_ = segments_.size();
  return segment;
}

void Outbox::commit(size_t size) {
  Segment& last = segments_.back();
  CHECK(size <= last.room);
  last.size += size;
  last.room -= size;
  bytes_ += size;
}

void Outbox::append(const Payload& payload) {
  if (payload.empty()) return;
  if (payload.size() < kCopyBelow) {
    std::memcpy(reserve(payload.size()), payload.data(), payload.size());
    commit(payload.size());
    return;
  }
  bytes_ += payload.size();
  Segment& segment = segments_.emplace_back();
  segment.shared = payload;
  segment.begin = segment.shared.writable();
  segment.size = payload.size();
}

size_t Outbox::own_bytes() const {
  size_t own = 0;
  for (size_t i = front_; i < segments_.size(); ++i)
    own += segments_[i].size / std::max<uint32_t>(1, segments_[i].shared.sharers());
  return own;
}

void Outbox::end_frame() { ends_.push_back(written_ + bytes_); }

size_t Outbox::begun() const {
  if (written_ == last_end_) return 0;
  return next_end_ < ends_.size() ? ends_[next_end_] - written_ : bytes_;
}

size_t Outbox::gather(std::span<iovec> pieces, size_t most) const {
  size_t used = 0;
  for (size_t i = front_; i < segments_.size() && used < pieces.size() && most > 0; ++i) {
    pieces[used++] = {segments_[i].begin, std::min(most, segments_[i].size)};
    most -= std::min(most, segments_[i].size);
  }
  return used;
}

void Outbox::consume(size_t size) {
  CHECK(size <= bytes_);
  bytes_ -= size;
  written_ += size;
  while (next_end_ < ends_.size() && ends_[next_end_] <= written_) last_end_ = ends_[next_end_++];
  if (bytes_ == 0 || (next_end_ >= 64 && next_end_ * 2 >= ends_.size())) forget_ends();
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

// Those that have been written.
void Outbox::forget_ends() {
  if (bytes_ == 0) {
    written_ = last_end_ = 0;
    ends_.clear();
    if (ends_.capacity() > 1024) ends_.shrink_to_fit();
  } else {
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(next_end_));
  }
  next_end_ = 0;
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
  forget_ends();
}

}  // namespace redoubt::wire
