// The client's sentences and checks that need no state: is a request one that any broker could take, and what
// is to be said of how it ended. Pure.
#pragma once

#include <string>

#include "client/request.h"
#include "core/time.h"
#include "wire/message.h"

namespace redoubt::client {

// Why no broker would take this request; empty if one may.
std::string what_is_invalid(const Request& request);

std::string too_large_text(uint64_t size, uint64_t limit);
std::string client_limit_text(uint64_t limit);

// "expired at level 2 (detect), waiting in a queue"
std::string expiry_text(const wire::Request& request, uint32_t level, bool running);
// "no answer within 5s"
std::string silence_text(Duration deadline);
std::string unreached_text(Duration deadline);

}  // namespace redoubt::client
