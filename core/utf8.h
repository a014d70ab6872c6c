// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF. For names and texts
// that come from outside and go to people, to JSON or to labels of metrics.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redoubt {

// Bytes of the character that `text` begins with, or 0 if it begins with none. `text` is not empty.
size_t utf8_length(std::string_view text);

// The text's begin, at most `most` bytes, cut between characters; bytes that are no UTF-8 become question
// marks.
std::string readable(std::string_view text, size_t most);

// Whether it can be part of a line that people read: characters, and none of them a control character (C0,
// DELETE, C1), with which a stranger would begin a line of his own or command a terminal.
bool is_one_line(std::string_view text);

// As readable(); control characters become question marks as well.
std::string one_line(std::string_view text, size_t most);

}  // namespace redoubt
