// What the commands of BrokerWorld have in common: the words behind a command, and how a payload is shown.
#pragma once

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/duration_text.h"
#include "tests/broker_world.h"

namespace redoubt::testing {

struct BrokerWorld::Arguments {
  std::vector<std::string> words;  // without the command itself
  std::map<std::string, std::string> named;

  const std::string& at(size_t i) const {
    if (i >= words.size()) throw std::runtime_error("a word is missing");
    return words[i];
  }
  std::string get(const std::string& key, std::string otherwise = {}) const {
    const auto found = named.find(key);
    return found == named.end() ? otherwise : found->second;
  }
  uint64_t number(const std::string& key, uint64_t otherwise) const {
    return named.count(key) ? std::stoull(named.at(key)) : otherwise;
  }
  Duration duration(const std::string& key, Duration otherwise) const {
    if (!named.count(key)) return otherwise;
    const auto parsed = parse_duration(named.at(key));
    if (!parsed) throw std::runtime_error(parsed.error());
    return *parsed;
  }
  bool has(const std::string& word) const {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
};

inline std::string shown(const Payload& payload) {
  return payload.size() > 40 ? std::to_string(payload.size()) + " bytes" : "'" + payload.str() + "'";
}

}  // namespace redoubt::testing
