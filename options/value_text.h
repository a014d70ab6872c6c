// How each type a flag can have is read, written and named in the help. Texts come from the command line, the
// environment or a file alike; where they come from is not known here.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.h"
#include "core/distribution.h"

namespace redoubt {

// The smallest and the largest value a flag takes.
template <class T>
struct Range {
  T min, max;
};

// What a flag's variable holds one of: T of an optional or a vector, else the type itself.
template <class T>
struct ScalarOf {
  using Type = T;
};
template <class T>
struct ScalarOf<std::optional<T>> {
  using Type = T;
};
template <class T>
struct ScalarOf<std::vector<T>> {
  using Type = T;
};
template <class T>
using Scalar = typename ScalarOf<T>::Type;

template <class T>
struct ValueText;

template <>
struct ValueText<std::string> {
  static constexpr std::string_view kShape = "TEXT";
  static Result<std::string> parse(std::string_view text) { return std::string(text); }
  static std::string format(const std::string& value) { return value; }
};

template <>
struct ValueText<bool> {
  static constexpr std::string_view kShape = "on|off";
  static Result<bool> parse(std::string_view text) {
    if (text == "on" || text == "true" || text == "yes" || text == "1") return true;
    if (text == "off" || text == "false" || text == "no" || text == "0") return false;
    return Error{"'" + std::string(text) +
                 "' is neither on nor off: write one of the two (true and false do as well)"};
  }
  static std::string format(bool value) { return value ? "on" : "off"; }
};

template <std::integral T>
struct ValueText<T> {
  static constexpr std::string_view kShape = "N";
  static Result<T> parse(std::string_view text) {
    T value = 0;
    const char* end = text.data() + text.size();
    auto [rest, problem] = std::from_chars(text.data(), end, value);
    if (problem == std::errc::result_out_of_range) return Error{"'" + std::string(text) + "' is too large"};
    if (problem == std::errc() && rest == end) return value;
    bool negative = std::unsigned_integral<T> && text.starts_with('-');
    return Error{"'" + std::string(text) + "' is not a whole number" + (negative ? " from 0 up" : "") +
                 ": write one such as 100"};
  }
  static std::string format(T value) { return std::to_string(value); }
};

template <>
struct ValueText<double> {
  static constexpr std::string_view kShape = "X";
  static Result<double> parse(std::string_view text);
  static std::string format(double value);
};

template <>
struct ValueText<Duration> {
  static constexpr std::string_view kShape = "DURATION";
  static Result<Duration> parse(std::string_view text) { return parse_duration(text); }
  static std::string format(Duration value) { return format_duration(value); }
};

template <>
struct ValueText<ByteSize> {
  static constexpr std::string_view kShape = "SIZE";
  static Result<ByteSize> parse(std::string_view text) { return parse_size(text); }
  static std::string format(ByteSize value) { return format_size(value); }
};

template <>
struct ValueText<Address> {
  static constexpr std::string_view kShape = "ADDR";
  static Result<Address> parse(std::string_view text) { return parse_address(text); }
  // An address that was never set has nothing to show.
  static std::string format(const Address& value) { return value.host.empty() ? "" : format_address(value); }
};

template <>
struct ValueText<Distribution> {
  static constexpr std::string_view kShape = "DIST";
  static Result<Distribution> parse(std::string_view text) { return Distribution::parse(text); }
  static std::string format(const Distribution& value) { return value.text(); }
};

// The items of a list: at commas, but not at those within parentheses, which a distribution has.
std::vector<std::string> split_list(std::string_view text);

}  // namespace redoubt
