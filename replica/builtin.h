// Services for tests and experiments: echo, and ones that take a time drawn from a distribution, fail now and
// then, or are slower than they should be. All give their payload back.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/distribution.h"
#include "core/result.h"
#include "replica/handler.h"

namespace redoubt::replica {

struct Builtin {
  enum class Kind : uint8_t {
    kEcho,
    kSleep,  // occupies a worker
    kSpin,   // burns that much of a CPU's time
  };
  Kind kind = Kind::kEcho;
  Distribution time;
  double fail = 0;  // share of copies that end with a failure, after their time
  double slow = 1;  // their time is multiplied by this
};

// `echo`, `sleep:DIST`, `spin:DIST`
Result<Builtin> parse_builtin(std::string_view text);

// Each worker draws from a sequence of its own that follows from the seed.
Service make_builtin(std::string name, const Builtin& builtin, uint32_t workers, uint64_t seed);

}  // namespace redoubt::replica
