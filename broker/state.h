// What a manager knows: clients, their requests, the copies that run, the replicas and services, and the
// indexes that find each in constant or logarithmic time. Data and the operations that keep the indexes true;
// decisions are in flow/, faults/ and plan/. What it is made of: request.h, service.h, peers.h.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/counters.h"
#include "broker/event.h"
#include "broker/group/group.h"
#include "broker/names.h"
#include "broker/overload/leaky_bucket.h"
#include "broker/peers.h"
#include "broker/plan/plan.h"
#include "broker/plan/slots.h"
#include "broker/records.h"
#include "broker/request.h"
#include "broker/service.h"
#include "broker/settings.h"
#include "core/histogram.h"
#include "core/indexed_heap.h"
#include "core/random.h"
#include "core/slab.h"
#include "wire/message.h"

namespace redoubt::broker {

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
  std::vector<ServiceId> restless;
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
  // The queue of a request's current service. `returned`: it has waited before.
  void enqueue(RequestHandle id, Time now, uint32_t wanted, bool returned);
  void dequeue(RequestHandle id, Time now);
  // A request wants auto there.
  void keep_paces(ServiceId service);
  // The service's queue is looked at before this step ends.
  void stir(ServiceId service);
  // The same of all services of a replica for which somebody waits, or may get more copies.
  void stir_all_of(const Replica& replica);
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
