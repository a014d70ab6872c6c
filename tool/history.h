// History: a file with one JSON object for every submit and every outcome of a bench, for a judge to read
// afterwards. `id` is "<incarnation>-<seq>", both decimal: what a replica's children are given as
// REDOUBT_REQUEST.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "client/request.h"
#include "core/result.h"
#include "core/time.h"
#include "tool/account.h"

namespace redoubt::tool {

// The file, shared by all clients of a bench. Thread-safe.
class HistoryFile {
 public:
  static Result<std::unique_ptr<HistoryFile>> create(const std::string& path);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  void write(const std::string& lines);
  // Closes it; an error if anything of it could not be written.
  Failure close();

 private:
  explicit HistoryFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}

  std::mutex mutex_;
  std::FILE* file_;
  const std::string path_;
  bool failed_ = false;
};

// One client's lines, gathered and handed to the file in blocks, and every tenth of a second: a judge may
// kill what it judges. Not thread-safe.
class History {
 public:
  History(HistoryFile& file, uint64_t client) : file_(file), client_(std::to_string(client)) {}
  ~History() { flush(); }

  void submitted(uint64_t seq, Time intended, const Request& request);
  void ended(const Reply& reply, Time intended, Outcome outcome, Duration latency);
  void flush();

 private:
  void open_line(const char* event, uint64_t seq, Time intended);
  void field(const char* name, int64_t value);
  void field(const char* name, const std::string& text);
  void word(const char* name, const char* value);
  void close_line();

  HistoryFile& file_;
  const std::string client_;
  std::string lines_;
  Time now_{}, flushed_{};
};

}  // namespace redoubt::tool
