// Payload: bytes that are received once and then only shared, by all copies of a request, its checkpoints and
// the reply. Cheap to copy (a counted reference); the bytes never change. Copies may be used from several
// threads at once; one Payload object may not. This header is installed as <redoubt/payload.h>.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redoubt {

// Blocks of so many bytes. One that was taken may be given back from any thread.
namespace payload_memory {
void* take(size_t bytes);
void give_back(void* block, size_t bytes) noexcept;
}  // namespace payload_memory

class Payload {
 public:
  Payload() = default;
  Payload(std::string_view bytes) : Payload(uninitialised(bytes.size())) {  // NOLINT: meant to convert
    if (!bytes.empty()) std::memcpy(writable(), bytes.data(), bytes.size());
  }
  Payload(const std::string& bytes) : Payload(std::string_view(bytes)) {}  // NOLINT: meant to convert
  Payload(const char* text) : Payload(std::string_view(text)) {}           // NOLINT: meant to convert
  Payload(const std::vector<std::byte>& bytes)                             // NOLINT: meant to convert
      : Payload(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())) {}

  Payload(const Payload& other) noexcept : block_(other.block_), data_(other.data_), size_(other.size_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Payload(Payload&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Payload& operator=(Payload other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Payload() {
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      payload_memory::give_back(block_, sizeof(Block) + block_->size);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const char* data() const { return data_; }
  std::string_view view() const { return {data_, size_}; }
  std::string str() const { return std::string(view()); }
  operator std::string_view() const { return view(); }  // NOLINT: meant to convert

  friend bool operator==(const Payload& a, const Payload& b) { return a.view() == b.view(); }

  // A part of these bytes that shares them, and keeps all of them alive.
  Payload slice(size_t offset, size_t length) const {
    Payload part = *this;
    part.data_ += offset;
    part.size_ = length;
    return part;
  }

  // Room for `size` bytes that the caller fills through writable() before anybody else sees the payload.
  static Payload uninitialised(size_t size) {
    Payload payload;
    if (size == 0) return payload;
    payload.block_ = new (payload_memory::take(sizeof(Block) + size)) Block{.size = size};
    payload.data_ = reinterpret_cast<char*>(payload.block_ + 1);
    payload.size_ = size;
    return payload;
  }
  char* writable() { return data_; }

  // How many Payloads share these bytes: for tests and memory accounts.
  uint32_t sharers() const { return block_ ? block_->references.load(std::memory_order_relaxed) : 0; }

 private:
  struct Block {
    std::atomic<uint32_t> references{1};
    size_t size = 0;  // of the bytes behind it
  };

  Block* block_ = nullptr;
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace redoubt
