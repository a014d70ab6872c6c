// Texts that come from handlers and commands and go to people: any bytes in, short and valid UTF-8 out.
#pragma once

#include <string>
#include <string_view>

namespace redoubt::replica {

// The text's begin, at most `most` bytes, cut between characters; bytes that are no UTF-8 become question
// marks.
std::string readable(std::string_view text, size_t most);

}  // namespace redoubt::replica
