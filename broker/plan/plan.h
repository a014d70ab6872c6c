// A plan is data: which replicas get a copy of a request at its level, now. A redundancy policy is a pure
// function that makes one; one file a policy.
#pragma once

#include <vector>

#include "broker/state.h"

namespace redoubt::broker {

// Where copies go. Empty: nobody can take one now.
using Plan = std::vector<ReplicaId>;

// S2, per level: `wanted` copies go to as many distinct replicas of the level's service, picked as the
// settings say among those below their threshold; fewer if fewer are free. A replica that holds a copy of the
// request already gets no second. What one replica has failed goes to one that has not, even if that is
// loaded: else a broken replica, being always free, would get all that is tried again.
void plan_per_level(State& state, const Request& request, uint32_t wanted, Plan& plan);

// Picks up to `wanted` distinct replicas that take copies of the service, in the settings' order, without
// those in `leave_out`. Appends to `picked`.
using ReplicaList = std::vector<ReplicaId>;
void pick(State& state, ServiceId service, uint32_t wanted, const ReplicaList& leave_out,
          ReplicaList& picked);

// One replica of the service that is not in `leave_out`, whatever its load, if there is one.
void pick_loaded(const State& state, ServiceId service, const ReplicaList& leave_out, ReplicaList& picked);

}  // namespace redoubt::broker
