// The names by which a manager's state knows things: handles that go stale instead of dangling. What is
// behind them is in request.h, service.h and peers.h.
#pragma once

#include <cstdint>

#include "core/slab.h"

namespace redoubt::broker {

struct Client;
struct Copy;
struct Replica;
struct Request;
struct Service;
struct Stroll;
using ClientId = Handle<Client>;
using CopyId = Handle<Copy>;
using ReplicaId = Handle<Replica>;
using RequestHandle = Handle<Request>;
using StrollId = Handle<Stroll>;
using ServiceId = uint32_t;

}  // namespace redoubt::broker
