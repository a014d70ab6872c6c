// A plan is data: which replicas get a copy of a request at its level now, and when another one is to follow.
// A redundancy policy is a function that makes one from what the manager knows; one file a policy.
#pragma once

#include <vector>

#include "broker/names.h"
#include "core/time.h"

namespace redoubt::broker {

struct State;

struct Replica;
using ReplicaList = std::vector<ReplicaId>;

struct Target {
  ReplicaId replica;
  bool extra = false;  // only while a worker there has nothing else to do
};
using Targets = std::vector<Target>;

struct Plan {
  Targets now;            // empty: nobody can take one now
  Time further = kNever;  // another copy leaves then, unless the level has been won
  ReplicaId reserved;     // where that one goes; none: it is chosen then
  bool too_late = false;  // the request can no longer finish in time: nothing is to be sent
  bool hungry = false;    // more copies would be worth it when workers become idle
  bool urgent = false;    // another copy goes to the next worker, before all that wait

  void clear() {
    now.clear();
    further = kNever;
    reserved = {};
    too_late = hungry = urgent = false;
  }
};

// The first copies of a request at its level, `wanted` of them where its policy does not say otherwise.
void plan_first(State& state, Request& request, Time now, uint32_t wanted, Plan& plan);
// Another one, because one has failed or was lost: again.cc.
void plan_again(State& state, const Request& request, uint32_t wanted, Plan& plan);
// The further one of an earlier plan, whose time has come. None if nobody can take it, or it is not worth it.
void plan_further(State& state, Request& request, Time now, Plan& plan);

// ---- The policies' first copies.

// per_level.cc. S2: `wanted` copies go to as many distinct replicas of the level's service, picked as the
// settings say among those below their threshold; fewer if fewer are free.
void plan_per_level(State& state, const Request& request, uint32_t wanted, Plan& plan);
// paths.cc. S1: chooses as many paths of distinct replicas through all levels; the plan has their beginnings.
// Where a level has fewer replicas than there are paths, several go through one of them.
void plan_paths(State& state, Request& request, uint32_t wanted, Plan& plan);
// backup.cc. One copy, and a time kept for a second on another replica, by the request's class.
void plan_backup(State& state, Request& request, Time now, Plan& plan);
// spare.cc. One copy.
void plan_spare(State& state, const Request& request, Plan& plan);
// hedge.cc. One copy, and another when that takes longer than is usual.
void plan_hedge(State& state, const Request& request, Time now, Plan& plan);
// The usual: the delay after which a second copy leaves. Zero: not known yet.
Duration hedge_delay(Service& service);

// auto.cc. One copy where it is most likely to be in time, when a worker is free for it; extra ones on
// workers that have nothing else to do, as far as they better its chances; none if it can no longer finish in
// time.
void plan_auto(State& state, const Request& request, Time now, Plan& plan);
// Another one after a failure or loss.
void plan_auto_again(State& state, ServiceId service, const ReplicaList& leave_out, Plan& plan);
// Another first copy, when the one that is out has taken longer than most do; within the allowance.
void plan_auto_rescue(State& state, const Request& request, Time now, Plan& plan);
// What that would add to the request's chance to be in time.
double worth_of_rescue(const State& state, const Request& request, Time now);
// What an extra copy at this replica would add to the request's chance to be in time; 0: nothing worth
// having.
double worth_of_extra(const State& state, const Request& request, ReplicaId replica, Time now);
// The order of Service::ready.
uint64_t ready_key(const Service& service, const Replica& replica);
// What an execution has shown of its replica's pace: it ended, or was stopped, after so long.
void note_pace(const Service& service, Replica& replica, double ns, bool ended);
// Looks at what is typical of a service's replicas.
void note_typical(State& state, Service& service);
// Whether an execution that is asked to stop frees its worker at once.
bool stops_at_once(const Service& service);

// ---- Picking replicas: pick.cc.

// Picks up to `wanted` distinct replicas that take copies of the service, in the settings' order, without
// those in `leave_out`. Appends to `picked`.
void pick(State& state, ServiceId service, uint32_t wanted, const ReplicaList& leave_out, Targets& picked);
// One of those that take only what others have lost, the same way.
void pick_spare(State& state, ServiceId service, const ReplicaList& leave_out, Targets& picked);
// One replica of the service that is not in `leave_out`, whatever its load, if there is one.
void pick_loaded(const State& state, ServiceId service, const ReplicaList& leave_out, Targets& picked);
// Those that have a copy of the request at its level.
ReplicaList holders(const State& state, const Request& request);

}  // namespace redoubt::broker
