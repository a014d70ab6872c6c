// Replicas, and the services that they offer, as a manager knows them: what they have shown of themselves,
// and the indexes by which plans find the right one. Data; what keeps the indexes true is in state.h.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "broker/event.h"
#include "broker/limits.h"
#include "broker/names.h"
#include "broker/plan/allowance.h"
#include "broker/request.h"
#include "broker/service_policy.h"
#include "core/histogram.h"
#include "core/indexed_heap.h"
#include "core/linked_list.h"
#include "core/recent_times.h"
#include "core/slab.h"
#include "core/time.h"
#include "wire/message.h"

namespace redoubt::broker {

// A replica's place among those of one of its services that are below their threshold.
struct Membership {
  ServiceId service = 0;
  uint32_t place = kNowhere;        // among those that are below their threshold
  uint32_t ready_place = kNowhere;  // among those to which auto gives a copy now
};

struct Replica {
  LinkId link{};
  std::string name, address;
  std::vector<Membership> memberships;  // in the order of its registration
  uint32_t workers = 1, queue_limit = 0, threshold = 0;
  bool leaving = false;
  bool unheard = false;        // has not said yet what it holds from an earlier manager
  bool spare = false;          // wants only what another replica has lost
  std::vector<CopyId> copies;  // outstanding
  double extra_worth = 0;      // of its newest extra copy
  bool declined = false;  // it gave an extra copy back unstarted: it has no idle worker, whatever we think
  bool full =
      false;  // it gave a copy back unstarted: it holds more than we know of. Fades with the next sign
  uint32_t extras = 0;          // of those, extra ones
  std::vector<uint64_t> halts;  // that have not left yet
  uint64_t bytes = 0;           // of their payloads
  wire::Load reported;
  uint64_t completed = 0, failures = 0;
  uint64_t last_picked = 0;
  double failure_rate = 0;  // smoothed, 0 to 1; fades with time
  // What its workers did lately: time that they spent, and executions that ended in it. Their ratio is how
  // long an execution takes, those that were stopped before counted for what they show. It fades with time.
  double spent_ns = 0, ended = 0;
  RecentTimes times{128};    // of executions
  uint32_t lean = 1;         // copies that keep its workers busy while the next one is under way
  uint64_t observed = 0;     // ends that were measured
  double service_ns = 0;     // smoothed
  double round_trip_ns = 0;  // smoothed, what a copy takes beyond waiting and service
  Histogram service_us;

  Time last_heard, last_sent;
  int64_t heard_sent_us = 0;  // the newest send time it told us
  uint32_t heartbeat_place = kNowhere;
  uint32_t halts_place = kNowhere;

  // Extra copies give way: they are no load to others.
  uint32_t load() const { return outstanding() - extras; }
  uint32_t outstanding() const { return static_cast<uint32_t>(copies.size()); }
  bool has_idle_worker() const { return outstanding() < workers; }
  // It has completed something since it came: one that dies with its first copy never has.
  bool proven() const { return completed > 0; }
  // All that it can hold, whatever its threshold.
  uint32_t room() const { return workers + std::min(queue_limit, kMaxThreshold); }
  bool has_room() const { return !full && load() < room() && bytes < kReplicaBytes; }
  // Auto sends a copy when a worker is free for it, or nearly.
  bool is_ready() const { return takes_copies() && !spare && load() < lean; }
  bool takes_copies() const { return !leaving && !unheard && load() < threshold && has_room(); }
};

// One replica's membership in one service: an item of the service's heap.
struct Member {
  ReplicaId replica;
  uint32_t index = 0;  // in Replica::memberships
};
struct MemberPlace {
  Slab<Replica>* replicas;
  uint32_t& operator()(Member member) const {
    return (*replicas)[member.replica].memberships[member.index].place;
  }
};
struct ReadyPlace {
  Slab<Replica>* replicas;
  uint32_t& operator()(Member member) const {
    return (*replicas)[member.replica].memberships[member.index].ready_place;
  }
};
// Least loaded first, then the one that was picked longest ago.
struct LoadKey {
  uint64_t load = 0, last_picked = 0;
  auto operator<=>(const LoadKey&) const = default;
};

struct Hungry {
  RequestHandle request;
  uint32_t level = 0;
};

// The requests that wait for a replica of a service. Who has waited longest goes first.
class Queue {
 public:
  void add(Slab<Request>& requests, RequestHandle id) {
    const Request& request = requests[id];
    List& line = line_of(request);
    if (request.line == Request::Line::kArrived) return line.push_back(requests, id);
    RequestHandle before = line.last();
    while (before && requests[before].order > request.order) before = requests[before].in_line.previous;
    line.insert_after(requests, id, before);
  }
  void take_out(Slab<Request>& requests, RequestHandle id) { line_of(requests[id]).erase(requests, id); }

  bool empty() const { return size() == 0; }
  uint32_t size() const { return lines_[0].size() + lines_[1].size() + lines_[2].size(); }
  // None when it is empty.
  RequestHandle head(const Slab<Request>& requests) const {
    const RequestHandle lost = first(Request::Line::kLost), returned = first(Request::Line::kReturned);
    if (lost && returned) return requests[lost].order < requests[returned].order ? lost : returned;
    return lost ? lost : returned ? returned : first(Request::Line::kArrived);
  }
  RequestHandle first(Request::Line line) const { return lines_[static_cast<size_t>(line)].first(); }

 private:
  using List = LinkedList<&Request::in_line>;
  List& line_of(const Request& request) { return lines_[static_cast<size_t>(request.line)]; }

  std::array<List, 3> lines_;  // by Request::Line
};

struct Service {
  explicit Service(Slab<Replica>* replicas)
      : free(MemberPlace{replicas}), spares(MemberPlace{replicas}), ready(ReadyPlace{replicas}) {}

  std::string name;
  bool offered = false;            // by a replica, now or earlier; else only awaited
  std::vector<ReplicaId> members;  // that offer it now
  // Their workers, without spares; of those, of odd replicas; and copies that are outstanding at all of them.
  uint32_t workers = 0, odd_workers = 0, outstanding = 0;
  // Those that take copies; and those that take only what others have lost.
  IndexedHeap<Member, LoadKey, MemberPlace> free, spares;
  // What only auto asks for is kept from the first request on that wants it: the paces of the replicas, and
  // those that are ready, by when they are expected to be done with one more.
  bool paced = false;
  IndexedHeap<Member, LoadKey, ReadyPlace> ready;
  Queue queue;
  bool restless = false;  // in State::restless
  Histogram wait_us, service_us;

  ServicePolicy policy;
  Allowance extra, all_extra;  // copies beyond the first; those on idle workers are in the second only
  RecentTimes answer_times;    // of a level's first copy, from sending
  RecentTimes service_times;
  uint64_t answers = 0;
  Duration hedge_delay{};            // as last worked out; zero: not yet
  double service_ns = 0;             // smoothed
  double round_trip_ns = 0;          // of its replicas; smoothed
  double typical_ns = 0;             // what an execution takes at most of its replicas
  double stop_ns = 0;                // what an execution that is asked to stop takes to end; smoothed
  uint64_t stops = 0, observed = 0;  // stops, and executions, that were measured
  // Requests of auto whose chances another copy would better, the oldest first; some have ended meanwhile.
  std::deque<Hungry> hungry;
  std::deque<Hungry> urgent;  // which a further first copy would rescue

  // One more copy beyond the first: whether it may be sent. `capped`: it takes a place that first copies
  // could use.
  bool spend_extra(bool capped) {
    if (policy.all_extra_share && !all_extra.spend()) return false;
    if (!capped || extra.spend()) return true;
    if (policy.all_extra_share) all_extra.give_back();
    return false;
  }
  void give_back_extra(bool capped) {
    if (policy.all_extra_share) all_extra.give_back();
    if (capped) extra.give_back();
  }
  Duration mean_service() const { return Duration(static_cast<int64_t>(service_ns)); }
};

struct HeartbeatPlace {
  Slab<Replica>* replicas;
  uint32_t& operator()(ReplicaId replica) const { return (*replicas)[replica].heartbeat_place; }
};
struct HaltsPlace {
  Slab<Replica>* replicas;
  uint32_t& operator()(ReplicaId replica) const { return (*replicas)[replica].halts_place; }
};

}  // namespace redoubt::broker
