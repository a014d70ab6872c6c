// What a live request adds to the state hash. The hash is the sum over all of them, so that it does not
// depend on the order of changes: equal states have equal hashes, on a manager and on its standbys.
#pragma once

#include <cstdint>

#include "wire/message.h"

namespace redoubt::broker {

// A strong mix, so that the sum of many stays a good hash (splitmix64's finisher).
constexpr uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

constexpr uint64_t digest_of(const wire::RequestId& id, uint32_t level, uint32_t attempts,
                             uint64_t payload_size) {
  uint64_t digest = mix(id.client + 0x9e3779b97f4a7c15U);
  digest = mix(digest ^ id.seq);
  digest = mix(digest ^ (uint64_t{level} << 32 | attempts));
  return mix(digest ^ payload_size);
}

}  // namespace redoubt::broker
