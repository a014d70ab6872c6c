// Findings: what became of the requests that count, as sums a batch: requests in a row that are looked at as
// one observation, for neighbours in a queue are too alike to count as many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/histogram.h"
#include "core/time.h"
#include "lab/experiment/batch_means.h"

namespace redoubt::experiment {

struct Batch {
  uint64_t requests = 0;
  uint64_t timely = 0;        // answered by the deadline, and the winner's wait was within the limit
  uint64_t first_timely = 0;  // the same by the first wait: see ledger.h
  uint64_t answered = 0;      // with a result, in time or not; the sums of times are over these
  uint64_t copies_sent = 0, copies_started = 0;
  double wait = 0, first_wait = 0, latency = 0;  // seconds
};

struct Findings {
  uint64_t sent = 0;
  // How they ended; together all that were sent.
  uint64_t ok = 0;
  uint64_t late = 0;  // answered with a result, but beyond a limit
  uint64_t expired = 0, refused = 0, failed = 0;

  std::vector<Batch> batches;
  Histogram latency_ns, wait_ns;  // of the answered ones; the wait is the winner's
  double utilisation = 0;         // share of the workers' time that was spent in handlers
  Duration span{};                // from the first arrival that counts to the one behind the last

  // Means of a request, and of an answered request, with their errors.
  Estimate per_request(uint64_t Batch::*what) const { return estimate(series(what)); }
  Estimate per_answer(double Batch::*what) const;
  // One number a batch (of those that a trace of arrivals has not left empty), for the difference of two
  // findings under one seed.
  std::vector<double> series(uint64_t Batch::*what) const;
};

// One object; `with_batches`: also what Findings::series() gives of the shares that were timely.
std::string to_json(const Findings& findings, bool with_batches);

}  // namespace redoubt::experiment
