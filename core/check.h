// CHECK: a statement that only a bug can make false. It is on in every build: the process dies with the place
// and the statement, and a standby takes over. What a peer, a user or a file can cause is never CHECKed.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace redoubt {
[[noreturn]] inline void check_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: bug: this must hold: %s\n", file, line, what);
  std::abort();
}
}  // namespace redoubt

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::redoubt::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
