// The status as JSON; see status_text.h. Its fields are a contract with users: add, never change.
#include <nlohmann/json.hpp>

#include "broker/status_text.h"

namespace redoubt::broker {
namespace {

using Json = nlohmann::ordered_json;

template <class Names, class Values>
Json by_name(const Names& names, const Values& values) {
  Json out = Json::object();
  for (size_t i = 0; i < values.size(); ++i) out[names(i)] = values[i];
  return out;
}

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Json counters_of(const Snapshot& view) {
  const Counters& counters = view.counters;
  Json out;
  out["requests"] =
      by_name([](size_t i) { return wire::name_of(static_cast<wire::Status>(i)); }, counters.requests);
  out["refusals"] =
      by_name([](size_t i) { return wire::name_of(static_cast<wire::Refusal>(i)); }, counters.refusals);
  out["refusals"].erase("none");
  out["copies"] = by_name([](size_t i) { return kCopyFateNames[i]; }, counters.copies);
  out["copies"]["dispatched"] = counters.dispatched;
  out["copies"]["adopted"] = counters.adopted;
  out["copies"]["outstanding"] = view.copies_outstanding;
  out["late_results"] = by_name([](size_t i) { return kLateResultNames[i]; }, counters.late_results);
  out["admitted"] = counters.admitted;
  out["joined"] = counters.joined;
  out["answered_again"] = counters.answered_again;
  out["retried"] = counters.retried;
  out["hedges"] = counters.hedges;
  out["extras"] = counters.extras;
  out["extras_gave_way"] = counters.extras_gave_way;
  out["allowance_spent"] = counters.allowance_spent;
  out["backups"] = {{"planned", counters.backups_planned},
                    {"sent", counters.backups_sent},
                    {"cancelled", counters.backups_cancelled},
                    {"without_slot", counters.backups_without_slot}};
  out["rescued_by_spares"] = counters.rescued_by_spares;
  out["started_expired"] = counters.started_expired;
  out["replicas_lost"] = counters.replicas_lost;
  out["clients_lost"] = counters.clients_lost;
  out["failovers"] = counters.failovers;
  out["sent_again"] = counters.sent_again;
  out["standbys_lost"] = counters.standbys_lost;
  out["links_accepted"] = view.links.accepted;
  out["links_closed"] =
      by_name([](size_t i) { return wire::name_of(static_cast<wire::CloseReason>(i)); }, view.links.closed);
  out["links_closed"].erase("none");
  return out;
}

}  // namespace

std::string status_json(const Snapshot& view) {
  Json out;
  out["epoch"] = view.epoch.number;
  out["manager"] = view.manager;
  out["role"] = name_of(view.role);
  out["answered_by"] = view.name;
  if (!view.trouble.empty()) out["trouble"] = view.trouble;
  out["brokers"] = Json::array();
  for (const BrokerView& broker : view.brokers)
    out["brokers"].push_back({{"name", broker.name},
                              {"address", broker.address},
                              {"role", broker.connected ? name_of(broker.role) : "unreached"},
                              {"in_sync", broker.in_sync},
                              {"votes", broker.votes},
                              {"connected", broker.connected},
                              {"checkpoint_seq", broker.checkpoint_seq},
                              {"state_hash", hex(broker.state_hash)}});
  out["in_sync_set"] = {{"epoch", view.sync_set.epoch.number},
                        {"version", view.sync_set.version},
                        {"members", view.sync_set.members}};
  out["stale"] = view.stale;
  out["unprotected"] = view.unprotected;
  out["replicas"] = Json::array();
  for (const ReplicaView& replica : view.replicas)
    out["replicas"].push_back(
        {{"name", replica.name},
         {"address", replica.address},
         {"services", replica.services},
         {"workers", replica.workers},
         {"outstanding", replica.outstanding},
         {"threshold", replica.threshold},
         {"running", replica.reported.running},
         {"queued", replica.reported.queued},
         {"completed", replica.completed},
         {"failed", replica.failed},
         {"leaving", replica.leaving},
         {"unheard", replica.unheard},
         {"spare", replica.spare},
         {"service_us", {{"p50", replica.service_p50_us}, {"p99", replica.service_p99_us}}}});
  out["services"] = Json::array();
  for (const ServiceView& service : view.services)
    out["services"].push_back({{"name", service.name},
                               {"replicas", service.replicas},
                               {"queued", service.queued},
                               {"redundancy", wire::name_of(service.policy.policy.redundancy)},
                               {"hedge_delay_us", to_us(service.hedge_delay)},
                               {"hedge_least_us", to_us(service.policy.hedge_least)},
                               {"hedge_most_us", to_us(service.policy.hedge_most)}});
  out["pending"] = view.pending;
  out["queue"] = view.queued;
  out["overload"] = 0;
  out["clients"] = view.clients;
  out["stopping"] = view.stopping;
  out["counters"] = counters_of(view);
  // A name may hold any bytes; JSON may not.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace redoubt::broker
