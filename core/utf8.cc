// See utf8.h.
#include "core/utf8.h"

#include <cstdint>

namespace redoubt {

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const uint8_t second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return length;
}

namespace {

bool is_control(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;
}

std::string cleaned(std::string_view text, size_t most, bool without_control) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    std::string_view next = text.substr(0, length);
    if (length == 0 || (without_control && is_control(next))) next = "?";
    if (out.size() + next.size() > most) break;
    out += next;
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

}  // namespace

bool is_one_line(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0 || is_control(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string readable(std::string_view text, size_t most) { return cleaned(text, most, false); }
std::string one_line(std::string_view text, size_t most) { return cleaned(text, most, true); }

}  // namespace redoubt
