// Arrivals: at which times an open-loop load sends, whatever becomes of what it sent. Pure and seeded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "core/time.h"

namespace redoubt::tool {

// `poisson`, `constant`, `batch(N)` (N at a time, batches at exponential intervals), `trace:FILE`.
struct ArrivalShape {
  enum class Kind : uint8_t { kPoisson, kConstant, kBatch, kTrace } kind = Kind::kPoisson;
  uint64_t batch = 1;
  // Of a trace: ascending, from the first one's time on.
  std::shared_ptr<const std::vector<Duration>> trace{};
};
// Reads the trace's file too.
Result<ArrivalShape> parse_arrivals(std::string_view text);
// One time in seconds a line, ascending; empty lines and lines that begin with # are skipped.
Result<std::vector<Duration>> parse_trace(std::string_view text);

class Arrivals {
 public:
  // `rate`: requests per second. A trace has its own times; of `parts` generators each takes every parts-th
  // of them, the first beginning at `part`.
  Arrivals(ArrivalShape shape, double rate, uint64_t seed, uint64_t part = 0, uint64_t parts = 1);

  // The next time, from the start of the load on; never before the last one. Nothing when a trace has ended.
  std::optional<Duration> next();

 private:
  const ArrivalShape shape_;
  const double interval_;  // mean seconds between two sendings
  Random random_;
  const uint64_t parts_;
  uint64_t count_;  // of a trace: the next one
  uint64_t batch_left_ = 0;
  double at_ = 0;
};

}  // namespace redoubt::tool
