// What a bench prints: one JSON object, a table for people, a line of CSV.
#pragma once

#include <string>

#include "core/result.h"
#include "tool/account.h"

namespace redoubt::tool {

struct Report {
  Account account;
  Duration longest_gap{};
};

std::string to_json(const Report& report);
// With reasons_of().
std::string to_table(const Report& report);
// The first reason of each way to end that gives one, a line each.
std::string reasons_of(const Report& report);
// Appends one line, and a head if the file is new.
Failure append_csv(const Report& report, const std::string& path);

}  // namespace redoubt::tool
