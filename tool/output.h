// What a command prints as its result. A full disk or a closed descriptor must not pass for success.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "core/result.h"

namespace redoubt::tool {

// To `file`, at once; or why not. `name`: what an error calls it.
inline Failure write_all(std::FILE* file, std::string_view bytes, const std::string& name) {
  // An empty view may have no bytes to point at.
  const size_t written = bytes.empty() ? 0 : std::fwrite(bytes.data(), 1, bytes.size(), file);
  if (written != bytes.size() || std::fflush(file) != 0)
    return Error{"cannot write '" + name + "': " + std::strerror(errno)};
  return {};
}

inline Failure print(std::string_view bytes) { return write_all(stdout, bytes, "-"); }

}  // namespace redoubt::tool
