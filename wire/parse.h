// An envelope's bytes -> message, through protobuf: every kind, in any spelling that protobuf allows. Private
// to the codec.
#pragma once

#include <string_view>
#include <vector>

#include "wire/message.h"

namespace redoubt::wire {

// What a parse found wrong, or nothing.
struct Fault {
  CloseReason reason = CloseReason::kNone;
  const char* text = "";
};

// Fills `out`, whose memory is used again; `shares` gets a batch's parts of the payload.
Fault parse(std::string_view envelope, Message& out, std::vector<uint32_t>& shares);

}  // namespace redoubt::wire
