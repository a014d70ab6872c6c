// Guests: clients and replicas whose links are kept warm while this broker does not act: a standby answers
// replicas' signs of life and gives its own, a suspended manager keeps what they say until it knows what it
// is; see node.h.
#include "broker/node.h"

namespace redoubt::broker {

namespace {

// An event that can wait, as what it was.
struct Keep {
  using Made = std::optional<wire::Message>;
  bool payload_skipped = false;

  Made operator()(const SubmitArrived& event) {
    payload_skipped = event.payload_skipped;
    return std::move(event.submit);
  }
  Made operator()(const CopyDone& event) {
    payload_skipped = event.payload_skipped;
    return std::move(event.done);
  }
  Made operator()(const CancelArrived& event) { return event.cancel; }
  Made operator()(const AcknowledgeArrived& event) { return event.acknowledge; }
  Made operator()(const CopyStarted& event) { return event.started; }
  Made operator()(const DummyArrived& event) { return event.dummy; }
  Made operator()(const HoldingArrived& event) { return event.holding; }
  Made operator()(const ReplicaLeaving&) { return wire::Leaving{}; }
  template <class Other>
  Made operator()(const Other&) {
    return std::nullopt;
  }
};

struct LinkOf {
  template <class Arrived>
  LinkId operator()(const Arrived& event) const {
    if constexpr (requires { event.link; })
      return event.link;
    else
      return kNoLink;
  }
};

}  // namespace

void Node::give_to_broker(Time now, const Event& event, Effects& effects) {
  if (acts() || replaying_) return broker_->step(now, event, effects);
  guest_said(now, event, effects);
  if (!rules()) return;  // it will be sent again to whoever rules
  Keep keep;
  if (auto message = std::visit(keep, event))
    kept_.push_back(KeptMessage{std::visit(LinkOf{}, event), std::move(*message), keep.payload_skipped, now});
}

void Node::guest_came(Time now, LinkId link, Effects& effects) {
  if (!rules()) return;
  if (suspended_ && !replaying_) {
    kept_.push_back(KeptArrival{link});
    return;
  }
  const auto found = guests_.find(link);
  if (found == guests_.end()) return;
  const Guest& guest = found->second;
  if (guest.registration)
    broker_->step(now, ReplicaUp{link, guest.hello, *guest.registration, guest.address}, effects);
  else
    broker_->step(now, ClientUp{link, guest.hello, guest.arrived}, effects);
}

// What a replica's link needs, whoever rules.
void Node::guest_said(Time now, const Event& event, Effects& effects) {
  const LinkId link = std::visit(LinkOf{}, event);
  const auto found = guests_.find(link);
  if (found == guests_.end()) return;
  Guest& guest = found->second;
  guest.last_heard = now;
  if (std::holds_alternative<ReplicaLeaving>(event)) guest.leaving = true;
  const auto* dummy = std::get_if<DummyArrived>(&event);
  if (!dummy) return;
  guest.heard_sent_us = dummy->dummy.sent_us;
  if (dummy->dummy.answer)
    effects.emplace_back(SendDummy{link, {.sent_us = to_us(now), .echo_us = guest.heard_sent_us}});
}

void Node::keep_guests_warm(Time now, Duration stalled, Effects& effects) {
  guests_due_ = later(now, settings_.heartbeat);
  if (acts()) return;
  std::vector<LinkId> silent;
  for (auto& [link, guest] : guests_) {
    if (!guest.registration) continue;
    // One that was stopped itself, or reads nothing just now, has heard nobody.
    if (stalled > 2 * settings_.heartbeat || rules()) guest.last_heard = now;
    if (later(guest.last_heard, settings_.dead_after) <= now)
      silent.push_back(link);
    else
      effects.emplace_back(
          SendDummy{link, {.answer = true, .sent_us = to_us(now), .echo_us = guest.heard_sent_us}});
  }
  for (const LinkId link : silent) {
    effects.emplace_back(CloseLink{link, wire::CloseReason::kSilent, "said nothing in time"});
    guests_.erase(link);
  }
}

}  // namespace redoubt::broker
