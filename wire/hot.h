// The hot messages, Submit, Copy, Done and Reply, without protobuf's objects: the same bytes, at a third of
// the cost. proto/ stays the contract. Private to the codec.
//
// A new field goes into both writer and reader here. A reader that does not know it costs time, not
// correctness: the frame then goes through protobuf.
#pragma once

#include <string_view>
#include <vector>

#include "wire/fields.h"
#include "wire/message.h"

namespace redoubt::wire::hot {

// How many bytes an envelope takes at the most.
size_t most_of(const Submit& message);
size_t most_of(const Copy& message);
size_t most_of(const Done& message);
size_t most_of(const Reply& message);

// Writes the envelope and returns its end.
char* write(const Submit& message, char* at);
char* write(const Copy& message, char* at);
char* write(const Done& message, char* at);
char* write(const Reply& message, char* at);

// Reads a hot message's envelope, with every limit kept. False, with `out` in any state: not one, or not just
// as it is usually written; protobuf must judge it. `shares` gets a batch's parts of the payload.
bool read(std::string_view envelope, Message& out, std::vector<uint32_t>& shares);

}  // namespace redoubt::wire::hot
