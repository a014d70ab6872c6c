// What copying a request is worth in a cluster of single-queue servers (M/M/1), and what it costs: the
// probability that a request is timely, and its mean wait and residence. One level, or several with a limit
// on the wait that accumulates over them. All times are seconds, all rates 1/s. Pure functions.
//
// The formulas count the shortest wait among a level's copies, take the queues as independent, within a level
// and from level to level, and destroy nothing: copies that lose run to their end. Real clusters differ;
// docs/ says how.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace redoubt::model {

// Servers of one level, and how many of them get a copy: 1 to all of them.
struct Level {
  uint32_t servers = 1;
  double service_time = 0;  // mean, above 0
  uint32_t copies = 1;
};

// How copies go through the levels.
enum class Option : uint8_t {
  kPaths,    // S1: paths are chosen at the source, each with a server of every level; the first at its end
             // counts. All levels have as many copies
  kPerLevel  // S2: the first to finish at a level is copied to the next
};

// Failures of servers and their computations, as rates. A copy is good if its server does not fail while it
// waits (before: idle, or with another) or computes, and computes without an error. The wait counts with its
// limit, so what comes out is a lower bound. Over several levels the limit counts once on a path of S1, and
// at every level of S2.
struct FailureRates {
  double waiting = 0;      // lambda_0 and
  double computing = 0;    // lambda_c: of a server, both also while it computes
  double calculation = 0;  // lambda_o: errors of a computation
};

struct Question {
  double rate = 0;   // requests per second, above 0
  double limit = 0;  // of the wait at all levels together
  std::vector<Level> levels;
  Option option = Option::kPerLevel;
  FailureRates failures;
};

struct Answer {
  double probability = 0;  // timely, and without error
  double mean_wait = 0;    // of the first
  double residence = 0;    // mean wait and service
};

// Nothing where a server would get more than it can serve: then queues grow without end.
std::optional<Answer> answer(const Question& question);

// The copies, for each level, with the highest probability, the fewest of equal ones; for S1 the same at
// every level. Nothing if not even one copy is stable. Looks at all combinations while they are few, and
// climbs, level by level, from the best equal number else.
std::optional<std::vector<uint32_t>> best_copies(const Question& question);

}  // namespace redoubt::model
