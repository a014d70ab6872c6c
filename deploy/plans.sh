#!/usr/bin/env bash
# plans.sh [--only NAME,...]: what the redundancy policies do and cost, on real processes: a broker alone, replicas that
# sleep, and a line of figures for each thing that must hold. NAMEs: class, crash, hang, tail, budget, bounds, spare, auto;
# about fifteen minutes for all. Exit status: 0 if everything held.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset "${!REDOUBT_@}"

readonly names=(class crash hang tail budget bounds spare auto)
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

# auto_at NAME REPLICAS DIST MEAN_MS LOAD DEADLINE_MS SIM_FLAGS ODD_FLAGS...: a point of docs/auto.md on real processes
# (one level), with auto and with fixed policies; and what auto comes to in virtual time. ODD_FLAGS: of one replica.
auto_at() {
  local name="$1" count="$2" dist="$3" mean="$4" load="$5" deadline="$6" sim="$7" each rate
  shift 7
  rate=$(awk "BEGIN { print $load * $count * 1000 / $mean }")
  for each in auto single per-level; do
    broker
    replicas $((count - 1)) "$dist"
    replicas 1 "$dist" "$@"
    registered
    warm "$rate"
    bench --redundancy "$each" --copies "$([[ "$each" == per-level ]] && echo 2 || echo 1)" --deadline "${deadline}ms" \
      --rate "$rate" --duration 10s >"$work/auto-$name-$each"
  done
  # The way there and back takes about half a millisecond here.
  # shellcheck disable=SC2086  # words
  build/bin/redoubt-experiment --redundancy auto --replicas "$count" --service "$dist" --rate "$rate" --delay 250us \
    --deadline "${deadline}ms" --heartbeat 50ms --requests 50000 $sim >"$work/auto-$name-sim"
}

auto() {
  auto_at exponential-light 8 'exp(10ms)' 10 0.3 40 ''
  auto_at exponential-busy 8 'exp(10ms)' 10 0.9 40 ''
  auto_at exponential-over 8 'exp(10ms)' 10 1.3 40 ''
  auto_at constant-busy 8 'const(10ms)' 10 0.8 25 ''
  auto_at constant-over 8 'const(10ms)' 10 1.1 25 ''
  auto_at lognormal 8 'lognormal(10ms,1.0)' 10 0.7 50 ''
  auto_at bimodal-light 8 'bimodal(10ms,0.97,150ms)' 14.2 0.3 50 ''
  auto_at bimodal-busy 8 'bimodal(10ms,0.97,150ms)' 14.2 0.9 50 ''
  auto_at slow-one 8 'exp(10ms)' 10 0.5 40 '--slow 10' --slow 10
  auto_at slow-one-constant 3 'const(10ms)' 10 0.5 40 '--slow 10' --slow 10
  auto_at failing-one 3 'exp(10ms)' 10 0.5 50 '--fail 0.333' --fail 0.333
  auto_at failing-one-busy 8 'lognormal(10ms,1.0)' 10 0.8 50 '--fail 0.333' --fail 0.333
  judge auto "$work"/auto-*-{auto,single,per-level,sim}
}

prepare
if [[ " ${chosen[*]} " == *" auto "* ]]; then cmake --build build --target redoubt-experiment >/dev/null; fi
for name in "${chosen[@]}"; do
  progress "$name"
  case "$name" in
    tail) tail_ ;;
    *) "$name" ;;
  esac
done
exit "$failed"
