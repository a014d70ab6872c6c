// The log, events on stdout, and what a process asks of the system once.
#include "options/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/utf8.h"

namespace redoubt {
namespace {

// Only a pipe or a terminal that is full is not writable at once.
bool writable_now(int descriptor) {
  pollfd waiting{descriptor, POLLOUT, 0};
  int ready = ::poll(&waiting, 1, 0);
  return ready > 0 && (waiting.revents & POLLOUT) != 0;
}

// True if every byte went out. A line is shorter than PIPE_BUF, so that a pipe that is ready takes all of it.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    if (!writable_now(descriptor)) return false;
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

using StderrSink = spdlog::sinks::stderr_color_sink_mt;

// A log that drops lines while nobody reads stderr, instead of waiting in the midst of a decision, and tells
// how many once somebody does. One line at a time, each shorter than what a pipe that is ready takes.
class DroppingSink final : public StderrSink {
 public:
  void log(const spdlog::details::log_msg& line) override {
    const std::lock_guard lock(mutex_);
    if (dropped_ > 0 && writable_now(STDERR_FILENO)) {
      const std::string text = std::to_string(dropped_) + " lines were dropped here: nobody read stderr";
      StderrSink::log({line.logger_name, spdlog::level::warn, text});
      dropped_ = 0;
    }
    if (dropped_ > 0 || !writable_now(STDERR_FILENO)) {
      ++dropped_;
      return;
    }
    spdlog::details::log_msg cut = line;
    // Much of it comes from peers: none of them begins a line of its own, or commands a terminal.
    const std::string text = one_line({line.payload.data(), line.payload.size()}, kLongestText);
    cut.payload = text;
    StderrSink::log(cut);
  }

 private:
  static constexpr size_t kLongestText = PIPE_BUF - 512;  // the rest is for time, level and name

  std::mutex mutex_;
  uint64_t dropped_ = 0;
};

}  // namespace

void add_daemon_flags(Options& options, DaemonFlags& flags) {
  options.takes_config();
  std::vector<std::pair<std::string, std::string>> levels;
  for (const char* level : {"trace", "debug", "info", "warn", "error", "off"})
    levels.emplace_back(level, level);
  options.add_choice("log-level", flags.log_level, std::move(levels), "how much is logged to stderr");
}

void start_daemon(const std::string& name, const DaemonFlags& flags) {
  open_standard_descriptors();
  log_to_stderr(name, flags.log_level);
  ignore_sigpipe();
  spdlog::debug("up to {} open descriptors", raise_descriptor_limit());
}

void log_to_stderr(const std::string& name, const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>(name, std::make_shared<DroppingSink>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%f %^%l%$ %n: %v");
  logger->set_level(spdlog::level::from_str(level));
  // A daemon may be killed at any moment: what was logged has to be out by then.
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void open_standard_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is given out: in this order, the one that is missing.
    if (::fcntl(descriptor, F_GETFD) < 0) CHECK(::open("/dev/null", O_RDWR) == descriptor);
  }
}

void ignore_sigpipe() { std::signal(SIGPIPE, SIG_IGN); }

uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return raised.rlim_cur;
    spdlog::warn("the limit of {} open descriptors cannot be raised: {}", limit.rlim_cur,
                 std::strerror(errno));
  }
  return limit.rlim_cur;
}

std::string event_line(std::string_view event, std::initializer_list<EventField> fields) {
  nlohmann::ordered_json line;
  line["event"] = event;
  for (const auto& [name, value] : fields) {
    std::visit([&line, key = std::string(name)](const auto& one) { line[key] = one; }, value);
  }
  // A name from outside may hold bytes that are no UTF-8: those are replaced, not thrown over.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool print_event(std::string_view event, std::initializer_list<EventField> fields) {
  return write_event(STDOUT_FILENO, event, fields);
}

bool print_line(std::string_view line) {
  const bool written = write_all(STDOUT_FILENO, line);
  if (!written) spdlog::warn("nobody takes the lines on stdout: one was dropped");
  return written;
}

bool write_event(int descriptor, std::string_view event, std::initializer_list<EventField> fields) {
  bool written = write_all(descriptor, event_line(event, fields));
  if (!written) spdlog::warn("nobody takes the event '{}' on stdout: dropped", event);
  return written;
}

}  // namespace redoubt
