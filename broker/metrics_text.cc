// The metrics in Prometheus' text format; see status_text.h. Their names are a contract with users.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>

#include "broker/status_text.h"

namespace redoubt::broker {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  void counter(const char* name, const char* help, Labels labels, uint64_t value) {
    ClientMetric& metric = add(name, help, MetricType::Counter, std::move(labels));
    metric.counter.value = static_cast<double>(value);
  }

  void gauge(const char* name, const char* help, Labels labels, double value) {
    add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = value;
  }

  // `values` are microseconds; what is shown are seconds.
  void seconds(const char* name, const char* help, Labels labels, const Histogram& values) {
    static constexpr std::array<uint64_t, 19> kBounds{
        10,    25,    50,     100,    250,    500,     1000,    2500,    5000,    10000,
        25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000};
    ClientMetric& metric = add(name, help, MetricType::Histogram, std::move(labels));
    metric.histogram.sample_count = values.count();
    metric.histogram.sample_sum = static_cast<double>(values.sum()) / 1e6;
    for (const uint64_t bound : kBounds)
      metric.histogram.bucket.push_back(
          {.cumulative_count = 0, .upper_bound = static_cast<double>(bound) / 1e6});
    metric.histogram.bucket.push_back({.cumulative_count = values.count(), .upper_bound = HUGE_VAL});
    values.each_bucket([&](uint64_t, uint64_t highest, uint64_t count) {
      for (size_t i = 0; i < kBounds.size(); ++i)
        if (highest <= kBounds[i]) metric.histogram.bucket[i].cumulative_count += count;
    });
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  ClientMetric& add(const char* name, const char* help, MetricType type, Labels labels) {
    if (families_.empty() || families_.back().name != name) {
      MetricFamily& family = families_.emplace_back();
      family.name = name;
      family.help = help;
      family.type = type;
    }
    ClientMetric& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  std::vector<MetricFamily> families_;
};

void requests(const Snapshot& view, Families& out) {
  const Counters& counters = view.counters;
  for (size_t i = 0; i < kStatuses; ++i)
    out.counter("redoubt_requests_total", "requests that ended, by outcome",
                {{"outcome", wire::name_of(static_cast<wire::Status>(i))}}, counters.requests[i]);
  for (size_t i = 1; i < kRefusals; ++i)
    out.counter("redoubt_refusals_total", "requests refused, by reason",
                {{"reason", wire::name_of(static_cast<wire::Refusal>(i))}}, counters.refusals[i]);
  out.seconds("redoubt_request_seconds", "from admission to a successful reply", {}, view.request_us);
  out.gauge("redoubt_queue_length", "requests that wait at the manager for a replica", {}, view.queued);
  out.gauge("redoubt_pending_requests", "requests admitted and not yet ended", {}, view.pending);
  out.counter("redoubt_resends_total", "requests sent again by their client", {{"found", "running"}},
              counters.joined);
  out.counter("redoubt_resends_total", "", {{"found", "ended"}}, counters.answered_again);
}

void copies(const Snapshot& view, Families& out) {
  const Counters& counters = view.counters;
  for (size_t i = 0; i < kCopyFates; ++i)
    out.counter("redoubt_copies_total", "copies that ended, by fate", {{"fate", kCopyFateNames[i]}},
                counters.copies[i]);
  out.counter("redoubt_copies_dispatched_total", "copies sent to replicas", {}, counters.dispatched);
  out.gauge("redoubt_copies_outstanding", "copies sent whose replica has not said how they ended", {},
            view.copies_outstanding);
  out.counter("redoubt_copies_retried_total", "copies sent because another failed or was lost", {},
              counters.retried);
  const auto extra = [&](const char* why, uint64_t value) {
    out.counter("redoubt_extra_copies_total", "copies beyond the first that were not asked for by number",
                {{"why", why}}, value);
  };
  extra("hedge", counters.hedges);
  extra("backup", counters.backups_sent);
  extra("idle", counters.extras);
  out.counter("redoubt_extra_copies_gave_way_total", "extra copies that a first copy took the worker of", {},
              counters.extras_gave_way);
  out.counter("redoubt_allowance_spent_total", "extra copies that were not sent: their share was used up", {},
              counters.allowance_spent);
  const auto backup = [&](const char* what, uint64_t value) {
    out.counter("redoubt_backups_total", "backups, by what became of the plan", {{"what", what}}, value);
  };
  backup("planned", counters.backups_planned);
  backup("cancelled", counters.backups_cancelled);
  backup("without_slot", counters.backups_without_slot);
  out.counter("redoubt_rescued_by_spares_total", "copies that a replica lost and a spare one got", {},
              counters.rescued_by_spares);
  out.counter("redoubt_executions_started_expired_total",
              "executions that began after their deadline: must stay 0", {}, counters.started_expired);
  for (size_t i = 0; i < kLateResults; ++i)
    out.counter("redoubt_late_results_total", "results dropped, by reason", {{"reason", kLateResultNames[i]}},
                counters.late_results[i]);
}

void peers(const Snapshot& view, Families& out) {
  for (const ServiceView& service : view.services)
    out.gauge("redoubt_replicas", "replicas connected, by service", {{"service", service.name}},
              service.replicas);
  for (const ServiceView& service : view.services)
    out.gauge("redoubt_hedge_delay_seconds", "after which a second copy leaves; 0: not known yet",
              {{"service", service.name}}, to_seconds(service.hedge_delay));
  for (const ServiceView& service : view.services)
    out.seconds("redoubt_wait_seconds", "time in queues at one level, of the copy that won",
                {{"service", service.name}}, service.wait_us);
  for (const ServiceView& service : view.services)
    out.seconds("redoubt_service_seconds", "running time of the copy that won", {{"service", service.name}},
                service.service_us);
  out.gauge("redoubt_clients", "clients connected", {}, view.clients);
  out.counter("redoubt_replicas_lost_total", "replicas that died, fell silent or left with copies", {},
              view.counters.replicas_lost);
  out.counter("redoubt_clients_lost_total",
              "clients whose link went, also of those that had ended as they should", {},
              view.counters.clients_lost);
  out.counter("redoubt_links_accepted_total", "connections accepted", {}, view.links.accepted);
  out.counter("redoubt_links_turned_away_total", "connections not accepted: too many in handshake", {},
              view.links.turned_away);
  for (size_t i = 1; i < kCloseReasons; ++i)
    out.counter("redoubt_links_closed_total", "connections closed by the broker, by reason",
                {{"reason", wire::name_of(static_cast<wire::CloseReason>(i))}}, view.links.closed[i]);
}

void group(const Snapshot& view, Families& out) {
  out.gauge("redoubt_epoch", "number of the manager's rule", {}, static_cast<double>(view.epoch.number));
  for (const BrokerRole role :
       {BrokerRole::kStandby, BrokerRole::kManager, BrokerRole::kWitness, BrokerRole::kSuspended})
    out.gauge("redoubt_role", "1 for the role this broker has", {{"role", name_of(role)}},
              role == view.role ? 1 : 0);
  out.counter("redoubt_checkpoint_seq", "changes of the checkpointed state", {}, view.checkpoint_seq);
  out.gauge("redoubt_checkpoint_lag", "changes that the slowest in-sync standby has not acknowledged", {},
            static_cast<double>(view.checkpoint_lag));
  out.gauge("redoubt_standbys_in_sync", "standbys that hold all that this manager has", {},
            view.standbys_in_sync);
  out.gauge("redoubt_in_sync_set_version", "version of the in-sync set within its epoch", {},
            static_cast<double>(view.sync_set.version));
  out.gauge("redoubt_unprotected", "1 while an acknowledgement was asked for and nobody is in sync", {},
            view.unprotected ? 1 : 0);
  out.gauge("redoubt_stale", "1 while the manager took over without having been in sync", {},
            view.stale ? 1 : 0);
  out.counter("redoubt_failovers_total", "times this broker took over from another", {},
              view.counters.failovers);
  out.counter("redoubt_sent_again_total", "inherited requests that no replica held", {},
              view.counters.sent_again);
  out.counter("redoubt_copies_adopted_total", "copies that a replica held from an earlier manager", {},
              view.counters.adopted);
  out.counter("redoubt_standbys_lost_total", "standbys that left the in-sync set", {},
              view.counters.standbys_lost);
}

}  // namespace

std::string metrics_text(const Snapshot& view) {
  Families out;
  requests(view, out);
  copies(view, out);
  peers(view, out);
  group(view, out);
  return out.text();
}

}  // namespace redoubt::broker
