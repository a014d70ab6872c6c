// Result<T>: a value, or the text that says why there is none (GCC 12 has no std::expected). The text is for
// a person: it names the thing that is wrong and the cure. It is not for what only a bug can cause; that is
// CHECK's.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/check.h"

namespace redoubt {

struct Error {
  std::string text;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return held_.index() == 0; }

  // The value: only when there is one.
  T& operator*() { return value_in(held_); }
  const T& operator*() const { return value_in(held_); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  // Why there is no value: only when there is none.
  const std::string& error() const {
    CHECK(held_.index() == 1);
    return std::get<1>(held_).text;
  }

 private:
  template <class Held>
  static auto& value_in(Held& held) {
    CHECK(held.index() == 0);
    return std::get<0>(held);
  }

  std::variant<T, Error> held_;
};

// Of what has no value to give: nothing when it worked.
using Failure = std::optional<Error>;

}  // namespace redoubt
