// Scratch: one protobuf envelope on an arena that every frame of this thread uses again. Private to the
// codec. At most one Scratch of a thread is alive at a time.
#pragma once

#include "frame.pb.h"

namespace redoubt::wire {

class Scratch {
 public:
  Scratch() : envelope_(google::protobuf::Arena::CreateMessage<proto::Envelope>(&arena())) {}
  ~Scratch() { arena().Reset(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  proto::Envelope& envelope() { return *envelope_; }

 private:
  static google::protobuf::Arena& arena() {
    alignas(8) thread_local char first_block[16 * 1024];
    thread_local google::protobuf::Arena arena(first_block, sizeof first_block);
    return arena;
  }

  proto::Envelope* envelope_;
};

}  // namespace redoubt::wire
