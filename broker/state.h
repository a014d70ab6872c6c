// What a manager knows: clients, their requests, the copies that run, the replicas and services, and the
// indexes that find each in constant or logarithmic time. Data and the operations that keep the indexes true;
// decisions are in flow/, faults/ and plan/.
//
// Words: a request is *queued* (waits here for a replica) or *running* (has copies out, or waits for the word
// that its checkpoint stands), or *inherited* (from an earlier manager; who holds copies of it is not known
// yet). A copy is
// *outstanding* at its replica until the replica says how it ended or is lost, also when nobody wants it any
// more.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/counters.h"
#include "broker/event.h"
#include "broker/group/group.h"
#include "broker/limits.h"
#include "broker/names.h"
#include "broker/overload/leaky_bucket.h"
#include "broker/plan/allowance.h"
#include "broker/plan/plan.h"
#include "broker/plan/slots.h"
#include "broker/records.h"
#include "broker/settings.h"
#include "core/histogram.h"
#include "core/indexed_heap.h"
#include "core/linked_list.h"
#include "core/random.h"
#include "core/recent_times.h"
#include "core/seq_window.h"
#include "core/short_vector.h"
#include "core/slab.h"
#include "core/transit.h"
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
  Time further_at = kNever;       // when another one leaves, if the level has not been won
  Slot slot;                      // backup: the time that is kept for that one
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
  Links<Request> in_queue;

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
  LinkedList<&Request::in_queue> queue;
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

// What a client's sequence number stands for here.
struct ClientEntry : Record {
  enum class Is : uint8_t { kUnknown, kPending, kSettled };
  Is is = Is::kUnknown;
  RequestHandle request;  // pending
};

struct Client {
  LinkId link{};  // kNoLink: gone, may return
  std::string name;
  uint64_t incarnation = 0, generation = 0;
  Transit transit;
  SeqWindow<ClientEntry> entries;
  LinkedList<&Request::of_client> pending;  // beside the window, which may have long gaps
  uint64_t retained = 0;                    // bytes of results held in entries
  uint64_t oldest_retained = 0;             // no entry below holds any
  uint64_t told_low_water = 1;              // to the standbys
  bool told_all_open = false;               // it has sent, on this link, all that it had open before
  Time lingers_until = kNever;
};

// A broker that takes in the checkpoint stream.
struct Follower {
  enum class Stage : uint8_t {
    kCollecting,  // the walk over what is here goes on; changes are sent for what it has passed
    kCatchingUp,  // everything has been sent
    kInSync,      // and acknowledged
  };
  LinkId link{};
  BrokerNumber number = kNoBroker;  // kNoBroker: it has no vote
  std::string name;
  Stage stage = Stage::kCollecting;
  // The walk has passed every client in a slot below, and in that slot the sequence numbers below.
  uint32_t slot = 0;
  uint64_t seq = 0;
  uint64_t end_seq = 0;                         // the change up to which the walk's end counts
  uint64_t sent_bytes = 0, received_bytes = 0;  // wire/stream.h
  wire::Position position;                      // acknowledged
  uint64_t hash = 0;
  // It must have received so much by then.
  uint64_t mark_bytes = 0;
  Time mark_at = kNever;

  bool passed(ClientId client, uint64_t of) const {
    return stage != Stage::kCollecting || client.slot < slot || (client.slot == slot && of < seq);
  }
};

// Who is behind a link.
struct Peer {
  ClientId client;
  ReplicaId replica;
};

// Peers by link, found by counting: every frame asks.
class Peers {
 public:
  void set(LinkId link, Peer peer) {
    const size_t at = place_of(link);
    if (at >= entries_.size()) entries_.resize(at + 1);
    entries_[at] = {link, peer};
  }
  Peer get(LinkId link) const {
    const size_t at = place_of(link);
    return at < entries_.size() && entries_[at].link == link ? entries_[at].peer : Peer{};
  }
  void erase(LinkId link) {
    const size_t at = place_of(link);
    if (at < entries_.size() && entries_[at].link == link) entries_[at] = {};
  }

 private:
  struct Entry {
    LinkId link = kNoLink;
    Peer peer;
  };
  static size_t place_of(LinkId link) { return static_cast<uint32_t>(link); }

  std::vector<Entry> entries_;
};

struct HeartbeatPlace {
  Slab<Replica>* replicas;
  uint32_t& operator()(ReplicaId replica) const { return (*replicas)[replica].heartbeat_place; }
};
struct HaltsPlace {
  Slab<Replica>* replicas;
  uint32_t& operator()(ReplicaId replica) const { return (*replicas)[replica].halts_place; }
};

struct State {
  State(Settings settings, wire::Epoch epoch);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Settings settings;
  Random random;
  wire::Epoch epoch;
  uint64_t checkpoint_seq = 0;  // changes of the checkpointed state so far
  uint64_t state_hash = 0;      // of all live requests and their progress: equal states, equal hashes

  Slab<Request> requests;
  Slab<Copy> copies;
  Slab<Stroll> strolls;
  Slab<Replica> replicas;
  Slab<Client> clients;
  std::deque<Service> services;
  std::unordered_map<std::string, ServiceId> service_ids;
  std::unordered_map<uint64_t, ClientId> client_ids;  // by incarnation
  Peers peers;
  std::deque<ClientId> lingering;  // in order of lingers_until

  IndexedHeap<RequestHandle, Time, PlacesBySlot<RequestHandle>> deadlines;
  IndexedHeap<ReplicaId, Time, HeartbeatPlace> heartbeats;
  IndexedHeap<ReplicaId, Time, HaltsPlace> halts;  // replicas with some to send, by when
  LeakyBucket bucket;
  Slots slots;

  uint64_t orders = 0;  // Request::order of the newest
  uint32_t queued = 0;  // requests waiting here, over all services
  uint64_t picks = 0;
  // Memory that every dispatch uses again.
  Plan plan;
  // Services whose queue must be looked at before this step ends: its head has gone, or who could take it
  // has.
  std::vector<ServiceId> restless, restless_now;
  std::vector<std::pair<Member, LoadKey>> aside, ready_aside;
  std::vector<double> paces;
  uint64_t held_bytes = 0;      // of live requests' payloads
  Records records;              // of settled requests
  uint64_t window_entries = 0;  // of all clients' windows
  bool stopping = false;
  Time settles_at = kNever;  // replicas and clients of an earlier broker have returned by then
  uint32_t awaited = 0;      // services that no replica has offered yet and requests may wait for
  Counters counters;
  Histogram request_us;

  // ---- Standbys.
  std::vector<Follower> followers;
  BrokerSet in_sync = 0;                 // followers with a vote that are
  std::vector<BrokerNumber> succession;  // of those, in the order in which they became so
  // What counts until a smaller set is acknowledged by the group (Election::committed).
  BrokerSet committed = 0;
  struct Unconfirmed {
    uint64_t seq = 0;
    RequestHandle request;
    bool front = false;  // it has waited for a replica already
  };
  std::deque<Unconfirmed> unconfirmed;  // requests whose copies wait for acknowledgements, by seq

  // ---- After a take-over.
  std::vector<RequestHandle> inherited;  // oldest first
  size_t sent_again = 0;                 // of them, so many have been looked at
  Time recovers_at = kNever;             // replicas have said what they hold by then
  uint32_t unheard_replicas = 0;         // that have not yet
  bool took_over = false;                // there was a manager before
  bool stale = false;                    // nobody who was in sync was left: only what clients confirm is run

  // The service of that name, or none if nobody has offered or awaited it.
  const ServiceId* find_service(const std::string& name) const;
  // The same; a name that is new becomes known for good. None when too many are known.
  const ServiceId* learn_service(const std::string& name);

  // The bytes a request works on; what all hold together is counted.
  void hold(Request& request, Payload payload);
  void hold(Path& path, Payload input);
  // The request's further copy is not wanted any more, and the time kept for it is free.
  void drop_further(Request& request) {
    if (request.further_at == kNever && !request.slot) return;
    if (request.slot) slots.free(request.slot);
    request.slot = {};
    request.reserved = {};
    request.further_at = kNever;
  }
  // The queue of a request's current service. `front`: it has waited before.
  void enqueue(RequestHandle id, Time now, uint32_t wanted, bool front);
  void dequeue(RequestHandle id, Time now);
  // A request wants auto there.
  void keep_paces(ServiceId service);
  // The service's queue is looked at before this step ends.
  void stir(ServiceId service);
  // The time at which this request is to be looked at again.
  void set_deadline(RequestHandle id);
  // A copy to be filled in where it will lie: a record written field by field must not be moved at once.
  CopyId take_copy();
  // It is at its replica from now on. Of a request it is one of its own list, too.
  void add_copy(CopyId id);
  // A copy has ended: its place at the replica is free. The request's own list is the caller's.
  void remove_copy(CopyId id);
  // Brings the replica's places among the free ones up to date with its load.
  void index_replica(ReplicaId id);

  Follower* follower_of(LinkId link);
  ReplicaId replica_of(LinkId link) const { return peers.get(link).replica; }
  ClientId client_of(LinkId link) const { return peers.get(link).client; }
};

}  // namespace redoubt::broker
