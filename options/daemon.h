// What the main of every daemon shares: the log, events on stdout, and what a process asks of the system
// once. Not a base class and no event loop: those are the shells' own. spdlog and nlohmann-json stay out of
// this header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "options/options.h"

namespace redoubt {

struct DaemonFlags {
  std::string log_level = "info";
};

// --config and --log-level.
void add_daemon_flags(Options& options, DaemonFlags& flags);

// Before anything else in main, and before any thread: the log goes to stderr under this name (spdlog's
// default logger), a write to a closed pipe or socket is an error instead of a signal, and the limit of open
// descriptors is raised as far as it goes.
void start_daemon(const std::string& name, const DaemonFlags& flags);

// The parts of start_daemon(). A standard descriptor that is closed would be taken by the first socket, and
// events and log lines would go to a peer: the null device takes its place.
void open_standard_descriptors();
// A line that stderr cannot take at once is dropped, and later counted. The level is one of trace, debug,
// info, warn, error, off.
void log_to_stderr(const std::string& name, const std::string& level);
void ignore_sigpipe();
// The limit of open descriptors that now holds.
uint64_t raise_descriptor_limit();

// A string, a number, a truth value or a list of strings.
using EventValue = std::variant<std::string, int64_t, uint64_t, double, bool, std::vector<std::string>>;
using EventField = std::pair<std::string_view, EventValue>;

// event_line("role", {{"role", "manager"}, {"epoch", 2}}) is `{"event":"role","role":"manager","epoch":2}`
// and a line end.
std::string event_line(std::string_view event, std::initializer_list<EventField> fields);

// Writes the line to stdout at once. Nobody reading, or reading too slowly, never stops or ends the daemon:
// the event is dropped then, with a warning in the log and `false`.
bool print_event(std::string_view event, std::initializer_list<EventField> fields = {});

// The same for a line that was made elsewhere, with its end, and shorter than what a pipe takes at once.
bool print_line(std::string_view line);

// print_event() on another descriptor.
bool write_event(int descriptor, std::string_view event, std::initializer_list<EventField> fields);

}  // namespace redoubt
