// How long a manager may act, and which in-sync set counts: by what a majority has echoed and written down;
// see election.h.
#include <algorithm>

#include "broker/group/election.h"

namespace redoubt::broker {

// ---- The lease

void Election::renew_lease() {
  lease_ = Time{};
  if (!rules()) return;
  if (settings_.size == 1) {
    lease_ = kNever;
  } else if (settings_.quorum == Quorum::kOne) {
    lease_ = doubt_until_ == Time{} ? kNever : Time{};
  } else {
    lease_ = lease_from_echoes();
  }
}

// Of a group under a majority. Our own word counts, so one less than that must have echoed.
Time Election::lease_from_echoes() const {
  std::array<Time, wire::kMaxGroup + 1> echoes;
  size_t found = 0;
  each_peer([&](BrokerNumber, const Peer& peer) {
    const bool obeys = peer.told.known.number <= epoch_.number;
    if (peer.up() && peer.kind != wire::Kind::kLearner && obeys) echoes[found++] = peer.echoed;
  });
  const size_t needed = settings_.majority() - 1;
  if (found < needed) return Time{};
  std::nth_element(echoes.begin(), echoes.begin() + (needed - 1), echoes.begin() + static_cast<long>(found),
                   std::greater<>());
  return later(echoes[needed - 1], settings_.demote_after);
}

// ---- The in-sync set

void Election::learn_set(Turn turn, const wire::SyncSet& set) {
  if (!newer(set, memory_.set)) return;
  if (rules() && set.epoch <= epoch_) return;
  memory_.set = set;
  obeyed_ = std::max(obeyed_, set.epoch);
  write(turn);
}

void Election::in_sync(Turn turn, BrokerSet members, const std::vector<BrokerNumber>& succession) {
  CHECK(rules());
  members |= only(settings_.self);
  succession_ = succession;
  if (members == memory_.set.members && memory_.set.epoch == epoch_) return;
  memory_.set = {epoch_, memory_.set.epoch == epoch_ ? memory_.set.version + 1 : 1, members};
  own_write_ = write(turn);
  pulse_all(turn, true);
  refresh_committed();
}

// A set counts when a majority has it on disk; under quorum one our own is enough.
void Election::refresh_committed() {
  if (!newer(memory_.set, committed_) || on_disk_ < own_write_) return;
  uint32_t holders = 1;
  each_peer([&](BrokerNumber, const Peer& peer) {
    if (peer.up() && peer.kind != wire::Kind::kLearner && peer.told.set == memory_.set) ++holders;
  });
  if (settings_.quorum == Quorum::kOne || holders >= settings_.majority()) committed_ = memory_.set;
}

}  // namespace redoubt::broker
