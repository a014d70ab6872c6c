// Protobuf's wire format by hand, for the few messages that make up nearly all traffic (wire/hot.h). The
// writer makes what protobuf would make. The reader takes only what protobuf's own writer makes, with fields
// in order and nothing unknown: whatever else arrives is for protobuf to judge. Private to the codec.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace redoubt::wire {

// Writes upward from `at`; the caller has made room for all of it.
class Writer {
 public:
  // A field costs at most this much beside a text's own bytes.
  static constexpr size_t kMostAField = 12;

  explicit Writer(char* at) : at_(at) {}

  char* at() const { return at_; }

  void varint(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  void number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void signed_number(uint32_t field, int64_t value) {
    number(field, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void fixed(uint32_t field, uint64_t value) {
    varint(field << 3 | 1);
    std::memcpy(at_, &value, 8);
    at_ += 8;
  }
  void text(uint32_t field, std::string_view bytes) {
    varint(field << 3 | 2);
    varint(bytes.size());
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }

  // A message inside: what is written between begin() and end(). Most have a length of one byte; a longer one
  // is moved up.
  char* begin(uint32_t field) {
    varint(field << 3 | 2);
    return ++at_;
  }
  void end(char* content) {
    const auto size = static_cast<size_t>(at_ - content);
    if (size >= 0x80) {
      size_t more = 1;
      for (size_t rest = size >> 14; rest != 0; rest >>= 7) ++more;
      std::memmove(content + more, content, size);
    }
    at_ = content - 1;
    varint(size);
    at_ += size;
  }

 private:
  char* at_;
};

// Reads one message's fields: while (in.next()) switch (in.tag()). Anything unusual makes ok() false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  // Goes to the next field. Each must come later in the message's order than the one before, and
  // have a number below 16.
  bool next() {
    if (at_ == end_) return false;
    const auto tag = static_cast<uint8_t>(*at_++);
    if (tag <= tag_ || tag >= 0x80) return fail();
    tag_ = tag;
    return true;
  }
  uint32_t tag() const { return tag_; }
  bool ok() const { return ok_; }
  bool at_end() const { return at_ == end_; }
  bool fail() {
    ok_ = false;
    at_ = end_;
    return false;
  }
  // The field may come again.
  void repeats() { --tag_; }

  uint64_t number() { return varint(); }
  uint32_t number32() {
    const uint64_t value = varint();
    if (value > std::numeric_limits<uint32_t>::max()) fail();
    return static_cast<uint32_t>(value);
  }
  int64_t signed_number() {
    const uint64_t value = varint();
    return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  bool flag() {
    const uint64_t value = varint();
    if (value > 1) fail();
    return value == 1;
  }
  template <class Enum>
  Enum one_of(Enum last) {
    const uint64_t value = varint();
    if (value <= static_cast<uint64_t>(last)) return static_cast<Enum>(value);
    fail();
    return Enum{};
  }
  uint64_t fixed() {
    if (end_ - at_ < 8) return fail();
    uint64_t value = 0;
    std::memcpy(&value, at_, 8);
    at_ += 8;
    return value;
  }
  std::string_view text() {
    const char* const begin = at_;
    const uint64_t size = varint();
    if (at_ - begin > 5 || size > static_cast<uint64_t>(end_ - at_)) {
      fail();
      return {};
    }
    const std::string_view bytes(at_, static_cast<size_t>(size));
    at_ += size;
    return bytes;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 63 && at_ != end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    if (at_ != end_ && *at_ == 1) {  // the tenth byte holds one bit
      ++at_;
      return value | uint64_t{1} << 63;
    }
    fail();
    return 0;
  }

  const char* at_;
  const char* const end_;
  uint32_t tag_ = 0;
  bool ok_ = true;
};

// What a Reader's tag() is for a field of that kind.
constexpr uint32_t number_tag(uint32_t field) { return field << 3; }
constexpr uint32_t fixed_tag(uint32_t field) { return field << 3 | 1; }
constexpr uint32_t bytes_tag(uint32_t field) { return field << 3 | 2; }

}  // namespace redoubt::wire
