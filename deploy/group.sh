#!/usr/bin/env bash
# Sourced by scripts that measure groups of brokers: real processes on loopback, started, known by name and ended, whatever
# ends the script.

readonly start_limit=20     # seconds a group may take to be in sync

work="$(mktemp -d)"
declare -A pid_of=()

stop_all() {
  while ((${#pid_of[@]} > 0)) && kill -KILL "${pid_of[@]}" 2>/dev/null; do sleep 0.02; done
  pid_of=()
}

finish() {
  local status=$?
  trap '' INT TERM
  stop_all
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

progress() { echo "[$(date +%H:%M:%S)] $*" >&2; }

give_up() {
  echo "$(basename "$0" .sh): $1" >&2
  tail -n 20 "$work"/*.err >&2
  exit 1
}

launch() {
  local name="$1"
  shift
  "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
  pid_of[$name]=$!
  # The shell has no word to say when it is killed.
  disown
}

# start_broker NUMBER: the last of a group with a witness is that.
start_broker() {
  local flags=(--name "broker-$1" --listen "${addresses[$1]}" --data-dir "$work/data-$1")
  if ((size > 1)); then flags+=(--group "$group"); fi
  if [[ "$kind" == *w ]] && (($1 == size)); then flags+=(--witness); fi
  launch "broker-$1" build/bin/redoubt-broker "${flags[@]}"
}

# Sets `manager`, once all that can hold the state do.
is_in_sync() {
  local status
  status="$(build/bin/redoubt status --brokers "$group" --json 2>/dev/null)" || return 1
  manager="$(sed -n 's/^[^[]*"manager":"\([^"]*\)".*/\1/p' <<<"$status")"
  [[ -n "$manager" ]] && (($(grep -o '"in_sync":true' <<<"$status" | wc -l) == holders)) &&
    (($(grep -o '"name":"replica-' <<<"$status" | wc -l) == 4))
}

wait_until_in_sync() {
  local limit=$((SECONDS + start_limit))
  until is_in_sync; do
    if ((SECONDS > limit)); then give_up "a group of $kind is not in sync after $start_limit s; its logs end with:"; fi
    sleep 0.05
  done
}

# start_group KIND: that many brokers (2+w: two and a witness) in sync, and four replicas of four workers that take 2 ms
# on average.
start_group() {
  local i
  kind="$1" size="${1%+w}" holders="${1%+w}" group='' addresses=()
  if [[ "$kind" == *w ]]; then ((++size)); fi
  for ((i = 1; i <= size; ++i)); do
    find_port
    addresses[i]="127.0.0.1:$port"
    group+="${group:+,}127.0.0.1:$port"
    rm -rf "$work/data-$i"
  done
  for ((i = 1; i <= size; ++i)); do start_broker "$i"; done
  for i in 1 2 3 4; do
    launch "replica-$i" build/bin/redoubt-replica --brokers "$group" --name "replica-$i" --service work --workers 4 \
      --builtin 'sleep:exp(2ms)'
  done
  wait_until_in_sync
}

# Packages and programs, built once.
prepare() {
  progress "packages and programs"
  { install_packages && cmake --preset release && cmake --build build -j "$(nproc)" --target programs; } >"$work/build" 2>&1 ||
    { tail -n 40 "$work/build" >&2 && exit 1; }
}

kind='' size=0 holders=0 group='' manager=''
addresses=()
source deploy/packages.sh
source deploy/ports.sh
