// All that a broker can do to the world. The shell carries them out in order and decides nothing.
#pragma once

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "broker/event.h"
#include "broker/group/group.h"
#include "broker/limits.h"
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

struct SendAdopt {
  LinkId to;
  wire::Adopt adopt;
};

// ---- To other brokers.

// Who follows the checkpoint stream: the same message goes to each.
struct Followers {
  uint32_t count = 0;
  std::array<LinkId, kMaxFollowers> links{};
  void add(LinkId link) { links[count++] = link; }
};

struct SendAdd {
  Followers to;
  wire::Add add;
};

struct SendRemove {
  Followers to;
  wire::Remove remove;
};

struct SendMark {
  Followers to;
  wire::Mark mark;
};

struct SendClientGone {
  Followers to;
  wire::ClientGone gone;
};

struct SendCollect {
  LinkId to;
  wire::Collect collect;
};

struct SendPulse {
  LinkId to;
  wire::Pulse pulse;
};

struct SendVoteAsk {
  LinkId to;
  wire::VoteAsk ask;
};

struct SendVote {
  LinkId to;
  wire::Vote vote;
};

struct SendHandOver {
  LinkId to;
  wire::HandOver hand_over;
};

// Write this down so that it survives the machine; Persisted of this number answers.
struct Persist {
  uint64_t number;
  Memory memory;
};

// Keep a link to this broker of the group, or do not: dial it when there is none.
struct Dial {
  BrokerNumber broker;
  bool wanted;
};

// ---- To everybody.

// Tell every client and replica what this broker is now.
struct Announce {
  wire::Epoch epoch;
  bool rules;
};

// Read nothing from clients and replicas while held: this manager does not know whether it still rules.
struct HoldReads {
  bool held;
};

// This broker's role has changed: for the event stream and the log.
enum class BrokerRole : uint8_t { kStandby, kManager, kWitness, kSuspended };
struct RoleChanged {
  BrokerRole role;
  wire::Epoch epoch;
  bool stale;
};

// Nothing is left to do here: the process may end.
struct Left {};

// Say goodbye and close. The core has already forgotten the link; the LinkLost that follows tells it nothing.
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
    kLinkClosed,
    kBrokerJoined,
    kBrokerLost,
    kInSync,
    kOutOfSync,
    kRules,  // another broker does; its epoch in `text`
    kGroup   // what an operator should know about the group
  };
  Kind kind;
  std::string name, text;
};

using Effect = std::variant<SendCopy, SendHalt, SendReply, SendDummy, CloseLink, Note, SendAdopt, SendAdd,
                            SendRemove, SendMark, SendClientGone, SendCollect, SendPulse, SendVoteAsk,
                            SendVote, SendHandOver, Persist, Dial, Announce, HoldReads, RoleChanged, Left>;
using Effects = std::vector<Effect>;

}  // namespace redoubt::broker
