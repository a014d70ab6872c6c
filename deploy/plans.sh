#!/usr/bin/env bash
# plans.sh [--only NAME,...]: what the redundancy policies do and cost, on real processes: a broker alone, replicas that
# sleep, and a line of figures for each thing that must hold. NAMEs: class, crash, hang, tail, budget, bounds, spare; about
# eight minutes for all. Exit status: 0 if everything held.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset "${!REDOUBT_@}"

readonly names=(class crash hang tail budget bounds spare)
chosen=("${names[@]}")

usage() {
  echo "usage: plans.sh [--only NAME,...]   (of: ${names[*]})" >&2
  exit 2
}
if (($# == 2)) && [[ "$1" == --only ]]; then
  IFS=, read -ra chosen <<<"$2"
  for name in "${chosen[@]}"; do
    if [[ " ${names[*]} " != *" $name "* ]]; then usage; fi
  done
elif (($# > 0)); then
  usage
fi

source deploy/group.sh

failed=0
replicas=0

# broker FLAGS...: alone, in the place of whatever ran before.
broker() {
  stop_all
  replicas=0
  find_port
  group="127.0.0.1:$port"
  launch broker build/bin/redoubt-broker --listen "$group" --name broker --log-level warn "$@"
}

# replicas COUNT DIST FLAGS...: so many more.
replicas() {
  local count="$1" dist="$2" i
  shift 2
  for ((i = 0; i < count; ++i)); do
    ((++replicas))
    launch "replica-$replicas" build/bin/redoubt-replica --brokers "$group" --name "replica-$replicas" --service work \
      --builtin "sleep:$dist" --log-level warn "$@"
  done
}

status() { build/bin/redoubt status --brokers "$group" --json; }

are_registered() { (($(status 2>/dev/null | grep -o '"name":"replica-' | wc -l) == replicas)); }

registered() {
  local limit=$((SECONDS + start_limit))
  until are_registered; do
    if ((SECONDS > limit)); then give_up "$replicas replicas are not there after $start_limit s; the logs end with:"; fi
    sleep 0.05
  done
}

# bench FLAGS...: its result; it may well have requests that were not answered.
bench() { build/bin/redoubt bench --brokers "$group" --levels work --json "$@" 2>"$work/bench.err" || true; }

# warm: what the manager measures has been measured.
warm() { bench --requests 200 --rate "$1" --redundancy single >/dev/null; }

# judge NAME FILES...: figures of the files, and whether it holds.
judge() {
  python3 deploy/plans.py "$@" || failed=1
}

class() {
  local each
  for each in 0.1 0.9; do
    broker
    replicas 8 'bimodal(5ms,0.97,200ms)'
    registered
    warm 100
    bench --redundancy backup --class "$each" --deadline 60ms --rate 150 --duration 20s >"$work/class-$each"
    status >"$work/class-$each.status"
  done
  judge class "$work"/class-0.1{,.status} "$work"/class-0.9{,.status}
}

# lose_one SIGNAL DEADLINE REDUNDANCY BROKER_FLAGS...: the second of four replicas gets the signal under a load of 0.5.
lose_one() {
  local load signal="$1" deadline="$2" redundancy="$3"
  shift 3
  broker --backup-factor 2 "$@"
  replicas 4 'const(20ms)'
  registered
  warm 100
  bench --redundancy "$redundancy" --class 0.9 --deadline "$deadline" --rate 100 --arrivals constant --duration 10s \
    >"$work/$signal-$redundancy" &
  load=$!
  sleep 5
  kill "-$signal" "${pid_of[replica-2]}"
  wait "$load"
  if [[ "$signal" == KILL ]]; then unset 'pid_of[replica-2]'; fi
  status >"$work/$signal-$redundancy.status"
}

crash() {
  lose_one KILL 400ms backup
  judge crash "$work"/KILL-backup{,.status}
}

# Nobody finds out in time.
hang() {
  lose_one STOP 300ms single --dead-after 60s
  lose_one STOP 300ms backup --dead-after 60s
  judge hang "$work/STOP-single" "$work"/STOP-backup{,.status}
}

tail_of() {
  broker --pick random
  replicas 15 'exp(10ms)'
  replicas 1 'exp(10ms)' --slow 10
  registered
  warm 80
  bench --redundancy "$1" --rate 80 --duration 40s >"$work/tail-$1"
  status >"$work/tail-$1.status"
}

tail_() {
  tail_of single
  tail_of hedge
  judge tail "$work"/tail-single{,.status} "$work"/tail-hedge{,.status}
}

budget() {
  local load window
  broker --pick random
  replicas 7 'exp(10ms)'
  replicas 1 'exp(10ms)' --slow 1.2
  registered
  warm 100
  status >"$work/budget.status"
  bench --redundancy hedge --rate 560 --duration 30s >"$work/budget" &
  load=$!
  for window in 1 2 3 4 5 6; do
    sleep 5
    status >>"$work/budget.status"
  done
  wait "$load"
  judge budget "$work/budget" "$work/budget.status"
}

bounds() {
  local load window
  broker --policy 'work(hedge-least=5ms,hedge-most=40ms)'
  replicas 3 'exp(10ms)'
  registered
  warm 100
  bench --redundancy hedge --rate 120 --duration 20s >"$work/bounds" &
  load=$!
  sleep 5
  kill -KILL "${pid_of[replica-2]}"
  for window in {1..14}; do
    status >>"$work/bounds.status"
    sleep 1
  done
  wait "$load"
  unset 'pid_of[replica-2]'
  judge bounds "$work/bounds" "$work/bounds.status"
}

spare() {
  local load each
  for load in 50 60 70 80 90 100 110; do
    for each in backup spare; do
      broker
      case "$each" in
        backup) replicas 6 'exp(10ms)' ;;
        spare) replicas 4 'exp(10ms)' && replicas 2 'exp(10ms)' --spare ;;
      esac
      registered
      warm 50
      bench --redundancy "$each" --deadline 100ms --rate $((6 * load)) --duration 10s >"$work/spare-$load-$each"
    done
  done
  judge spare "$work"/spare-*-{backup,spare}
}

prepare
for name in "${chosen[@]}"; do
  progress "$name"
  case "$name" in
    tail) tail_ ;;
    *) "$name" ;;
  esac
done
exit "$failed"
