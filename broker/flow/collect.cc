// collect: a follower that comes at any time gets everything that is here (COL), in pieces, while service
// goes on. The walk goes by client and sequence number; changes are sent only for what it has passed, so it
// ends under any load. Its end carries count and hash.
#include "broker/steps.h"
#include "wire/stream.h"

namespace redoubt::broker {
namespace {

void send_client(Turn& turn, Follower& follower, const Client& client) {
  SendMark send;
  send.to.add(follower.link);
  send.mark.epoch = turn.state.epoch;
  send.mark.client = client.incarnation;
  send.mark.generation = client.generation;
  send.mark.low_water = client.entries.begin();
  send.mark.name = client.name;
  follower.sent_bytes += wire::stream_bytes(send.mark);
  turn.effects.emplace_back(std::move(send));
}

// False: there is nothing to send. A window may have long gaps, and nothing sent is nothing acknowledged.
bool send_entry(Turn& turn, Follower& follower, const Client& client, uint64_t seq) {
  const State& state = turn.state;
  const ClientEntry& entry = client.entries[seq];
  if (entry.is == ClientEntry::Is::kPending) {
    SendAdd send;
    send.to.add(follower.link);
    fill_add(state, state.requests[entry.request], turn.now, send.add);
    follower.sent_bytes += wire::stream_bytes(send.add);
    turn.effects.emplace_back(std::move(send));
  } else if (entry.is == ClientEntry::Is::kSettled) {
    SendRemove send;
    send.to.add(follower.link);
    send.remove.epoch = state.epoch;
    send.remove.request = {client.incarnation, seq};
    send.remove.status = entry.status;
    send.remove.reason = entry.reason;
    send.remove.body_dropped = entry.body_dropped;
    send.remove.low_water = client.entries.begin();
    send.remove.payload = entry.body;
    follower.sent_bytes += wire::stream_bytes(send.remove);
    turn.effects.emplace_back(std::move(send));
  }
  return entry.is != ClientEntry::Is::kUnknown;
}

}  // namespace

void collect_more(Turn& turn, Follower& follower) {
  State& state = turn.state;
  uint32_t left = kCollectedAStep, looks = kLookedAtAStep;
  const auto has_room = [&] {
    return left > 0 && looks > 0 && follower.sent_bytes - follower.received_bytes < kCollectBytes;
  };
  while (has_room()) {
    const ClientId id = state.clients.next(follower.slot);
    if (!id) {
      follower.stage = Follower::Stage::kCatchingUp;
      follower.end_seq = state.checkpoint_seq;
      turn.effects.emplace_back(SendCollect{follower.link,
                                            {.epoch = state.epoch,
                                             .end = true,
                                             .seq = state.checkpoint_seq,
                                             .count = state.requests.size(),
                                             .hash = state.state_hash}});
      break;
    }
    const Client& client = state.clients[id];
    if (id.slot > follower.slot || follower.seq == 0) {
      follower.slot = id.slot;
      follower.seq = client.entries.begin();
      send_client(turn, follower, client);
      --left;
    }
    follower.seq = std::max(follower.seq, client.entries.begin());
    for (; follower.seq < client.entries.end() && has_room(); ++follower.seq, --looks)
      left -= send_entry(turn, follower, client, follower.seq) ? 1u : 0u;
    if (follower.seq < client.entries.end()) break;
    ++follower.slot;
    follower.seq = 0;
  }
  if (follower.mark_at == kNever && follower.sent_bytes > follower.received_bytes) {
    follower.mark_bytes = follower.sent_bytes;
    follower.mark_at = later(turn.now, state.settings.dead_after);
  }
}

}  // namespace redoubt::broker
