// Findings as numbers and as JSON; see findings.h.
#include "lab/experiment/findings.h"

#include <nlohmann/json.hpp>

namespace redoubt::experiment {
namespace {

using Json = nlohmann::ordered_json;

Json object_of(const Estimate& estimate) { return {{"mean", estimate.mean}, {"error", estimate.error}}; }

Json object_of(Estimate estimate, double unit) {
  return object_of(Estimate{estimate.mean / unit, estimate.error / unit});
}

Json percentiles(const Histogram& ns) {
  const auto us = [&](double p) { return static_cast<double>(ns.quantile(p)) / 1000; };
  return {{"mean", ns.mean() / 1000}, {"p50", us(0.5)},    {"p90", us(0.9)},
          {"p99", us(0.99)},          {"p999", us(0.999)}, {"max", static_cast<double>(ns.max()) / 1000}};
}

}  // namespace

std::vector<double> Findings::series(uint64_t Batch::*what) const {
  std::vector<double> shares;
  for (const Batch& batch : batches)
    if (batch.requests > 0)
      shares.push_back(static_cast<double>(batch.*what) / static_cast<double>(batch.requests));
  return shares;
}

Estimate Findings::per_answer(double Batch::*what) const {
  std::vector<double> means;
  for (const Batch& batch : batches)
    if (batch.answered > 0) means.push_back(batch.*what / static_cast<double>(batch.answered));
  return estimate(means);
}

std::string to_json(const Findings& findings, bool with_batches) {
  constexpr double kMicrosecond = 1e-6;
  Json json;
  json["sent"] = findings.sent;
  json["ok"] = findings.ok;
  json["late"] = findings.late;
  json["expired"] = findings.expired;
  json["refused"] = findings.refused;
  json["failed"] = findings.failed;
  json["timely"] = object_of(findings.per_request(&Batch::timely));
  json["first_timely"] = object_of(findings.per_request(&Batch::first_timely));
  json["copies_sent"] = object_of(findings.per_request(&Batch::copies_sent));
  json["copies_executed"] = object_of(findings.per_request(&Batch::copies_started));
  json["mean_wait_us"] = object_of(findings.per_answer(&Batch::wait), kMicrosecond);
  json["mean_first_wait_us"] = object_of(findings.per_answer(&Batch::first_wait), kMicrosecond);
  json["mean_latency_us"] = object_of(findings.per_answer(&Batch::latency), kMicrosecond);
  json["wait_us"] = percentiles(findings.wait_ns);
  json["latency_us"] = percentiles(findings.latency_ns);
  json["utilisation"] = findings.utilisation;
  json["virtual_seconds"] = to_seconds(findings.span);
  if (with_batches)
    json["batches"] = {{"timely", findings.series(&Batch::timely)},
                       {"first_timely", findings.series(&Batch::first_timely)}};
  return json.dump();
}

}  // namespace redoubt::experiment
