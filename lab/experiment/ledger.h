// Ledger: what the client knows of its requests, and what is counted of them. A request counts in the batch
// of its arrival, whatever becomes of it and whenever.
//
// The *first wait* of a request: at each level that of the copy that starts first, added up over the levels;
// of one that goes by fixed paths, the sum along the path where that is least. Formulas of redundancy count
// it; the winner may have waited longer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/seq_window.h"
#include "lab/experiment/findings.h"
#include "lab/experiment/post.h"
#include "lab/experiment/setup.h"
#include "wire/limits.h"

namespace redoubt::experiment {

class Ledger {
 public:
  explicit Ledger(const Setup& setup);

  // The client sends its next request: its number.
  uint64_t submit(Time now);
  uint64_t low_water() const { return low_water_; }

  // The broker has sent a copy. `began`: from when on what its request waits at this level counts.
  struct Way {
    uint32_t path = 0;  // of a request that goes by fixed paths, from 1; else 0
    uint32_t replica = 0;
  };
  void copy_sent(uint64_t seq, uint32_t level, Way way, Time began);
  // A worker begins with a copy that has been waiting until `until`, by the broker's clock at sending. Gives
  // the number of copies of the request that have started at the level before.
  uint32_t copy_started(uint64_t seq, uint32_t level, uint32_t replica, Time until);
  // So many more workers run a handler from now on.
  void workers_busy(Time now, int change);

  // The client hears of an outcome.
  void answer(Time now, const Answered& answered);

  // Every request that counts has an outcome; and every one that was sent.
  bool complete() const { return missing_ == 0; }
  bool all_settled() const { return open_ == 0; }
  // Once, at the end.
  Findings finish(Time now);

 private:
  // One of a request's paths.
  struct Along {
    uint32_t replica = 0, level = 0;  // where it is
    bool waits = false;
    Time began;
    Duration waited{};
  };
  struct Entry {
    Time sent, began;  // at the client, and at its level
    Duration first_wait{};
    uint32_t level = wire::kMaxLevels;       // none yet
    bool started = false, answered = false;  // at its level; by the broker
    bool first_counts = false;  // its paths may still turn out to have waited less than the limit
    std::array<uint8_t, wire::kMaxLevels> starts{};  // at each level
    std::vector<Along> paths{};
  };

  // The batch in which this request counts, or nothing.
  Batch* batch_of(uint64_t seq);
  Entry* find(uint64_t seq) { return entries_.contains(seq) ? &entries_[seq] : nullptr; }
  Duration first_wait_of(const Entry& entry) const;
  bool at_end(const Along& along) const;
  void count_later(uint64_t seq, Entry& entry, const Along& along);
  void count(Entry& entry, Batch& batch, Time now, const Answered& answered);
  void open_meter(Time now);
  void close_meter(Time now);

  const Setup& setup_;
  Findings findings_;
  SeqWindow<Entry> entries_;  // from some way behind the low-water mark on: late copies may still start
  uint64_t low_water_ = 1, next_ = 1;
  uint64_t missing_ = 0, open_ = 0;

  // Of the workers' time.
  int busy_ = 0;
  double busy_seconds_ = 0;
  Time busy_since_, metered_from_ = kNever;
  bool metered_ = false;
};

}  // namespace redoubt::experiment
