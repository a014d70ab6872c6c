// Copies what an observer may see; see snapshot.h.
#include "broker/snapshot.h"

namespace redoubt::broker {

Snapshot snapshot_of(const State& state) {
  Snapshot view;
  view.name = state.settings.name;
  view.epoch = state.epoch;
  view.checkpoint_seq = state.checkpoint_seq;
  view.state_hash = state.state_hash;
  view.pending = state.requests.size();
  view.queued = state.queued;
  view.copies_outstanding = state.copies.size();
  view.stopping = state.stopping;
  view.counters = state.counters;
  view.request_us = state.request_us;
  state.replicas.each([&](ReplicaId, const Replica& replica) {
    ReplicaView& to = view.replicas.emplace_back();
    to.name = replica.name;
    to.address = replica.address;
    for (const Membership& membership : replica.memberships)
      to.services.push_back(state.services[membership.service].name);
    to.workers = replica.workers;
    to.outstanding = replica.outstanding();
    to.threshold = replica.threshold;
    to.reported = replica.reported;
    to.completed = replica.completed;
    to.failed = replica.failures;
    to.service_p50_us = replica.service_us.quantile(0.5);
    to.service_p99_us = replica.service_us.quantile(0.99);
    to.leaving = replica.leaving;
  });
  for (const Service& service : state.services)
    view.services.push_back({service.name, static_cast<uint32_t>(service.members.size()), service.queued,
                             service.wait_us, service.service_us});
  return view;
}

}  // namespace redoubt::broker
