// Messages of the checkpoint stream, for the tests of those that take it in. All are of one client and one
// epoch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wire/message.h"

namespace redoubt::broker {

inline constexpr uint64_t kClient = 7;
inline constexpr wire::Epoch kEpoch{2, 1};
inline constexpr uint64_t kHeldLimit = 1000;  // bytes of open payloads

inline wire::Add add(uint64_t request, std::string payload = "in") {
  wire::Add made;
  made.epoch = kEpoch;
  made.request = {kClient, request};
  made.levels = {{"decode", 1}, {"scale", 2}};
  made.deadline_us = 5'000'000;
  made.low_water = 1;
  made.payload = Payload(payload);
  return made;
}

inline wire::Add progress(uint64_t request, uint32_t level, uint32_t attempts) {
  wire::Add made;
  made.epoch = kEpoch;
  made.request = {kClient, request};
  made.progress = made.same_payload = true;
  made.level = level;
  made.attempts = attempts;
  made.low_water = 1;
  return made;
}

inline wire::Remove remove(uint64_t request, std::string result = "out") {
  wire::Remove made;
  made.epoch = kEpoch;
  made.request = {kClient, request};
  made.low_water = 1;
  made.payload = Payload(result);
  return made;
}

inline wire::Mark mark(uint64_t low_water, std::string name = {}) {
  wire::Mark made;
  made.epoch = kEpoch;
  made.client = kClient;
  made.generation = 1;
  made.low_water = low_water;
  made.name = std::move(name);
  return made;
}

inline wire::ClientGone gone(std::vector<uint64_t> requests, bool all = false) {
  wire::ClientGone made;
  made.epoch = kEpoch;
  made.client = kClient;
  made.all = all;
  made.requests = std::move(requests);
  return made;
}

}  // namespace redoubt::broker
