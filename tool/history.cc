// JSON lines by hand: a bench writes a million of them, and each is small; see history.h.
#include "tool/history.h"

#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/utf8.h"

namespace redoubt::tool {
namespace {

constexpr size_t kBlock = 256 * 1024;
constexpr Duration kFlushEvery = std::chrono::milliseconds(100);

void append_number(std::string& to, int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  to.append(digits, end);
}

// Texts come from services: any byte may be in them. What is no ASCII is written as it is if the text is
// valid UTF-8 and replaced otherwise, so that a line is always readable JSON.
void append_text(std::string& to, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  to += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      to += '\\';
      to += text[0];
    } else if (c < 0x20) {
      to += "\\u00";
      to += kHex[c >> 4];
      to += kHex[c & 15];
    } else if (length == 0) {
      to += "\\ufffd";
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  to += '"';
}

int64_t wall_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

}  // namespace

Result<std::unique_ptr<HistoryFile>> HistoryFile::create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return Error{"cannot write the history '" + path + "': " + std::strerror(errno)};
  return std::unique_ptr<HistoryFile>(new HistoryFile(file, path));
}

HistoryFile::~HistoryFile() { (void)close(); }

void HistoryFile::write(const std::string& lines) {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return;
  const bool written = std::fwrite(lines.data(), 1, lines.size(), file_) == lines.size();
  if (!written || std::fflush(file_) != 0) failed_ = true;
}

Failure HistoryFile::close() {
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr && std::fclose(file_) != 0) failed_ = true;
  file_ = nullptr;
  if (failed_) return Error{"the history '" + path_ + "' is incomplete: not all of it could be written"};
  return {};
}

void History::submitted(uint64_t seq, Time intended, const Request& request) {
  open_line("submit", seq, intended);
  field("deadline_us", to_us(request.deadline));
  field("wait_limit_us", to_us(request.wait_limit));
  field("payload", static_cast<int64_t>(request.payload.size()));
  close_line();
}

void History::ended(const Reply& reply, Time intended, Outcome outcome, Duration latency) {
  open_line("outcome", reply.seq, intended);
  word("outcome", name_of(outcome));
  word("status", redoubt::name_of(reply.status));
  word("reason", redoubt::name_of(reply.reason));
  word("answered_by", reply.answered ? "broker" : "client");
  field("text", reply.text);
  field("level", reply.level);
  word("running", nullptr);
  lines_ += reply.running ? "true" : "false";
  field("wait_us", to_us(reply.wait));
  field("latency_us", to_us(latency));
  field("result", static_cast<int64_t>(reply.payload.size()));
  word("levels", nullptr);
  lines_ += '[';
  for (const LevelTiming& level : reply.levels) {
    if (&level != &reply.levels.front()) lines_ += ',';
    lines_ += "{\"service\":";
    append_text(lines_, level.service);
    field("replica", level.replica);
    field("copies", level.copies);
    field("wait_us", to_us(level.wait));
    field("service_us", to_us(level.service_time));
    lines_ += '}';
  }
  lines_ += ']';
  close_line();
}

void History::open_line(const char* event, uint64_t seq, Time intended) {
  lines_ += "{\"event\":\"";
  lines_ += event;
  lines_ += "\",\"id\":\"";
  lines_ += client_;
  lines_ += '-';
  append_number(lines_, static_cast<int64_t>(seq));
  lines_ += "\",\"client\":\"";
  lines_ += client_;
  lines_ += '"';
  field("seq", static_cast<int64_t>(seq));
  field("wall_us", wall_us());
  now_ = Clock::now();
  field("steady_us", to_us(now_));
  field("intended_us", to_us(intended));
}

void History::field(const char* name, int64_t value) {
  word(name, nullptr);
  append_number(lines_, value);
}

void History::field(const char* name, const std::string& text) {
  word(name, nullptr);
  append_text(lines_, text);
}

// A value that needs no escaping; without one, the caller appends it.
void History::word(const char* name, const char* value) {
  lines_ += ",\"";
  lines_ += name;
  lines_ += "\":";
  if (value == nullptr) return;
  lines_ += '"';
  lines_ += value;
  lines_ += '"';
}

void History::close_line() {
  lines_ += "}\n";
  if (lines_.size() >= kBlock || now_ - flushed_ >= kFlushEvery) flush();
}

void History::flush() {
  file_.write(lines_);
  lines_.clear();
  flushed_ = now_;
}

}  // namespace redoubt::tool
