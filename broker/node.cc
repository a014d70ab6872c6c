// Which part of a broker an event concerns; see node.h.
#include "broker/node.h"

#include <algorithm>

namespace redoubt::broker {

Node::Node(Settings settings, GroupSettings group, Memory memory)
    : settings_(std::move(settings)), election_(std::move(group), memory) {}

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
  if (rules()) return suspended_ ? BrokerRole::kSuspended : BrokerRole::kManager;
  return election_.settings().kind == wire::Kind::kWitness ? BrokerRole::kWitness : BrokerRole::kStandby;
}

struct Node::Happened {
  Node& node;
  Time now;
  Effects& effects;

  void operator()(const Tick&) const {}
  void operator()(const ClientUp& event) const {
    node.guests_[event.link] = Guest{};
    node.guests_[event.link].hello = event.hello;
    node.guests_[event.link].arrived = now;
    node.guest_came(now, event.link, effects);
  }
  void operator()(const ReplicaUp& event) const {
    Guest& guest = node.guests_[event.link] = Guest{};
    guest.hello = event.hello;
    guest.registration = event.registration;
    guest.address = event.address;
    guest.last_heard = now;
    guest.heard_sent_us = event.hello.sent_us;
    for (const std::string& service : event.registration.services)
      if (node.services_.size() < kMaxServices) node.services_.insert(service);
    if (node.guests_due_ == kNever) node.guests_due_ = later(now, node.settings_.heartbeat);
    // A standby answers at once: with a manager's answer the replica knows that it is registered.
    if (!node.acts())
      effects.emplace_back(SendDummy{event.link, {.sent_us = to_us(now), .echo_us = event.hello.sent_us}});
    node.guest_came(now, event.link, effects);
  }
  void operator()(const LinkLost& event) const { node.link_lost(now, event.link, event.why, effects); }
  void operator()(const BrokerUp& event) const { node.broker_up(now, event, effects); }
  void operator()(const BrokerUnreachable& event) const {
    node.election_.unreachable(node.turn(now, effects), event.broker, event.refused);
  }
  void operator()(const PulseArrived& event) const {
    node.pulse_arrived(now, event.link, event.pulse, effects);
  }
  void operator()(const VoteAskArrived& event) const {
    if (const Other* other = node.other(event.link))
      node.election_.asked(node.turn(now, effects), other->number, event.ask);
  }
  void operator()(const VoteArrived& event) const {
    if (const Other* other = node.other(event.link))
      node.election_.voted(node.turn(now, effects), other->number, event.vote);
  }
  void operator()(const HandOverArrived& event) const {
    if (const Other* other = node.other(event.link))
      node.election_.handed_over(node.turn(now, effects), other->number, event.hand_over);
  }
  void operator()(const StreamArrived& event) const {
    node.stream_arrived(now, event.link, event.message, effects);
  }
  void operator()(const Persisted& event) const {
    node.election_.written(node.turn(now, effects), event.number);
  }
  void operator()(const TurnEnded&) const { node.turn_ended(now, effects); }
  void operator()(const StopAsked&) const { node.stop(now, effects); }
  // What clients and replicas say has been dealt with before.
  template <class Other>
  void operator()(const Other&) const {}
};

void Node::step(Time now, const Event& event, Effects& effects) {
  CHECK(now >= last_step_);
  const size_t from = effects.size();
  if (election_due_ == Time{}) election_due_ = election_.next_deadline();
  if (std::min({election_due_, leave_at_, guests_due_}) <= now) tick(now, effects);
  const bool said_by_guest = event.index() >= 3 && event.index() <= 9;
  static_assert(std::is_same_v<std::variant_alternative_t<3, Event>, SubmitArrived>);
  static_assert(std::is_same_v<std::variant_alternative_t<9, Event>, ReplicaLeaving>);
  if (said_by_guest || std::holds_alternative<HoldingArrived>(event))
    give_to_broker(now, event, effects);
  else
    std::visit(Happened{*this, now, effects}, event);
  settle(now, effects);
  // The manager's own time, also when this event was not its business.
  if (acts() && broker_->next_deadline() <= now) broker_->step(now, Tick{}, effects);
  note_closed_links(now, from, effects);
  last_step_ = now;
}

void Node::tick(Time now, Effects& effects) {
  const Time due = std::min(election_due_, leave_at_);
  const Duration stalled =
      last_step_ == Time{} || due == Time{} ? Duration::zero() : now - std::max(due, last_step_);
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
  if (leave_at_ <= now && !left_) {
    left_ = true;
    leave_at_ = kNever;
    effects.emplace_back(Left{});
  }
}

Time Node::next_deadline() const {
  if (election_due_ == Time{}) election_due_ = election_.next_deadline();
  Time due = std::min({election_due_, leave_at_, guests_due_});
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

// Links that a step has closed: nobody will tell of their loss.
void Node::note_closed_links(Time now, size_t from, Effects& effects) {
  for (size_t i = from; i < effects.size(); ++i) {
    const auto* closed = std::get_if<CloseLink>(&effects[i]);
    if (!closed) continue;
    const LinkId link = closed->link;
    guests_.erase(link);
    if (other(link)) other_lost(now, link, closed->text, effects);
  }
}

}  // namespace redoubt::broker
