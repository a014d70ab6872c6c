// The line a person watches; see progress.h.
#include "tool/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace redoubt::tool {
namespace {
constexpr Duration kEvery = std::chrono::milliseconds(200);
constexpr size_t kBar = 30;
}  // namespace

Progress::Progress() : watched_(isatty(STDERR_FILENO) == 1) {}

void Progress::show(Time now, double share, uint64_t sent, uint64_t answered) {
  if (!watched_) return;
  if (shown_ != Time::min() && now - shown_ < kEvery) return;
  const double since = shown_ == Time::min() ? 0 : to_seconds(now - shown_);
  const double rate = since > 0 ? static_cast<double>(answered - answered_) / since : 0;
  share = std::clamp(share, 0.0, 1.0);
  std::string bar(static_cast<size_t>(share * kBar), '#');
  bar.resize(kBar, '.');
  std::fprintf(stderr, "\r[%s] %3.0f %%  %llu sent, %llu answered, %.0f/s \x1b[K", bar.c_str(), share * 100,
               static_cast<unsigned long long>(sent), static_cast<unsigned long long>(answered), rate);
  shown_ = now;
  answered_ = answered;
}

void Progress::finish() {
  if (watched_ && shown_ != Time::min()) std::fputs("\r\x1b[K", stderr);
}

}  // namespace redoubt::tool
