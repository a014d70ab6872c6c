// All that can happen to a replica. Plain values; reading them needs no knowledge of sockets or threads.
#pragma once

#include <string>
#include <variant>

#include "core/payload.h"
#include "core/slab.h"
#include "core/time.h"
#include "wire/message.h"

namespace redoubt::replica {

// One connection to one broker; the next one to the same broker has a higher generation.
struct LinkId {
  uint32_t broker = 0;      // position in --brokers
  uint32_t generation = 0;  // from 1
  auto operator<=>(const LinkId&) const = default;
  uint64_t number() const { return (uint64_t{generation} << 32) | broker; }
  static LinkId of(uint64_t number) {
    return {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)};
  }
};

// The replica's own name for a copy it holds; a copy's number on the wire is the broker's.
struct CopyTag;
using CopyHandle = Handle<CopyTag>;

// A connection stands; nothing has been said on it.
struct LinkUp {
  LinkId link;
};

// A connection is gone, and not because the replica closed it.
struct LinkLost {
  LinkId link;
};

struct WelcomeArrived {
  LinkId link;
  wire::Welcome welcome;
};

struct DummyArrived {
  LinkId link;
  wire::Dummy dummy;
};

struct CopyArrived {
  LinkId link;
  wire::Copy copy;
  bool payload_skipped = false;  // it was over the limit and is missing
};

struct HaltArrived {
  LinkId link;
  wire::Halt halt;
};

// What the broker has become.
struct AnnounceArrived {
  LinkId link;
  wire::Announce announce;
};

// What the manager makes of the copies that it was offered.
struct AdoptArrived {
  LinkId link;
  wire::Adopt adopt;
};

// A message that no broker sends to a replica.
struct StrayArrived {
  LinkId link;
  std::string what;
};

// A worker is about to run this copy. Only for copies that want it told.
struct CopyStarted {
  CopyHandle copy;
};

enum class Outcome : uint8_t {
  kOk,
  kFailed,   // the handler failed: `text` says how
  kExpired,  // not run: its time was over when the worker looked
  kSkipped,  // not run: it had been asked to stop before the worker looked
};

struct CopyEnded {
  CopyHandle copy;
  Outcome outcome = Outcome::kOk;
  Payload result;
  std::string text;
  Time started_at{};  // read when the handler was entered; with kExpired and kSkipped, when the worker looked
  Time ended_at{};
};

// The process is to stop: finish what runs, take nothing more.
struct StopAsked {};

// next_deadline() has come.
struct TimePassed {};

using Event =
    std::variant<LinkUp, LinkLost, WelcomeArrived, DummyArrived, CopyArrived, HaltArrived, AnnounceArrived,
                 AdoptArrived, StrayArrived, CopyStarted, CopyEnded, StopAsked, TimePassed>;

}  // namespace redoubt::replica
