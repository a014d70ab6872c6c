#!/usr/bin/env bash
# redundancy.sh [--requests N] [--results FILE] [--busy-poll D]: what copies are worth to real processes, beside what an
# independent simulation says. A broker that picks at random, two levels of eight replicas with one worker each that
# takes 10 ms on average, exponential, and requests that may wait 5 ms in queues, both levels together: 10,000 a point
# unless told otherwise. A line a point: expected and measured share of timely requests, and whether it is where it should
# be. About eight minutes. --results keeps what bench said, a JSON line a point. Exit status: 1 if a figure is out of its
# bound or an order is not as it should be.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset "${!REDOUBT_@}"

requests=10000 results='' busy_poll=()
while (($# > 0)); do
  case "$1 ${2:-}" in
    "--requests "[1-9]*) requests="$2" ;;
    "--results "?*) results="$2" ;;
    "--busy-poll "?*) busy_poll=(--busy-poll "$2") ;;
    *)
      echo "usage: redundancy.sh [--requests N] [--results FILE] [--busy-poll D]" >&2
      exit 2
      ;;
  esac
  shift 2
done
# The place that the caller means, not one below the checkout.
if [[ -n "$results" && "$results" != /* ]]; then results="$OLDPWD/$results"; fi

source deploy/group.sh

# daemon NAME COMMAND...: returns when it is ready.
daemon() {
  local name="$1" limit=$((SECONDS + start_limit))
  launch "$@"
  until grep -qs '"event":"ready"' "$work/$name.out"; do
    if ((SECONDS > limit)) || ! kill -0 "${pid_of[$name]}" 2>/dev/null; then give_up "$name does not start; logs end with:"; fi
    sleep 0.02
  done
}

start_cluster() {
  local level i
  daemon broker build/bin/redoubt-broker --listen 127.0.0.1:0 --pick random --replica-threshold 100000 "${busy_poll[@]}"
  group="$(sed -n 's/.*"ready","listen":"\([^"]*\)".*/\1/p' "$work/broker.out")"
  for level in 1 2; do
    for i in 1 2 3 4 5 6 7 8; do
      daemon "level$level-$i" build/bin/redoubt-replica --brokers "$group" --name "level$level-$i" \
        --service "level$level" --builtin 'sleep:exp(10ms)' --queue-limit 8192 "${busy_poll[@]}"
    done
  done
}

# point RATE COPIES REDUNDANCY DISPOSAL: its result is kept.
point() {
  progress "rate $1, copies $2, $3, $4"
  local result
  result="$(build/bin/redoubt bench --brokers "$group" --levels level1,level2 --rate "$1" --copies "$2" --redundancy "$3" \
    --disposal "$4" --wait-limit 5ms --deadline 5s --requests "$requests" --seed "$seed" --json "${busy_poll[@]}" \
    2>>"$work/bench.err")" || give_up "bench says: $result"
  echo "{\"rate\":$1,\"copies\":$2,\"redundancy\":\"$3\",\"disposal\":\"$4\",\"result\":$result}" >>"$work/results"
}

prepare
seed=$RANDOM
start_cluster
point 120 2 per-level expire
point 120 2 paths expire
point 120 1 single expire
point 120 2 per-level none
point 320 1 single none
point 320 2 per-level none
point 320 2 per-level two-phase
if [[ -n "$results" ]]; then cp "$work/results" "$results"; fi

python3 - "$work/results" <<'PYTHON'
import json
import sys

# Where queues are long 10,000 requests are few: chance alone moves such a share by .008 and .014.
EXPECTED = {  # share, and how far off it may be
    (120, 2, "per-level", "expire"): (.9421, .025),
    (120, 2, "paths", "expire"): (.9188, .025),
    (120, 1, "single", "expire"): (.8449, .025),
    (120, 2, "per-level", "none"): (.8231, .025),
    (320, 1, "single", "none"): (.4965, .04),
    (320, 2, "per-level", "none"): (.2054, .06),
    (320, 2, "per-level", "two-phase"): (.7821, .025),
}
# Better, worse, and by how much at least.
ORDERS = [
    ((120, 2, "per-level", "expire"), (120, 2, "paths", "expire"), 0),
    ((120, 2, "paths", "expire"), (120, 1, "single", "expire"), 0),
    ((320, 1, "single", "none"), (320, 2, "per-level", "none"), 0),
    ((320, 2, "per-level", "two-phase"), (320, 2, "per-level", "none"), .3),
]

measured, wrong = {}, 0
for line in open(sys.argv[1], encoding="utf-8"):
    run = json.loads(line)
    measured[run["rate"], run["copies"], run["redundancy"], run["disposal"]] = run["result"]


def say(fine, text):
    global wrong
    wrong += not fine
    print(f"{'as expected' if fine else 'NOT IN ORDER':12}  {text}")


def name(point):
    return "rate {}, {} x {}, {}".format(point[0], point[1], *point[2:])


print("Share of requests that were timely, by the winner's wait")
for point, (expected, near) in EXPECTED.items():
    result = measured[point]
    near *= max(1, 10_000 / result["sent"]) ** .5
    say(abs(result["timely"] - expected) <= near,
        f"{name(point):34}  expected {expected:.4f} +- {near:.3f}, measured {result['timely']:.4f} ({result['timely'] - expected:+.4f}); "
        f"wait of the answered: mean {result['wait_us']['mean'] / 1000:.2f} ms, median {result['wait_us']['p50'] / 1000:.2f} ms")
for better, worse, margin in ORDERS:
    ahead = measured[better]["timely"] - measured[worse]["timely"]
    say(ahead > margin, f"{name(better)} is ahead of {name(worse)} by {ahead:.4f}" + (f", more than {margin}" if margin else ""))
sys.exit(wrong > 0)
PYTHON
