// The one place where an experiment's request is filled in: what a policy needs is said here.
#pragma once

#include "lab/experiment/setup.h"
#include "wire/message.h"

namespace redoubt::experiment {

// `request` may be an earlier one: every field is set.
void fill_request(const Setup& setup, uint64_t seq, wire::Request& request);

}  // namespace redoubt::experiment
