// Copies what an observer may see; see snapshot.h.
#include "broker/snapshot.h"

#include <algorithm>

#include "broker/steps.h"
#include "core/utf8.h"

namespace redoubt::broker {

namespace {

BrokerView own_view(const Node& node) {
  BrokerView view;
  view.name = node.settings().name;
  view.role = node.role();
  view.votes = node.election().settings().self != kNoBroker;
  view.in_sync = node.ready();
  if (const State* state = node.state()) {
    view.checkpoint_seq = state->checkpoint_seq;
    view.state_hash = state->state_hash;
  } else {
    view.checkpoint_seq = node.standby().position().seq;
    view.state_hash = node.standby().hash();
  }
  return view;
}

BrokerView view_of(const Node& node, const Node::Other& other) {
  BrokerView view;
  view.name = other.enlist.name;
  view.address = other.enlist.address;
  view.votes = other.enlist.kind != wire::Kind::kLearner;
  const wire::Pulse told = node.election().peer(other.number).told;
  view.role = told.rules                                  ? BrokerRole::kManager
              : other.enlist.kind == wire::Kind::kWitness ? BrokerRole::kWitness
                                                          : BrokerRole::kStandby;
  view.in_sync = told.rules || has(node.election().memory().set.members, other.number);
  view.checkpoint_seq = told.position.seq;
  view.state_hash = told.hash;
  const State* state = node.state();
  if (!state) return view;
  for (const Follower& follower : state->followers) {
    if (follower.link != other.link) continue;
    view.in_sync = follower.stage == Follower::Stage::kInSync;
    view.checkpoint_seq = follower.position.seq;
    view.state_hash = follower.hash;
  }
  return view;
}

void group_of(const Node& node, Time now, Snapshot& view) {
  view.name = node.settings().name;
  view.role = node.role();
  view.ready = node.ready();
  view.epoch = node.epoch();
  view.counters = node.counters();
  view.trouble = node.trouble(now);
  view.sync_set = node.election().memory().set;
  view.stale = node.rules() && node.election().stale();
  view.brokers.push_back(own_view(node));
  for (const auto& [link, other] : node.others()) {
    view.brokers.push_back(view_of(node, other));
    if (other.number == node.election().manager()) view.manager = other.enlist.name;
  }
  if (node.rules()) view.manager = view.name;
  view.checkpoint_seq = view.brokers.front().checkpoint_seq;
  view.state_hash = view.brokers.front().state_hash;
}

void manager_of(const State& state, Snapshot& view) {
  for (const Follower& follower : state.followers) {
    if (follower.stage != Follower::Stage::kInSync) continue;
    ++view.standbys_in_sync;
    view.checkpoint_lag = std::max(view.checkpoint_lag, state.checkpoint_seq - follower.position.seq);
  }
  view.unprotected = is_unprotected(state);
  view.pending = state.requests.size();
  view.queued = state.queued;
  view.copies_outstanding = state.copies.size();
  view.stopping = state.stopping;
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
    to.spare = replica.spare;
    to.unheard = replica.unheard;
  });
  for (const Service& service : state.services) {
    // Told by a client that waits for it: no replica can offer it.
    if (!is_one_line(service.name)) continue;
    view.services.push_back({service.name, static_cast<uint32_t>(service.members.size()),
                             service.queue.size(), service.wait_us, service.service_us, service.policy,
                             service.hedge_delay});
  }
}

}  // namespace

const char* name_of(BrokerRole role) {
  static constexpr const char* kNames[] = {"standby", "manager", "witness", "suspended"};
  return kNames[static_cast<size_t>(role)];
}

Snapshot snapshot_of(const Node& node, Time now) {
  Snapshot view;
  group_of(node, now, view);
  if (const State* state = node.state())
    manager_of(*state, view);
  else if (const Table* table = node.standby().table())
    view.pending = table->open();
  return view;
}

}  // namespace redoubt::broker
