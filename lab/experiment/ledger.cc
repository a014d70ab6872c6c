// Counting; see ledger.h.
#include "lab/experiment/ledger.h"

#include <algorithm>

namespace redoubt::experiment {
namespace {

constexpr uint64_t kBatches = 50;
// Requests that are remembered behind the low-water mark. A copy that starts so long after its request was
// settled is not told from others like it.
constexpr uint64_t kRemembered = 8192;
constexpr uint32_t kForgotten = 1000;

uint64_t to_ns(Duration duration) { return static_cast<uint64_t>(duration.count()); }

}  // namespace

Ledger::Ledger(const Setup& setup) : setup_(setup), missing_(setup.requests) {
  findings_.batches.resize(std::min(kBatches, setup.requests));
}

Batch* Ledger::batch_of(uint64_t seq) {
  if (seq <= setup_.warm_up || seq > setup_.warm_up + setup_.requests) return nullptr;
  return &findings_.batches[(seq - setup_.warm_up - 1) * findings_.batches.size() / setup_.requests];
}

uint64_t Ledger::submit(Time now) {
  const uint64_t seq = next_++;
  entries_.extend(next_);
  entries_[seq].sent = now;
  ++open_;
  if (seq == setup_.warm_up + 1) open_meter(now);
  if (seq == setup_.warm_up + setup_.requests + 1) close_meter(now);
  if (Batch* batch = batch_of(seq)) {
    ++batch->requests;
    ++findings_.sent;
  }
  return seq;
}

void Ledger::copy_sent(uint64_t seq, uint32_t level, Way way, Time began) {
  if (Batch* batch = batch_of(seq)) ++batch->copies_sent;
  Entry* entry = find(seq);
  if (!entry) return;
  if (way.path > 0) {
    if (way.path > entry->paths.size()) entry->paths.resize(way.path);
    Along& along = entry->paths[way.path - 1];
    along = {way.replica, level, true, began, along.waited};
  }
  if (entry->level == level) return;
  entry->level = level;
  entry->began = began;
  entry->started = false;
}

uint32_t Ledger::copy_started(uint64_t seq, uint32_t level, uint32_t replica, Time until) {
  if (Batch* batch = batch_of(seq)) ++batch->copies_started;
  Entry* entry = find(seq);
  if (!entry) return kForgotten;
  if (level == entry->level && !entry->started) {
    entry->started = true;
    entry->first_wait += until - entry->began;
  }
  for (Along& along : entry->paths) {
    if (!along.waits || along.level != level || along.replica != replica) continue;
    along.waits = false;
    along.waited += until - along.began;
    count_later(seq, *entry, along);
    break;
  }
  return entry->starts[level]++;
}

void Ledger::answer(Time now, const Answered& answered) {
  Entry& entry = entries_[answered.seq];
  CHECK(!entry.answered);
  entry.answered = true;
  --open_;
  if (Batch* batch = batch_of(answered.seq)) {
    --missing_;
    count(entry, *batch, now, answered);
  }
  while (low_water_ < next_ && entries_[low_water_].answered) ++low_water_;
  if (low_water_ > entries_.begin() + kRemembered)
    entries_.advance(low_water_ - kRemembered, [](const Entry&) {});
}

Duration Ledger::first_wait_of(const Entry& entry) const {
  if (entry.paths.empty()) return entry.first_wait;
  Duration least = kAges;
  for (const Along& along : entry.paths)
    if (at_end(along)) least = std::min(least, along.waited);
  return least;
}

bool Ledger::at_end(const Along& along) const {
  return along.level + 1 == setup_.levels.size() && !along.waits;
}

// A path that comes to its end behind the winner may have waited less.
void Ledger::count_later(uint64_t seq, Entry& entry, const Along& along) {
  if (!entry.first_counts || !at_end(along) || to_us(along.waited) > to_us(setup_.wait_limit)) return;
  entry.first_counts = false;
  if (Batch* batch = batch_of(seq)) ++batch->first_timely;
}

void Ledger::count(Entry& entry, Batch& batch, Time now, const Answered& answered) {
  switch (answered.status) {
    case wire::Status::kOk:
      break;
    case wire::Status::kExpired:
      ++findings_.expired;
      return;
    case wire::Status::kRefused:
      ++findings_.refused;
      return;
    case wire::Status::kFailed:
      ++findings_.failed;
      return;
    case wire::Status::kCancelled:
      CHECK(false);  // nobody does
  }
  const Duration latency = now - entry.sent;
  // In whole microseconds, as what the broker tells.
  const auto within = [&](Duration wait) {
    if (setup_.deadline > Duration::zero() && latency > setup_.deadline) return false;
    return setup_.wait_limit == Duration::zero() || to_us(wait) <= to_us(setup_.wait_limit);
  };
  const bool timely = within(answered.wait);
  ++(timely ? findings_.ok : findings_.late);
  batch.timely += timely ? 1u : 0u;
  const Duration first_wait = first_wait_of(entry);
  batch.first_timely += within(first_wait) ? 1u : 0u;
  entry.first_counts = !entry.paths.empty() && !within(first_wait);
  ++batch.answered;
  batch.wait += to_seconds(answered.wait);
  batch.first_wait += to_seconds(first_wait);
  batch.latency += to_seconds(latency);
  findings_.wait_ns.record(to_ns(answered.wait));
  findings_.latency_ns.record(to_ns(latency));
}

void Ledger::workers_busy(Time now, int change) {
  if (metered_) busy_seconds_ += busy_ * to_seconds(now - busy_since_);
  busy_since_ = now;
  busy_ += change;
}

void Ledger::open_meter(Time now) {
  workers_busy(now, 0);
  metered_ = true;
  metered_from_ = now;
}

void Ledger::close_meter(Time now) {
  workers_busy(now, 0);
  metered_ = false;
  findings_.span = now - metered_from_;
  double workers = 0;
  for (const LevelSetup& level : setup_.levels)
    workers += static_cast<double>(level.replicas) * setup_.workers;
  if (findings_.span > Duration::zero())
    findings_.utilisation = busy_seconds_ / (workers * to_seconds(findings_.span));
}

Findings Ledger::finish(Time now) {
  if (metered_) close_meter(now);
  return std::move(findings_);
}

}  // namespace redoubt::experiment
