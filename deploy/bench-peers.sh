#!/usr/bin/env bash
# bench-peers.sh [--rounds N] [--seconds S]: Redoubt and other brokers under the same load on this machine, in turn, as a
# Markdown table. One load process keeps W requests of 64 bytes outstanding, echo workers answer, the broker has a
# process of its own. `relay` only moves bytes: the machine's limit, for programs that sleep until they are woken.
# Redoubt runs on its default settings, and once more without asking for news before it sleeps, as the others do.
# Figures of one machine vary from minute to minute: what counts are the ratios, each the median of the ratios of the
# rounds.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset "${!REDOUBT_@}"

rounds=5
seconds=2
readonly windows=(1 64 1024)
readonly sleeping=(--busy-poll 0s)

while (($# > 0)); do
  case "$1 ${2:-}" in
    "--rounds "[1-9]*) rounds="$2" ;;
    "--seconds "[1-9]*) seconds="$2" ;;
    *)
      echo "usage: bench-peers.sh [--rounds N] [--seconds S]" >&2
      exit 2
      ;;
  esac
  shift 2
done

work="$(mktemp -d)"
pids=()
finish() {
  local status=$?
  trap '' INT TERM
  if ((${#pids[@]} > 0)); then kill "${pids[@]}" 2>/dev/null || true; fi
  { wait; } 2>/dev/null || true
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

progress() { echo "[$(date +%H:%M:%S)] $*" >&2; }

# quietly COMMAND...: the end of its output only if it fails.
quietly() {
  if ! "$@" >"$work/log" 2>&1; then
    tail -n 40 "$work/log" >&2
    exit 1
  fi
}

# daemon NAME COMMAND...: returns when it is ready.
daemon() {
  local name="$1" limit=$((SECONDS + 20))
  shift
  "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
  pids+=("$!")
  until grep -q '"event":"ready"' "$work/$name.out"; do
    if ((SECONDS > limit)) || ! kill -0 "${pids[-1]}" 2>/dev/null; then
      echo "$name does not start" >&2
      cat "$work/$name.err" >&2
      exit 1
    fi
    sleep 0.02
  done
}

# cluster NAME REPLICAS [FLAG...]: a broker with so many echo replicas; its address stands in NAME.address.
cluster() {
  local name="$1" i
  daemon "$name" build/bin/redoubt-broker --listen 127.0.0.1:0 "${@:3}"
  sed -n 's/.*"ready","listen":"\([^"]*\)".*/\1/p' "$work/$name.out" >"$work/$name.address"
  for ((i = 1; i <= $2; ++i)); do
    daemon "$name-$i" build/bin/redoubt-replica --brokers "$(<"$work/$name.address")" --service echo --builtin echo \
      "${@:3}"
  done
}

# redoubt_bench CLUSTER COPIES WINDOW [FLAG...]
redoubt_bench() {
  build/bin/redoubt bench --brokers "$(<"$work/$1.address")" --levels echo --copies "$2" --window "$3" --payload 64 \
    --duration "${seconds}s" --require-all --json "${@:4}"
}

# pair NAME ACK [FLAG...]: a manager and a standby that is in sync, with an echo replica; their addresses stand in NAME.address.
pair() {
  local name="$1" group='' addresses=() i limit=$((SECONDS + 20))
  for i in 1 2; do
    find_port
    addresses[i]="127.0.0.1:$port"
    group+="${group:+,}127.0.0.1:$port"
  done
  for i in 1 2; do
    daemon "$name-broker-$i" build/bin/redoubt-broker --listen "${addresses[i]}" --group "$group" \
      --data-dir "$work/$name-data-$i" --checkpoint-ack "$2" "${@:3}"
  done
  daemon "$name-1" build/bin/redoubt-replica --brokers "$group" --service echo --builtin echo "${@:3}"
  echo "$group" >"$work/$name.address"
  until [[ "$(build/bin/redoubt status --brokers "$group" --json 2>/dev/null)" == *'"in_sync":true'*'"in_sync":true'* ]]; do
    if ((SECONDS > limit)); then
      echo "$name: the standby does not get in sync" >&2
      exit 1
    fi
    sleep 0.05
  done
}

# one ROUND WINDOW NAME COMMAND...: runs it and keeps its result.
one() {
  local round="$1" window="$2" name="$3" result
  shift 3
  result="$("$@")"
  echo "{\"round\":$round,\"window\":$window,\"name\":\"$name\",\"result\":$result}" >>"$work/results"
}

source deploy/packages.sh
source deploy/ports.sh
progress "packages"
install_packages --peers >&2
progress "building"
quietly cmake --preset release -DREDOUBT_PEERS=ON
quietly cmake --build build -j "$(nproc)" --target programs peers
quietly cmake --preset release -DREDOUBT_PEERS=OFF

cluster single 1
cluster double 2
cluster sleeping 1 "${sleeping[@]}"
for ack in none one all; do pair "$ack" "$ack"; done
pair sleeping-pair none "${sleeping[@]}"
for ((round = 1; round <= rounds; ++round)); do
  progress "round $round of $rounds"
  for window in "${windows[@]}"; do
    for peer in relay zmq nats; do
      one "$round" "$window" "$peer" build/bin/peers "$peer" "$window" $((seconds * 1000))
    done
    one "$round" "$window" k1 redoubt_bench single 1 "$window"
    one "$round" "$window" k2 redoubt_bench double 2 "$window"
    one "$round" "$window" sleeping redoubt_bench sleeping 1 "$window" "${sleeping[@]}"
    for ack in none one all; do one "$round" "$window" "$ack" redoubt_bench "$ack" 1 "$window"; done
    one "$round" "$window" sleeping-pair redoubt_bench sleeping-pair 1 "$window" "${sleeping[@]}"
  done
done

python3 - "$work/results" <<'PYTHON'
import json
import statistics
import sys

rps, p50 = {}, {}
for line in open(sys.argv[1], encoding="utf-8"):
    run = json.loads(line)
    key = run["window"], run["name"]
    rps.setdefault(key, []).append(run["result"]["rps"])
    p50.setdefault(key, []).append(run["result"]["latency_us"]["p50"])
windows = sorted({window for window, _ in rps})


def figure(value):
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k" if value >= 1e5 else f"{value:,.0f}"


def ratio(window, name, others):
    by_round = zip(rps[window, name], *(rps[window, other] for other in others))
    return statistics.median(first / max(rest) for first, *rest in by_round)


print("requests/s · median µs | " + " | ".join(f"{window:,} outstanding" for window in windows))
print("|".join(["---"] * (len(windows) + 1)))
for name, title in [("relay", "bare relay"), ("zmq", "ZeroMQ ROUTER-DEALER"), ("nats", "NATS"),
                    ("k1", "Redoubt, k = 1"), ("k2", "Redoubt, k = 2"),
                    ("sleeping", "Redoubt, k = 1, `--busy-poll 0s`"), ("none", "Redoubt, a standby"),
                    ("sleeping-pair", "with `--busy-poll 0s`"), ("one", "with `--checkpoint-ack one`"),
                    ("all", "with `--checkpoint-ack all`")]:
    print(title, *(f"{figure(statistics.median(rps[window, name]))} · {statistics.median(p50[window, name]):,.0f}"
                   for window in windows), sep=" | ")
for title, name, others in [("Redoubt / better of ZeroMQ and NATS", "k1", ["zmq", "nats"]),
                            ("the same with a standby", "none", ["zmq", "nats"]),
                            ("`--busy-poll 0s` / better of the two", "sleeping", ["zmq", "nats"]),
                            ("the same with a standby", "sleeping-pair", ["zmq", "nats"]),
                            ("Redoubt / bare relay", "k1", ["relay"]), ("k = 2 / k = 1", "k2", ["k1"]),
                            ("with a standby / without", "none", ["k1"]), ("`one` / `none`", "one", ["none"]),
                            ("`all` / `none`", "all", ["none"])]:
    print(title, *(f"{ratio(window, name, others):.2f}" for window in windows), sep=" | ")
PYTHON
