// checkpoint: nothing leaves for a replica before the state that survives the manager knows of it. Every
// change has a sequence number of its epoch, and the state has a hash that is the same wherever the same
// requests are as far.
#include "broker/steps.h"

namespace redoubt::broker {
namespace {

// A strong mix, so that the sum of many stays a good hash whatever the order of the changes (splitmix64's
// finisher).
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

uint64_t digest_of(const Request& request) {
  uint64_t digest = mix(request.id.client + 0x9e3779b97f4a7c15U);
  digest = mix(digest ^ request.id.seq);
  digest = mix(digest ^ (uint64_t{request.level} << 32 | request.attempts));
  return mix(digest ^ request.payload.size());
}

}  // namespace

void checkpoint_add(Turn& turn, Request& request) {
  State& state = turn.state;
  ++state.checkpoint_seq;
  state.state_hash -= request.digest;
  request.digest = digest_of(request);
  state.state_hash += request.digest;
}

void checkpoint_remove(Turn& turn, Request& request) {
  State& state = turn.state;
  ++state.checkpoint_seq;
  state.state_hash -= request.digest;
  request.digest = 0;
}

}  // namespace redoubt::broker
