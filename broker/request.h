// A request as its manager knows it, and the copies of it that are out. Data; what keeps the indexes true is
// in state.h.
//
// Words: a request is *queued* (waits here for a replica) or *running* (has copies out, or waits for the word
// that its checkpoint stands), or *inherited* (from an earlier manager; who holds copies of it is not known
// yet). A copy is *outstanding* at its replica until the replica says how it ended or is lost, also when
// nobody wants it any more.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "broker/names.h"
#include "broker/plan/slots.h"
#include "core/linked_list.h"
#include "core/payload.h"
#include "core/short_vector.h"
#include "core/time.h"
#include "wire/message.h"

namespace redoubt::broker {

struct LevelSpec {
  ServiceId service = 0;
  uint32_t copies = 1;
  wire::Policy policy;  // nothing in it is left open
};
using LevelSpecs = ShortVector<LevelSpec, 4>;

// One of the paths of a request that is served by fixed paths: it walks by itself.
struct Path {
  std::vector<ReplicaId> replicas;  // of each level; none where nobody was there when the path was chosen
  uint32_t level = 0;
  CopyId copy;             // where it is
  bool waits = false;      // for its standbys, with `input`:
  uint64_t waits_for = 0;  // until they have this change
  Payload input;
  Duration waited{};  // at the levels behind it
  wire::LevelReports reports;
  bool alive() const { return copy || waits; }
};

struct Request {
  enum class Phase : uint8_t { kQueued, kRunning, kInherited };
  // Where it stands while it is queued, in its service's queue.
  enum class Line : uint8_t {
    kArrived,   // in the order in which they came to their level
    kReturned,  // that have waited before, the oldest request first: in front of those
    kLost,      // of those, what was lost with its replica: spares take only these
  };

  // In the order in which they are used, so that a request touches little memory; what few requests need
  // comes last.
  ClientId client;
  wire::RequestId id;
  Time deadline;
  Phase phase = Phase::kQueued;
  bool sent_before = false;  // by its client, on an earlier link: a broker may have accepted it then
  bool started = false;      // disposal on-start: a copy of this level runs
  bool lost = false;         // a copy of this level was lost with its replica

  // How far it is. `payload` is the input of `level`.
  uint32_t level = 0;
  uint32_t attempts = 0;          // executions at this level that failed or were lost
  uint32_t dispatched = 0;        // copies sent at this level
  ShortVector<CopyId, 2> copies;  // outstanding copies of this level that may still win
  // When another one leaves, if the level has not been won; while it is queued, when it is looked at again.
  Time further_at = kNever;
  Slot slot;  // backup: the time that is kept for that one
  LevelSpecs levels;
  Payload payload;
  Duration waited{};      // at the levels behind it
  Duration level_wait{};  // at this level, here
  Time first_sent;        // when the level's first copy left
  Time arrived;
  Duration wait_limit{};      // zero: none
  uint64_t order = 0;         // when it was admitted, among the others
  uint64_t digest = 0;        // what it adds to the state hash
  uint64_t progress_seq = 0;  // the change by which it came to its level; 0: under an earlier manager
  Links<Request> of_client;   // among its client's pending ones
  wire::LevelReports reports;
  uint64_t heard_on = 0;  // generation of the client's link on which it was sent last

  uint32_t service_class = 0;  // thousandths
  Duration service_time{};     // of a level, as its client says; zero: as measured
  ReplicaId reserved;          // backup: where the further copy goes

  // While queued.
  uint32_t wanted = 1;  // copies to send when its turn comes
  Time queued_since;
  Line line = Line::kArrived;
  Links<Request> in_line;

  std::vector<Path> paths;        // redundancy paths, until all but one are broken
  std::vector<ReplicaId> failed;  // replicas that failed it at this level
  std::string failure;            // the last failure's text

  ServiceId service() const { return levels[level].service; }
  const wire::Policy& policy() const { return levels[level].policy; }
  // A copy of it may have been executed, here or under an earlier manager: it is not refused any more.
  bool may_have_run() const {
    return level > 0 || attempts > 0 || dispatched > 0 || sent_before || progress_seq == 0;
  }
  bool limits_wait() const {
    return wait_limit > Duration::zero() && policy().disposal != wire::Disposal::kNone;
  }
  // When its time is up.
  Time ends_at() const {
    if (phase != Phase::kQueued || !limits_wait()) return deadline;
    return std::min(deadline, later(queued_since, wait_limit - waited - level_wait));
  }
};

// A path that walks on to its end though its request has been answered, for nothing of it is destroyed on
// account of another (redundancy paths with the disposals that halt nothing). No client hears of it, and no
// standby.
struct Stroll {
  wire::RequestId id;
  LevelSpecs levels;
  Time deadline;
  Duration wait_limit{};
  uint32_t number = 0;  // of the path, from 1
  Path path;
};

struct Copy {
  RequestHandle request{};  // stale once the request has ended
  StrollId stroll{};        // what goes on nevertheless
  ReplicaId replica{};
  ServiceId service = 0;
  uint32_t level = 0;  // an adopted one may be ahead of its request
  uint32_t place = 0;  // in its replica's list
  Time sent{};
  Duration waited_here{};  // what its request had waited at this level when it was sent
  Duration phase{};        // disposal two-phase: its first interval
  Time halted_at{};        // when it was asked to end
  uint64_t bytes = 0;      // of the payload
  uint32_t path = 0;       // of its request, from 1; 0: none
  bool extra = false;      // on a worker that had nothing else to do
  bool halted = false;     // it has been asked to end, or will be
  bool adopted = false;    // its times are from under an earlier manager
};

}  // namespace redoubt::broker
