// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF. For names and texts
// that come from outside and go to people, to JSON or to labels of metrics.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redoubt {

// Bytes of the character that `text` begins with, or 0 if it begins with none. `text` is not empty.
size_t utf8_length(std::string_view text);

// Whether all of it is characters; an empty text is.
bool is_utf8(std::string_view text);

// The text's begin, at most `most` bytes, cut between characters; bytes that are no UTF-8 become question
// marks.
std::string readable(std::string_view text, size_t most);

}  // namespace redoubt
