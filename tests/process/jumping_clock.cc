// Preloaded into programs under test: their wall clock jumps by an hour, forth and back, five times a second.
// The steady clock stays as it is.
#include <dlfcn.h>
#include <sys/time.h>

#include <ctime>

namespace {

constexpr long kJumpMs = 100;
constexpr time_t kHour = 3600;

int real_clock(clockid_t clock, timespec* time) {
  using Function = int (*)(clockid_t, timespec*);
  static const auto function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  return function(clock, time);
}

time_t jump() {
  timespec steady{};
  real_clock(CLOCK_MONOTONIC, &steady);
  const long ms = steady.tv_sec * 1000 + steady.tv_nsec / 1'000'000;
  return ms / kJumpMs % 2 == 0 ? kHour : -kHour;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) {
  const int error = real_clock(clock, time);
  if (error == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += jump();
  return error;
}

int gettimeofday(timeval* time, void*) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* to) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
