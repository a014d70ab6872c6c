// The replica and its brokers: greeting, heartbeats, silence, farewell; see replica.h.
#include <algorithm>

#include "replica/replica.h"

namespace redoubt::replica {

using wire::CloseReason;

namespace {

// The link an event came by, for those that came by one.
struct LinkOf {
  const LinkId* operator()(const WelcomeArrived& event) const { return &event.link; }
  const LinkId* operator()(const DummyArrived& event) const { return &event.link; }
  const LinkId* operator()(const CopyArrived& event) const { return &event.link; }
  const LinkId* operator()(const HaltArrived& event) const { return &event.link; }
  const LinkId* operator()(const AnnounceArrived& event) const { return &event.link; }
  const LinkId* operator()(const AdoptArrived& event) const { return &event.link; }
  const LinkId* operator()(const StrayArrived& event) const { return &event.link; }
  template <class Other>
  const LinkId* operator()(const Other&) const {
    return nullptr;
  }
};

}  // namespace

Replica::Peer* Replica::find(LinkId link) {
  CHECK(link.broker < peers_.size());
  Peer& peer = peers_[link.broker];
  return peer.phase != Phase::kDown && peer.link == link ? &peer : nullptr;
}

// Whatever arrives proves that the broker was alive when it sent it.
void Replica::note_heard(Time now, const Event& event) {
  const LinkId* link = std::visit(LinkOf{}, event);
  if (!link) return;
  if (Peer* peer = find(*link)) peer->last_heard = now;
}

// This process did not run when it wanted to: whatever its peers sent meanwhile lies unread in its sockets,
// so their silence proves nothing.
void Replica::forgive_own_stall(Time now, Time due) {
  for (Peer& peer : peers_)
    if (peer.phase != Phase::kDown && now > later(due, 2 * peer.heartbeat)) peer.last_heard = now;
}

Time Replica::due(const Peer& peer) {
  switch (peer.phase) {
    case Phase::kDown:
      return kNever;
    case Phase::kGreeted:
      return later(peer.last_heard, kHandshakeLimit);
    case Phase::kWelcomed:
    case Phase::kRegistered:
      break;
  }
  return std::min(
      {later(peer.last_sent, peer.heartbeat), later(peer.last_heard, peer.dead_after), peer.ask_at});
}

void Replica::keep_alive(Turn& turn) {
  for (Peer& peer : peers_) {
    if (peer.phase == Phase::kDown) continue;
    if (peer.phase == Phase::kGreeted) {
      if (turn.now >= later(peer.last_heard, kHandshakeLimit))
        close(turn, peer, CloseReason::kHandshakeTime,
              "no welcome within " + std::to_string(to_us(kHandshakeLimit) / 1000) + " ms");
      continue;
    }
    if (turn.now >= later(peer.last_heard, peer.dead_after))
      close(turn, peer, CloseReason::kSilent,
            "silent for " + std::to_string(to_us(turn.now - peer.last_heard) / 1000) + " ms");
    else if (turn.now >= peer.ask_at)
      send_dummy(turn, peer, true);
    else if (turn.now >= later(peer.last_sent, peer.heartbeat))
      send_dummy(turn, peer, false);
  }
}

void Replica::on(Turn& turn, LinkUp& event) {
  CHECK(event.link.broker < peers_.size());
  Peer& peer = peers_[event.link.broker];
  CHECK(peer.phase == Phase::kDown);
  peer = Peer{};
  peer.link = event.link;
  peer.phase = Phase::kGreeted;
  peer.last_heard = peer.last_sent = turn.now;
  peer.hello_us = to_us(turn.now);
  wire::Hello hello{.version_min = wire::kVersionMin,
                    .version_max = wire::kVersionMax,
                    .role = wire::Role::kReplica,
                    .name = settings_.name,
                    .cluster = settings_.cluster,
                    .incarnation = settings_.incarnation,
                    .link_generation = event.link.generation,
                    .sent_us = to_us(turn.now)};
  turn.effects.push_back(Send{peer.link, std::move(hello)});
  turn.effects.push_back(Send{peer.link, wire::Register{settings_.services, settings_.workers,
                                                        settings_.queue_limit, settings_.spare}});
}

void Replica::on(Turn& turn, LinkLost& event) {
  Peer* peer = find(event.link);
  if (!peer) return;
  peer->phase = Phase::kDown;
  orphan_copies_of(turn, event.link);
}

void Replica::on(Turn& turn, WelcomeArrived& event) {
  Peer* peer = find(event.link);
  if (!peer) return;
  const wire::Welcome& welcome = event.welcome;
  if (peer->phase != Phase::kGreeted) return close(turn, *peer, CloseReason::kOutOfOrder, "a second welcome");
  if (welcome.version < wire::kVersionMin || welcome.version > wire::kVersionMax)
    return close(turn, *peer, CloseReason::kVersion,
                 "version " + std::to_string(welcome.version) + " is not spoken here");
  peer->phase = Phase::kWelcomed;
  peer->name = welcome.name;
  peer->max_payload = welcome.max_payload;
  peer->heartbeat =
      std::max<Duration>(from_us(static_cast<int64_t>(welcome.heartbeat_us)), kShortestHeartbeat);
  peer->dead_after =
      std::max<Duration>(from_us(static_cast<int64_t>(welcome.dead_after_us)), 2 * peer->heartbeat);
  peer->newest_sent_us = welcome.sent_us;
  peer->transit.bound(peer->hello_us, welcome.sent_us);
  peer->transit.excess(turn.now, welcome.sent_us);
  turn.effects.push_back(Admit{peer->link, welcome.max_payload});
  // A welcome that lay unread: what comes behind it is charged for that until an echo is back.
  peer->ask_at = later(turn.now, kEchoEvery);
  if (!peer->transit.is_sure()) send_dummy(turn, *peer, true);
  if (welcome.rules) begin_rule(turn, *peer, welcome.epoch);
}

void Replica::on(Turn& turn, DummyArrived& event) {
  Peer* peer = find(event.link);
  if (!peer) return;
  if (peer->phase == Phase::kGreeted)
    return close(turn, *peer, CloseReason::kOutOfOrder, "a dummy before the welcome");
  peer->newest_sent_us = event.dummy.sent_us;
  const int64_t echo_us = event.dummy.echo_us;
  if (echo_us > 0 && echo_us <= to_us(turn.now)) peer->transit.bound(echo_us, event.dummy.sent_us);
  peer->transit.excess(turn.now, event.dummy.sent_us);
  if (peer->phase == Phase::kWelcomed) {
    // The broker has read the registration: its answers come in order.
    peer->phase = Phase::kRegistered;
    turn.effects.push_back(Registered{peer->link, peer->name});
  }
  if (event.dummy.answer) send_dummy(turn, *peer, false);
  if (leaving_ && event.dummy.echo_us >= farewell_sent_us_) peer->farewell_heard = true;
}

void Replica::on(Turn& turn, StrayArrived& event) {
  if (Peer* peer = find(event.link))
    close(turn, *peer, CloseReason::kOutOfOrder, "a replica has no use for: " + event.what);
}

// Everybody who could send copies is told, and asked to answer: what arrives before that answer was under way
// and is given back, after it nothing comes.
void Replica::on(Turn& turn, StopAsked&) {
  if (leaving_) return;
  leaving_ = true;
  farewell_sent_us_ = to_us(turn.now);
  farewell_until_ = later(turn.now, kFarewellLimit);
  for (Peer& peer : peers_) {
    if (peer.phase == Phase::kDown) continue;
    if (peer.phase == Phase::kGreeted) {
      close(turn, peer, CloseReason::kStopping, "the replica stops");
      continue;
    }
    turn.effects.push_back(Send{peer.link, wire::Leaving{}});
    send_dummy(turn, peer, true);
  }
  give_back_queue(turn);
  give_up_detached(turn);
}

void Replica::end_if_done(Turn& turn) {
  if (!leaving_ || finished_ || running_ > 0) return;
  const bool all_heard = std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.phase == Phase::kDown || peer.farewell_heard;
  });
  if (!all_heard && turn.now < farewell_until_) return;
  finished_ = true;
  turn.effects.push_back(Finished{});
}

void Replica::close(Turn& turn, Peer& peer, CloseReason reason, std::string text) {
  peer.phase = Phase::kDown;
  turn.effects.push_back(CloseLink{peer.link, reason, std::move(text)});
  orphan_copies_of(turn, peer.link);
}

void Replica::send_dummy(Turn& turn, Peer& peer, bool answer) {
  peer.last_sent = turn.now;
  // The broker's own signs of life echo what it heard a heartbeat ago, and while it sends copies none come:
  // by them alone a busy link would not know after a while how fast its way is.
  if (answer)
    peer.ask_at = later(turn.now, peer.transit.is_sure() ? kEchoEvery : std::min(peer.heartbeat, kEchoEvery));
  turn.effects.push_back(Send{
      peer.link, wire::Dummy{.answer = answer, .sent_us = to_us(turn.now), .echo_us = peer.newest_sent_us}});
}

}  // namespace redoubt::replica
