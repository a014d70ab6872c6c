// What the tests of managers that change share: a group of three brokers around the replica's core.
#pragma once

#include <map>

#include "replica_fixture.h"

namespace redoubt::replica {

// Broker 0 is the first manager, with kLink and epoch 1; these take over.
inline constexpr LinkId kSecond{1, 1};
inline constexpr LinkId kThird{2, 1};
inline constexpr wire::Epoch kFirstEpoch{1, 0}, kSecondEpoch{2, 1}, kThirdEpoch{3, 2};

class ReplicaFailoverTest : public ReplicaTest {
 protected:
  // A manager, and two standbys that will follow it.
  void build_group(Settings settings = {}) {
    settings.brokers = 3;
    build(std::move(settings));
    connect();
    connect(kSecond, kFirstEpoch, false);
    connect(kThird, kFirstEpoch, false);
    effects_.clear();
  }

  void announce(LinkId link, wire::Epoch epoch, bool rules = true) {
    step(AnnounceArrived{link, {.epoch = epoch, .rules = rules, .sent_us = to_us(now_)}});
  }
  void adopt(std::vector<wire::Adopted> adopted, LinkId link = kSecond, wire::Epoch epoch = kSecondEpoch) {
    step(AdoptArrived{link, {.epoch = epoch, .adopted = std::move(adopted), .dropped = {}}});
  }
  void drop(std::vector<uint64_t> dropped) {
    step(AdoptArrived{kSecond, {.epoch = kSecondEpoch, .adopted = {}, .dropped = std::move(dropped)}});
  }

  // What the last Holding on this link says, by the requests' numbers.
  std::map<uint64_t, wire::Held> held_by(LinkId link) const {
    std::map<uint64_t, wire::Held> held;
    for (const Send& send : all<Send>()) {
      const auto* holding = std::get_if<wire::Holding>(&send.message);
      if (!holding || send.link != link) continue;
      held.clear();
      for (const wire::Held& one : holding->held) held[one.request.seq] = one;
    }
    return held;
  }
  uint64_t handle(uint64_t seq, LinkId link = kSecond) const { return held_by(link).at(seq).handle; }

  std::vector<wire::Done> done_on(LinkId link) const {
    std::vector<wire::Done> found;
    for (const Send& send : all<Send>())
      if (const auto* done = std::get_if<wire::Done>(&send.message); done && send.link == link)
        found.push_back(*done);
    return found;
  }

  void end_with(size_t index, size_t bytes) {
    CopyEnded ended;
    ended.copy = all<StartCopy>().at(index).copy;
    ended.result = Payload(std::string(bytes, 'x'));
    ended.started_at = ended.ended_at = now_;
    step(std::move(ended));
  }
};

}  // namespace redoubt::replica
