// The ruling broker's status, as a table for people. Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace redoubt::tool {

// Shows what it knows of the JSON and skips what is missing: brokers of other versions are asked too.
Result<std::string> status_table(std::string_view json);

}  // namespace redoubt::tool
