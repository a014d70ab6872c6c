// Status for people; see status_table.h.
#include "tool/status_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace redoubt::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value.get<double>());
    return text;
  }
  if (value.is_array()) {
    std::string text;
    for (const Json& item : value) text += (text.empty() ? "" : ",") + cell(item);
    return text.empty() ? "-" : text;
  }
  if (value.is_object()) {
    // Counters by kind: those that never moved say nothing.
    std::string text;
    for (const auto& [name, item] : value.items())
      if (item != 0) text += (text.empty() ? "" : ", ") + name + " " + cell(item);
    return text.empty() ? "0" : text;
  }
  return value.dump();
}

// "service_us.p50" looks into the object.
Json at(const Json& object, const std::string& path) {
  const size_t dot = path.find('.');
  if (!object.is_object()) return nullptr;
  const auto found = object.find(path.substr(0, dot));
  if (found == object.end()) return nullptr;
  return dot == std::string::npos ? *found : at(*found, path.substr(dot + 1));
}

struct Column {
  const char* title;
  const char* path;
};

void append_table(std::string& to, const Json& rows, const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns) lines[0].emplace_back(column.title);
  for (const Json& row : rows) {
    lines.emplace_back();
    for (const Column& column : columns) lines.back().push_back(cell(at(row, column.path)));
  }
  std::vector<size_t> widths(columns.size());
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const auto& line : lines) {
    to += "  ";
    for (size_t i = 0; i < line.size(); ++i)
      to += line[i] + (i + 1 < line.size() ? std::string(widths[i] - line[i].size() + 2, ' ') : "");
    to += '\n';
  }
}

constexpr const char* kNobody = "none";

// Replicas work for the broker that rules: with another one an empty table of them says nothing.
std::string whose_view(const Json& json) {
  const Json role = at(json, "role");
  if (!role.is_string() || role == "manager" || role == "suspended") return {};
  // Brokers from before "answered_by" name themselves first in their list.
  Json name = at(json, "answered_by");
  if (const Json brokers = at(json, "brokers"); name.is_null() && brokers.is_array() && !brokers.empty())
    name = at(brokers.front(), "name");
  return "as seen by " + (name.is_null() ? "a broker" : cell(name)) + " (" + cell(role) +
         "): replicas and requests are known to the broker that rules\n";
}

// In sync with whom? Where nobody rules that has no answer.
Json brokers_of(const Json& json, bool ruled) {
  Json brokers = at(json, "brokers");
  if (ruled || !brokers.is_array()) return brokers;
  for (Json& broker : brokers)
    if (broker.is_object()) broker["in_sync"] = nullptr;
  return brokers;
}

}  // namespace

Result<std::string> status_table(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Error{"the broker's status is not a JSON object"};
  std::string manager = cell(at(json, "manager"));
  if (manager.empty()) manager = kNobody;
  std::string table = whose_view(json);
  table += "manager " + manager + ", epoch " + cell(at(json, "epoch")) + "\n";
  table += "pending " + cell(at(json, "pending")) + ", queue " + cell(at(json, "queue")) + ", overload " +
           cell(at(json, "overload")) + ", clients " + cell(at(json, "clients")) + "\n";

  if (const Json trouble = at(json, "trouble"); trouble.is_string())
    table += "the broker that answers says: " + cell(trouble) + "\n";

  if (at(json, "stale") == true)
    table +=
        "its rule began as stale: nobody who was in sync was left, and only what clients sent again was "
        "run\n";
  if (at(json, "unprotected") == true)
    table +=
        "unprotected: --checkpoint-ack asks for a standby that has each request, but none is in sync; the "
        "service goes on, and a crash of the manager may lose what its client does not send again\n";
  table += "\nbrokers\n";
  append_table(table, brokers_of(json, manager != kNobody),
               {{"NAME", "name"},
                {"ADDRESS", "address"},
                {"ROLE", "role"},
                {"VOTES", "votes"},
                {"REACHED", "connected"},
                {"IN SYNC", "in_sync"},
                {"CHECKPOINT", "checkpoint_seq"}});
  table += "\nreplicas\n";
  append_table(table, at(json, "replicas"),
               {{"NAME", "name"},
                {"ADDRESS", "address"},
                {"SERVICES", "services"},
                {"WORKERS", "workers"},
                {"OUTSTANDING", "outstanding"},
                {"RUNNING", "running"},
                {"QUEUED", "queued"},
                {"COMPLETED", "completed"},
                {"FAILED", "failed"},
                {"P50 US", "service_us.p50"},
                {"P99 US", "service_us.p99"}});
  const Json counters = at(json, "counters");
  if (counters.is_object() && !counters.empty()) {
    table += "\ncounters\n";
    for (const auto& [name, value] : counters.items()) table += "  " + name + " " + cell(value) + "\n";
  }
  return table;
}

}  // namespace redoubt::tool
