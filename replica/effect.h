// All that a replica can ask its shell to do. Plain values, to be done in the order in which they are given.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "replica/event.h"

namespace redoubt::replica {

struct Send {
  LinkId link;
  std::variant<wire::Hello, wire::Register, wire::Dummy, wire::Started, wire::Done, wire::Leaving,
               wire::Holding>
      message;
};

// The handshake is through: payloads up to this size may come.
struct Admit {
  LinkId link;
  uint64_t max_payload = 0;
};

// Close the link, saying why. No LinkLost follows.
struct CloseLink {
  LinkId link;
  wire::CloseReason reason = wire::CloseReason::kNone;
  std::string text;
};

// The broker knows this replica now.
struct Registered {
  LinkId link;
  std::string broker;  // its name
};

// Run this copy, unless the clock says start_before when its handler is about to be called. Answered by
// CopyEnded.
struct StartCopy {
  CopyHandle copy;
  uint32_t service = 0;
  uint32_t level = 0;
  uint32_t attempt = 0;
  wire::RequestId request;
  Payload payload;
  Time start_before;  // the deadline, or where the wait limit ends
  Time deadline;
  uint64_t max_result = 0;
  bool tell_start = false;
};

// Ask a running copy to stop. It still ends by CopyEnded.
struct StopCopy {
  CopyHandle copy;
};

// For the log: something a person should know about a broker.
struct Warn {
  LinkId link;
  std::string text;
};

// Everything that had to be said is said: close the links and end.
struct Finished {};

using Effect = std::variant<Send, Admit, CloseLink, Registered, StartCopy, StopCopy, Warn, Finished>;
using Effects = std::vector<Effect>;

}  // namespace redoubt::replica
