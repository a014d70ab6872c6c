// Progress: one line on stderr that is written over and over while a person watches, and nothing otherwise.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace redoubt::tool {

class Progress {
 public:
  Progress();

  // `share`: of the work that is done, 0 to 1.
  void show(Time now, double share, uint64_t sent, uint64_t answered);
  // Leaves an empty line behind.
  void finish();

 private:
  const bool watched_;
  Time shown_ = Time::min();
  uint64_t answered_ = 0;
};

}  // namespace redoubt::tool
