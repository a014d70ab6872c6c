// Which event a message is, by who sent it. The shell uses it for what has just arrived, the node for what it
// kept, the simulator for what its network delivers. `step` is called with the event, which refers to the
// message. False: a message that this peer has no business sending.
#pragma once

#include "broker/event.h"

namespace redoubt::broker {

template <class Step>
bool client_said(LinkId link, wire::Message& message, bool payload_skipped, Step step) {
  if (auto* submit = std::get_if<wire::Submit>(&message))
    return step(SubmitArrived{link, *submit, payload_skipped}), true;
  if (const auto* cancel = std::get_if<wire::Cancel>(&message))
    return step(CancelArrived{link, *cancel}), true;
  if (const auto* acknowledge = std::get_if<wire::Acknowledge>(&message))
    return step(AcknowledgeArrived{link, *acknowledge}), true;
  return false;
}

template <class Step>
bool replica_said(LinkId link, wire::Message& message, bool payload_skipped, Step step) {
  if (auto* done = std::get_if<wire::Done>(&message))
    return step(CopyDone{link, *done, payload_skipped}), true;
  if (const auto* started = std::get_if<wire::Started>(&message))
    return step(CopyStarted{link, *started}), true;
  if (const auto* dummy = std::get_if<wire::Dummy>(&message)) return step(DummyArrived{link, *dummy}), true;
  if (const auto* holding = std::get_if<wire::Holding>(&message))
    return step(HoldingArrived{link, *holding}), true;
  if (std::holds_alternative<wire::Leaving>(message)) return step(ReplicaLeaving{link}), true;
  return false;
}

template <class Step>
bool broker_said(LinkId link, wire::Message& message, Step step) {
  if (const auto* pulse = std::get_if<wire::Pulse>(&message)) return step(PulseArrived{link, *pulse}), true;
  if (const auto* ask = std::get_if<wire::VoteAsk>(&message)) return step(VoteAskArrived{link, *ask}), true;
  if (const auto* vote = std::get_if<wire::Vote>(&message)) return step(VoteArrived{link, *vote}), true;
  if (const auto* over = std::get_if<wire::HandOver>(&message))
    return step(HandOverArrived{link, *over}), true;
  const bool of_stream =
      std::holds_alternative<wire::Add>(message) || std::holds_alternative<wire::Remove>(message) ||
      std::holds_alternative<wire::Mark>(message) || std::holds_alternative<wire::ClientGone>(message) ||
      std::holds_alternative<wire::Collect>(message);
  return of_stream && (step(StreamArrived{link, message}), true);
}

}  // namespace redoubt::broker
