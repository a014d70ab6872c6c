// An experiment: the broker's core and replicas' cores under a load, in virtual time, fast enough for
// millions of requests. No group of brokers, no faults of the network (lab/sim has those), no bytes: only
// what decides. The same setup gives the same findings.
#pragma once

#include "lab/experiment/findings.h"
#include "lab/experiment/setup.h"

namespace redoubt::experiment {

// Runs until every request that counts has an outcome. Requests go on arriving behind them until then, so
// that the last ones have it no easier than the others.
Findings run(const Setup& setup);

}  // namespace redoubt::experiment
