// All that can happen to a broker. An event is a view of what just arrived: messages are referred to, and
// their payloads and strings may be moved out of by the step. The end of time's passing is no event but
// Broker::step's `now`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/time.h"
#include "wire/message.h"

namespace redoubt::broker {

// One link, never used again. The shell gives them out: the low half is a small number that is used again
// once the link is gone, the high half tells its uses apart.
enum class LinkId : uint64_t {};
inline constexpr LinkId kNoLink{0};

// A client has said hello, now or at `arrived`: what its frames take beyond the usual counts from there.
struct ClientUp {
  LinkId link;
  const wire::Hello& hello;
  Time arrived = kNever;
};

// A replica has said hello and registered.
struct ReplicaUp {
  LinkId link;
  const wire::Hello& hello;
  const wire::Register& registration;
  std::string address;
};

struct SubmitArrived {
  LinkId link;
  wire::Submit& submit;
  bool payload_skipped;  // it was over the limit
};

struct CancelArrived {
  LinkId link;
  const wire::Cancel& cancel;
};

struct AcknowledgeArrived {
  LinkId link;
  const wire::Acknowledge& acknowledge;
};

struct CopyStarted {
  LinkId link;
  const wire::Started& started;
};

struct CopyDone {
  LinkId link;
  wire::Done& done;
  bool payload_skipped;
};

struct DummyArrived {
  LinkId link;
  const wire::Dummy& dummy;
};

struct ReplicaLeaving {
  LinkId link;
};

// What a replica has from earlier managers; said to one that begins to rule.
struct HoldingArrived {
  LinkId link;
  const wire::Holding& holding;
};

// ---- Other brokers.

// A broker has enlisted. `dialled`: at the place of this broker of the list, by us; 0: it dialled us.
struct BrokerUp {
  LinkId link;
  const wire::Hello& hello;
  const wire::Enlist& enlist;
  uint32_t dialled;
};

// A broker of the group cannot be reached. `refused`: its host says that nobody listens there.
struct BrokerUnreachable {
  uint32_t broker;
  bool refused;
};

struct PulseArrived {
  LinkId link;
  const wire::Pulse& pulse;
};

struct VoteAskArrived {
  LinkId link;
  const wire::VoteAsk& ask;
};

struct VoteArrived {
  LinkId link;
  const wire::Vote& vote;
};

struct HandOverArrived {
  LinkId link;
  const wire::HandOver& hand_over;
};

// Part of the checkpoint stream: Collect, Add, Remove, Mark or ClientGone.
struct StreamArrived {
  LinkId link;
  wire::Message& message;
};

// What a Persist of this number asked for is on disk, and all before it.
struct Persisted {
  uint64_t number;
};

// Everything that had arrived has been stepped through: the moment to acknowledge it in one go.
struct TurnEnded {};

// The process is to end: hand over, if there is somebody to hand over to.
struct StopAsked {};

// The link is gone, whoever was behind it.
struct LinkLost {
  LinkId link;
  std::string why;
};

// Time has passed: do what is due.
struct Tick {};

using Event = std::variant<Tick, ClientUp, ReplicaUp, SubmitArrived, CancelArrived, AcknowledgeArrived,
                           CopyStarted, CopyDone, DummyArrived, ReplicaLeaving, LinkLost, HoldingArrived,
                           BrokerUp, BrokerUnreachable, PulseArrived, VoteAskArrived, VoteArrived,
                           HandOverArrived, StreamArrived, Persisted, TurnEnded, StopAsked>;

}  // namespace redoubt::broker
