// What a person meant who mistyped a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redoubt {

// The known name that is closest in single-letter changes, or nothing if none is close.
std::string nearest(std::string_view typed, const std::vector<std::string>& known);

// `did you mean X?`, or a list of what is known if it is short, or what to look up.
std::string suggestion(std::string_view typed, const std::vector<std::string>& known,
                       std::string_view else_see);

}  // namespace redoubt
