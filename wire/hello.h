// The first frame of a link: whether who dials has business here. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/utf8.h"
#include "wire/limits.h"
#include "wire/message.h"

namespace redoubt::wire {

// What to answer a caller that cannot be served, or nothing when all is well.
inline std::optional<Goodbye> judge(const Hello& hello, const std::string& cluster) {
  if (hello.version_min > kVersionMax || hello.version_max < kVersionMin)
    return Goodbye{CloseReason::kVersion, "you speak protocol " + std::to_string(hello.version_min) + " to " +
                                              std::to_string(hello.version_max) + ", this broker " +
                                              std::to_string(kVersionMin) + " to " +
                                              std::to_string(kVersionMax)};
  if (hello.cluster != cluster)
    return Goodbye{CloseReason::kCluster, "this is cluster '" + cluster + "', not '" + hello.cluster + "'"};
  if (hello.role != Role::kClient && hello.role != Role::kReplica && hello.role != Role::kBroker)
    return Goodbye{CloseReason::kRole,
                   std::string("a ") + name_of(hello.role) + " has no business on this port"};
  if (hello.name.empty() || hello.incarnation == 0)
    return Goodbye{CloseReason::kRole, "a hello must have a name and an incarnation"};
  if (!is_one_line(hello.name))
    return Goodbye{CloseReason::kRole, "a name must be UTF-8 without control characters"};
  return std::nullopt;
}

}  // namespace redoubt::wire
