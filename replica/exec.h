// --exec: a command for every copy. The payload is its stdin, its stdout the result; a status other than 0 is
// a failure that carries the end of its stderr. Its environment has REDOUBT_REQUEST (client-seq),
// REDOUBT_SERVICE, REDOUBT_ATTEMPT and REDOUBT_LEVEL.
#pragma once

#include <string>

#include "replica/handler.h"

namespace redoubt::replica {

// Runs on workers' threads, with SIGPIPE ignored.
Service make_exec(std::string name, std::string command);

}  // namespace redoubt::replica
