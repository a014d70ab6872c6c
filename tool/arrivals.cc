// Times of sending; see arrivals.h.
#include "tool/arrivals.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "core/duration_text.h"

namespace redoubt::tool {
namespace {

constexpr uint64_t kMostInABatch = 100'000;

Result<ArrivalShape> parse_batch(std::string_view text) {
  const std::string_view number = text.substr(6, text.size() - 7);
  ArrivalShape shape{.kind = ArrivalShape::Kind::kBatch};
  const auto [end, error] = std::from_chars(number.begin(), number.end(), shape.batch);
  if (error != std::errc() || end != number.end() || shape.batch == 0 || shape.batch > kMostInABatch)
    return Error{"'" + std::string(text) + "': a batch has from 1 to " + std::to_string(kMostInABatch) +
                 " requests: write batch(10)"};
  return shape;
}

Result<ArrivalShape> read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{"cannot read the trace '" + path + "'"};
  const std::string text(std::istreambuf_iterator<char>(file), {});
  Result<std::vector<Duration>> times = parse_trace(text);
  if (!times) return Error{path + ": " + times.error()};
  return ArrivalShape{.kind = ArrivalShape::Kind::kTrace,
                      .trace = std::make_shared<const std::vector<Duration>>(std::move(*times))};
}

}  // namespace

Result<ArrivalShape> parse_arrivals(std::string_view text) {
  if (text == "poisson") return ArrivalShape{.kind = ArrivalShape::Kind::kPoisson};
  if (text == "constant") return ArrivalShape{.kind = ArrivalShape::Kind::kConstant};
  if (text.starts_with("batch(") && text.ends_with(")")) return parse_batch(text);
  if (text.starts_with("trace:")) return read_trace(std::string(text.substr(6)));
  return Error{"'" + std::string(text) + "' is not one of poisson, constant, batch(N), trace:FILE"};
}

Result<std::vector<Duration>> parse_trace(std::string_view text) {
  std::vector<double> seconds;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view entry = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (!entry.empty() && (entry.back() == '\r' || entry.back() == ' ')) entry.remove_suffix(1);
    if (entry.empty() || entry.front() == '#') continue;
    double time = 0;
    const auto [rest, error] = std::from_chars(entry.begin(), entry.end(), time);
    if (error != std::errc() || rest != entry.end())
      return Error{"line " + std::to_string(line) + ": '" + std::string(entry) +
                   "' is not a time in seconds"};
    if (!seconds.empty() && time < seconds.back())
      return Error{"line " + std::to_string(line) + ": a time before the line above: sort them"};
    seconds.push_back(time);
  }
  if (seconds.empty()) return Error{"no time in it: write one in seconds a line"};
  std::vector<Duration> times;
  times.reserve(seconds.size());
  for (const double time : seconds) times.push_back(duration_from_seconds(time - seconds.front()));
  return times;
}

Arrivals::Arrivals(ArrivalShape shape, double rate, uint64_t seed, uint64_t part, uint64_t parts)
    : shape_(std::move(shape)),
      interval_(static_cast<double>(shape_.batch) / rate),
      random_(seed),
      parts_(parts),
      count_(part) {
  // Several generators of constant arrivals must not send in step.
  at_ = interval_ * static_cast<double>(part) / static_cast<double>(parts);
}

std::optional<Duration> Arrivals::next() {
  using Kind = ArrivalShape::Kind;
  const uint64_t index = count_;
  switch (shape_.kind) {
    case Kind::kTrace:
      if (index >= shape_.trace->size()) return {};
      count_ += parts_;
      return (*shape_.trace)[index];
    case Kind::kConstant: {
      const Duration now = duration_from_seconds(at_);
      at_ += interval_;
      return now;
    }
    case Kind::kPoisson:
    case Kind::kBatch: {
      // The first of a batch draws the time for all of it.
      if (batch_left_ == 0) {
        at_ += random_.exponential(interval_);
        batch_left_ = shape_.batch;
      }
      --batch_left_;
      return duration_from_seconds(at_);
    }
  }
  return {};
}

}  // namespace redoubt::tool
