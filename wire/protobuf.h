// The protobuf wire format, as far as proto/ uses it: varints, 64-bit numbers and length-delimited fields,
// written and read in place. Written here because a broker's whole work on a request is less than generated
// code needs to build and destroy its objects; tests/protobuf_test.cc holds every message against code
// generated from proto/. Pure. Specification: https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace redoubt::wire {

static_assert(std::endian::native == std::endian::little,
              "fixed-width numbers are copied as they lie in memory");

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };

constexpr uint32_t tag_of(uint32_t field, WireType type) { return field << 3 | static_cast<uint32_t>(type); }

inline constexpr size_t kMaxVarint = 10;
inline constexpr size_t kMaxTag = 2;                       // field numbers below 2048
inline constexpr size_t kMaxField = kMaxTag + kMaxVarint;  // of a number; of bytes, besides the bytes

// Small magnitudes of either sign become small numbers (protobuf's sint64).
constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) { return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1))); }

// Writes fields behind one another into room that the caller has made large enough. A number that is zero and
// bytes that are empty are not written: absent means that.
class Writer {
 public:
  explicit Writer(char* at) : at_(at) {}
  char* at() const { return at_; }

  void number(uint32_t field, uint64_t value) {
    if (value == 0) return;
    raw(tag_of(field, WireType::kVarint));
    raw(value);
  }
  void flag(uint32_t field, bool value) { number(field, value ? 1 : 0); }
  void signed_number(uint32_t field, int64_t value) { number(field, zigzag(value)); }
  void fixed64(uint32_t field, uint64_t value) {
    if (value == 0) return;
    raw(tag_of(field, WireType::kFixed64));
    put(&value, sizeof value);
  }
  void bytes(uint32_t field, std::string_view value) {
    if (value.empty()) return;
    repeated_bytes(field, value);
  }
  // An item of a list is written though it be empty.
  void repeated_bytes(uint32_t field, std::string_view value) {
    raw(tag_of(field, WireType::kBytes));
    raw(value.size());
    put(value.data(), value.size());
  }

  // A message within the message: `body(writer)` writes its fields. Most are short, so room for a length of
  // one byte is left, and the body moved in the rare case that it takes more.
  template <class Body>
  void message(uint32_t field, Body body) {
    raw(tag_of(field, WireType::kBytes));
    char* const length_at = at_++;
    body(*this);
    close(length_at);
  }

  void raw(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  void raw_fixed64(uint64_t value) { put(&value, sizeof value); }

 private:
  void put(const void* from, size_t size) {
    std::memcpy(at_, from, size);
    at_ += size;
  }
  void close(char* length_at) {
    const auto length = static_cast<size_t>(at_ - length_at - 1);
    if (length < 0x80) {
      *length_at = static_cast<char>(length);
      return;
    }
    const size_t width = (static_cast<size_t>(std::bit_width(length)) + 6) / 7;
    std::memmove(length_at + width, length_at + 1, length);
    at_ = length_at;
    raw(length);
    at_ += length;
  }

  char* at_;
};

// Reads fields until the bytes end or make no sense; ok() then says which.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // The next field's tag_of(), 0 at the end or when the bytes are broken.
  uint32_t next() {
    if (at_ == end_) return 0;
    const uint64_t tag = number();
    if (tag >= (uint64_t{1} << 32) || (tag >> 3) == 0) ok_ = false;
    return ok_ ? static_cast<uint32_t>(tag) : 0;
  }

  uint64_t number() {
    // Most numbers, and all tags of fields below 16, have one byte.
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) [[likely]]
      return static_cast<uint8_t>(*at_++);
    return long_number();
  }
  uint64_t long_number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && at_ != end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      if (shift == 63 && byte > 1) break;  // more than 64 bits
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return broken();
  }
  uint32_t number32() {
    const uint64_t value = number();
    return value <= ~uint32_t{0} ? static_cast<uint32_t>(value) : static_cast<uint32_t>(broken());
  }
  bool flag() { return number() != 0; }
  int64_t signed_number() { return unzigzag(number()); }
  uint64_t fixed64() {
    uint64_t value = 0;
    if (end_ - at_ < static_cast<std::ptrdiff_t>(sizeof value)) return broken();
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view bytes() {
    const uint64_t size = number();
    if (!ok_ || size > static_cast<uint64_t>(end_ - at_)) {
      broken();
      return {};
    }
    const std::string_view value(at_, static_cast<size_t>(size));
    at_ += size;
    return value;
  }

  bool at_end() const { return at_ == end_; }
  bool ok() const { return ok_; }

 private:
  uint64_t broken() {
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace redoubt::wire
