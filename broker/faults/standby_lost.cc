// standby_lost: followers of the checkpoint stream come, acknowledge, fall behind and go. One that cannot
// keep up is given up before it costs memory or time: it comes back and collects anew.
#include <algorithm>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

uint64_t most_under_way(const State& state) {
  return std::max(kFollowerBytes, 2 * state.settings.max_payload);
}

void leave_sync(State& state, const Follower& follower) {
  if (follower.number == kNoBroker) return;
  state.in_sync &= ~only(follower.number);
  std::erase(state.succession, follower.number);
}

}  // namespace

std::string too_many_learners() {
  return "too many brokers that --join: " + std::to_string(kMaxLearners) +
         " may follow a group from outside; stop one of them, or make this one a member of --group";
}

void follower_up(Turn& turn, LinkId link, BrokerNumber number, std::string name) {
  State& state = turn.state;
  const auto learners = std::ranges::count(state.followers, kNoBroker, &Follower::number);
  if (number == kNoBroker && learners >= kMaxLearners) {
    turn.effects.emplace_back(CloseLink{link, wire::CloseReason::kOversize, too_many_learners()});
    return;
  }
  CHECK(state.followers.size() < kMaxFollowers);
  Follower& follower = state.followers.emplace_back();
  follower.link = link;
  follower.number = number;
  follower.name = std::move(name);
  turn.effects.emplace_back(SendCollect{link, {.epoch = state.epoch, .end = false}});
  collect_more(turn, follower);
}

void follower_heard(Turn& turn, LinkId link, const wire::Pulse& pulse) {
  State& state = turn.state;
  Follower* follower = state.follower_of(link);
  // What it said before it followed this manager counts bytes of another stream.
  if (!follower || pulse.known != state.epoch) return;
  follower->received_bytes = std::clamp(pulse.received, follower->received_bytes, follower->sent_bytes);
  if (pulse.position.epoch == state.epoch) {
    follower->position = pulse.position;
    follower->hash = pulse.hash;
  }
  if (follower->received_bytes >= follower->mark_bytes) {
    follower->mark_at = kNever;
    if (follower->sent_bytes > follower->received_bytes) {
      follower->mark_bytes = follower->sent_bytes;
      follower->mark_at = later(turn.now, state.settings.dead_after);
    }
  }
  if (follower->stage == Follower::Stage::kCollecting) collect_more(turn, *follower);
  if (follower->stage == Follower::Stage::kCatchingUp && follower->position.epoch == state.epoch &&
      follower->position.seq >= follower->end_seq) {
    follower->stage = Follower::Stage::kInSync;
    turn.effects.emplace_back(Note{Note::Kind::kInSync, follower->name, {}});
    if (follower->number != kNoBroker) {
      state.in_sync |= only(follower->number);
      state.succession.push_back(follower->number);
    }
  }
  dispatch_confirmed(turn);
}

void follower_lost(Turn& turn, LinkId link, const std::string& why) {
  State& state = turn.state;
  const Follower* follower = state.follower_of(link);
  if (!follower) return;
  leave_sync(state, *follower);
  if (follower->stage == Follower::Stage::kInSync) {
    ++state.counters.standbys_lost;
    turn.effects.emplace_back(Note{Note::Kind::kOutOfSync, follower->name, why});
  }
  state.followers.erase(state.followers.begin() + (follower - state.followers.data()));
  dispatch_confirmed(turn);
}

void drop_slow_followers(Turn& turn) {
  State& state = turn.state;
  for (size_t i = state.followers.size(); i-- > 0;) {
    const Follower& follower = state.followers[i];
    const uint64_t under_way = follower.sent_bytes - follower.received_bytes;
    std::string why;
    if (under_way > most_under_way(state))
      why = std::to_string(under_way) + " bytes of the checkpoint stream are unacknowledged";
    else if (follower.mark_at <= turn.now)
      why = "it has not acknowledged the checkpoint stream in time";
    else
      continue;
    const LinkId link = follower.link;
    turn.effects.emplace_back(CloseLink{link, wire::CloseReason::kSlow, why});
    follower_lost(turn, link, why);
  }
}

Time followers_due(const State& state) {
  Time due = kNever;
  for (const Follower& follower : state.followers) {
    due = std::min(due, follower.mark_at);
    if (follower.sent_bytes - follower.received_bytes > most_under_way(state)) due = Time{};
  }
  return due;
}

}  // namespace redoubt::broker
