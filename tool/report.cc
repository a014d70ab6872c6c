// A bench's results in words and numbers; see report.h.
#include "tool/report.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/utf8.h"

namespace redoubt::tool {
namespace {

using Json = nlohmann::ordered_json;

// Three digits behind the point: a nanosecond, or a thousandth of a request.
double rounded(double value) { return std::round(value * 1000) / 1000; }
double us(uint64_t ns) { return rounded(static_cast<double>(ns) / 1000); }

Json percentiles(const Histogram& ns) {
  return {{"mean", rounded(ns.mean() / 1000)}, {"p50", us(ns.quantile(0.5))},
          {"p90", us(ns.quantile(0.9))},       {"p99", us(ns.quantile(0.99))},
          {"p999", us(ns.quantile(0.999))},    {"max", us(ns.max())}};
}

double per(uint64_t count, double seconds) {
  return seconds > 0 ? rounded(static_cast<double>(count) / seconds) : 0;
}
double share(uint64_t part, uint64_t of) {
  return of > 0 ? static_cast<double>(part) / static_cast<double>(of) : 0;
}

Json object_of(const Report& report) {
  const Account& a = report.account;
  const double seconds = a.seconds();
  Json json;
  json["sent"] = a.sent;
  json["ok"] = a.of(Outcome::kOk);
  json["late"] = a.of(Outcome::kLate);
  json["expired"] = a.of(Outcome::kExpired);
  json["refused"] = a.of(Outcome::kRefused);
  json["failed"] = a.of(Outcome::kFailed);
  json["lost"] = a.of(Outcome::kLost);
  json["cancelled"] = a.of(Outcome::kCancelled);
  json["duplicated"] = a.duplicated;
  json["unexpected"] = a.unexpected;
  json["seconds"] = rounded(seconds);
  json["rps"] = per(a.answered() + a.of(Outcome::kFailed), seconds);
  json["goodput"] = per(a.of(Outcome::kOk), seconds);
  json["latency_us"] = percentiles(a.latency_ns);
  json["wait_us"] = percentiles(a.wait_ns);
  json["refusal_us"] = percentiles(a.refusal_ns);
  json["copies_per_request"] = rounded(share(a.copies, a.answered()));
  json["timely"] = share(a.of(Outcome::kOk), a.sent);
  json["gap_ms_max"] = rounded(to_seconds(report.longest_gap) * 1000);
  json["failovers"] = a.failovers;
  json["repeated"] = a.repeated;
  return json;
}

std::string line(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string to_json(const Report& report) { return object_of(report).dump(); }

std::string reasons_of(const Report& report) {
  std::string text;
  for (size_t i = 0; i < kOutcomes; ++i)
    if (const std::string& example = report.account.examples[i]; !example.empty())
      text += std::string(name_of(static_cast<Outcome>(i))) + ", such as: " + readable(example, 200) + "\n";
  return text;
}

std::string to_table(const Report& report) {
  const Json json = object_of(report);
  const auto count = [&](const char* name) { return json[name].get<unsigned long long>(); };
  std::string text;
  text += line("%llu sent in %.3f s: %.0f answered a second, %.0f of them in time\n", count("sent"),
               json["seconds"].get<double>(), json["rps"].get<double>(), json["goodput"].get<double>());
  for (const char* name : {"ok", "late", "expired", "refused", "failed", "lost", "cancelled", "duplicated",
                           "repeated", "unexpected"})
    if (count(name) > 0 || std::strcmp(name, "ok") == 0) text += line("  %-12s %12llu\n", name, count(name));
  text += reasons_of(report);
  for (const auto& [name, what] :
       {std::pair{"latency_us", "latency"}, {"wait_us", "wait"}, {"refusal_us", "refusal"}}) {
    const Json& p = json[name];
    if (p["max"].get<double>() <= 0) continue;
    text += line("%-8s us: mean %.1f  p50 %.1f  p90 %.1f  p99 %.1f  p99.9 %.1f  max %.1f\n", what,
                 p["mean"].get<double>(), p["p50"].get<double>(), p["p90"].get<double>(),
                 p["p99"].get<double>(), p["p999"].get<double>(), p["max"].get<double>());
  }
  text += line("longest time without a reply: %.3f ms; take-overs: %llu\n", json["gap_ms_max"].get<double>(),
               count("failovers"));
  return text;
}

Failure append_csv(const Report& report, const std::string& path) {
  std::string head, row;
  const Json flat = object_of(report).flatten();
  for (const auto& [name, value] : flat.items()) {
    // "/latency_us/p50" is the column latency_us_p50.
    std::string column = name.substr(1);
    for (char& c : column)
      if (c == '/') c = '_';
    head += (head.empty() ? "" : ",") + column;
    row += (row.empty() ? "" : ",") + value.dump();
  }
  std::ofstream file(path, std::ios::app | std::ios::ate);
  if (file && file.tellp() == 0) file << head << '\n';
  file << row << '\n';
  file.close();
  if (!file) return Error{"cannot write '" + path + "': " + std::strerror(errno)};
  return {};
}

}  // namespace redoubt::tool
