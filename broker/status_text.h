// What people and machines read about a broker: the status as JSON, the metrics in Prometheus' text format.
// Pure functions of a snapshot, for the admin thread.
#pragma once

#include <string>

#include "broker/snapshot.h"

namespace redoubt::broker {

std::string status_json(const Snapshot& view);
std::string metrics_text(const Snapshot& view);

}  // namespace redoubt::broker
