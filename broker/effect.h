// All that a broker can do to the world. The shell carries them out in order and decides nothing.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "broker/event.h"
#include "wire/message.h"

namespace redoubt::broker {

struct SendCopy {
  LinkId to;
  wire::Copy copy;
};

struct SendHalt {
  LinkId to;
  wire::Halt halt;
};

struct SendReply {
  LinkId to;
  wire::Reply reply;
};

struct SendDummy {
  LinkId to;
  wire::Dummy dummy;
};

// Say goodbye and close. The core has already forgotten the link: no LinkLost follows.
struct CloseLink {
  LinkId link;
  wire::CloseReason reason;
  std::string text;
};

// For the log and the event stream: what an operator wants to know.
struct Note {
  enum class Kind : uint8_t {
    kReplicaJoined,
    kReplicaLost,
    kReplicaLeaving,
    kReplicaLeft,
    kClientJoined,
    kClientLost,
    kLinkClosed
  };
  Kind kind;
  std::string name, text;
};

using Effect = std::variant<SendCopy, SendHalt, SendReply, SendDummy, CloseLink, Note>;
using Effects = std::vector<Effect>;

}  // namespace redoubt::broker
