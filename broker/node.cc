// Which part of a broker an event concerns; see node.h.
#include "broker/node.h"

#include <algorithm>

namespace redoubt::broker {

Node::Node(Settings settings, GroupSettings group, Memory memory)
    : settings_(std::move(settings)), election_(std::move(group), memory), standby_(settings_.held_limit) {}

void Node::set_name(std::string name) {
  settings_.name = std::move(name);
  if (rules()) broker_->set_name(settings_.name);
}

Election::Turn Node::turn(Time now, Effects& effects) {
  // What this broker could rule with, or rules with: pulses and questions tell it.
  if (rules())
    election_.holds({broker_->state().epoch, broker_->state().checkpoint_seq}, broker_->state().state_hash,
                    0);
  else
    election_.holds(standby_.position(), standby_.hash(), standby_.received());
  election_due_ = Time{};
  return {now, effects};
}

bool Node::ready() const { return acts() || (!rules() && standby_.follows()); }

BrokerRole Node::role() const {
  if (rules() && acted_) return suspended_ ? BrokerRole::kSuspended : BrokerRole::kManager;
  return election_.settings().kind == wire::Kind::kWitness ? BrokerRole::kWitness : BrokerRole::kStandby;
}

struct Node::Happened {
  Node& node;
  Time now;
  const Event& event;
  Effects& effects;

  void operator()(const Tick&) const {
    if (node.acts() && node.broker_->next_deadline() <= now) node.broker_->step(now, event, effects);
  }
  void operator()(const ClientUp& one) const {
    if (now < node.woke_until_) {
      effects.emplace_back(CloseLink{one.link, wire::CloseReason::kHandshakeTime,
                                     "this broker stood still: how long frames take cannot be told from it"});
      return;
    }
    node.guests_[one.link] = Guest{};
    node.guests_[one.link].hello = one.hello;
    node.guests_[one.link].arrived = now;
    node.guest_came(now, one.link, effects);
  }
  void operator()(const ReplicaUp& one) const {
    const auto replicas = std::ranges::count_if(
        node.guests_, [](const auto& each) { return each.second.registration.has_value(); });
    if (replicas >= kMaxReplicas) {
      effects.emplace_back(CloseLink{one.link, wire::CloseReason::kOversize, "too many replicas"});
      return;
    }
    Guest& guest = node.guests_[one.link] = Guest{};
    guest.hello = one.hello;
    guest.registration = one.registration;
    guest.address = one.address;
    guest.last_heard = now;
    guest.heard_sent_us = one.hello.sent_us;
    for (const std::string& service : one.registration.services)
      if (node.services_.size() < kMaxServices) node.services_.insert(service);
    if (node.guests_due_ == kNever) node.guests_due_ = later(now, node.settings_.heartbeat);
    // A standby answers at once: with a manager's answer the replica knows that it is registered.
    if (!node.acts())
      effects.emplace_back(SendDummy{one.link, {.sent_us = to_us(now), .echo_us = one.hello.sent_us}});
    node.guest_came(now, one.link, effects);
  }
  void operator()(const LinkLost& one) const { node.link_lost(now, one.link, one.why, effects); }
  void operator()(const BrokerUp& one) const { node.broker_up(now, one, effects); }
  void operator()(const BrokerUnreachable& one) const {
    node.election_.unreachable(node.turn(now, effects), one.broker, one.refused);
  }
  void operator()(const PulseArrived& one) const { node.pulse_arrived(now, one.link, one.pulse, effects); }
  void operator()(const VoteAskArrived& one) const {
    if (const Other* other = node.member(one.link))
      node.election_.asked(node.turn(now, effects), other->number, one.ask);
  }
  void operator()(const VoteArrived& one) const {
    if (const Other* other = node.member(one.link))
      node.election_.voted(node.turn(now, effects), other->number, one.vote);
  }
  void operator()(const HandOverArrived& one) const {
    if (const Other* other = node.member(one.link))
      node.election_.handed_over(node.turn(now, effects), other->number, one.hand_over);
  }
  void operator()(const StreamArrived& one) const {
    node.stream_arrived(now, one.link, one.message, effects);
  }
  void operator()(const Persisted& one) const { node.election_.written(node.turn(now, effects), one.number); }
  void operator()(const TurnEnded&) const { node.turn_ended(now, effects); }
  void operator()(const StopAsked&) const { node.stop(now, effects); }
  // All that clients and replicas say.
  template <class Said>
  void operator()(const Said&) const {
    node.give_to_broker(now, event, effects);
  }
};

void Node::step(Time now, const Event& event, Effects& effects) {
  CHECK(now >= last_step_);
  const size_t from = effects.size();
  if (election_due_ == Time{}) election_due_ = election_.next_deadline();
  if (own_due() <= now) tick(now, effects);
  std::visit(Happened{*this, now, event, effects}, event);
  settle(now, effects);
  note_closed_links(now, from, effects);
  last_step_ = now;
}

void Node::tick(Time now, Effects& effects) {
  const Time due = own_due();
  const Duration stalled =
      last_step_ == Time{} || due == Time{} ? Duration::zero() : now - std::max(due, last_step_);
  if (stalled > 2 * settings_.heartbeat) woke_until_ = later(now, kWaking);
  election_.tick(turn(now, effects), stalled);
  while (const BrokerNumber silent = election_.silent_peer(now)) {
    const auto found = std::find_if(others_.begin(), others_.end(),
                                    [&](const auto& each) { return each.second.number == silent; });
    CHECK(found != others_.end());
    close_other(now, found->first, wire::CloseReason::kSilent, "it has said nothing in time", effects);
  }
  // Before anything else is done: a manager that does not know whether it still rules does nothing.
  settle(now, effects);
  if (guests_due_ <= now) keep_guests_warm(now, stalled, effects);
  watch_trouble(now, effects);
  if (leave_at_ <= now && !left_) {
    left_ = true;
    leave_at_ = kNever;
    effects.emplace_back(Left{});
  }
}

Time Node::next_deadline() const {
  if (election_due_ == Time{}) election_due_ = election_.next_deadline();
  Time due = own_due();
  if (acts()) due = std::min(due, broker_->next_deadline());
  return due;
}

void Node::link_lost(Time now, LinkId link, const std::string& why, Effects& effects) {
  if (other(link)) return other_lost(now, link, why, effects);
  guests_.erase(link);
  if (!rules()) return;
  if (suspended_ && !replaying_)
    kept_.push_back(KeptLoss{link, why});
  else
    broker_->step(now, LinkLost{link, why}, effects);
}

// Links that a step has closed: what their loss means is dealt with now, before anything else is heard.
void Node::note_closed_links(Time now, size_t from, Effects& effects) {
  for (size_t i = from; i < effects.size(); ++i) {
    const auto* closed = std::get_if<CloseLink>(&effects[i]);
    if (!closed) continue;
    const LinkId link = closed->link;
    guests_.erase(link);
    // The text is copied: what follows appends to the effects, which may move.
    if (other(link)) other_lost(now, link, std::string(closed->text), effects);
  }
}

}  // namespace redoubt::broker
