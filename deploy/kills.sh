#!/usr/bin/env bash
# kills.sh [--kills N] [--outstanding N]: kills the manager of three brokers again and again under load, at a random
# moment, starts it again as a standby, and prints what became of the requests and how long nobody was answered. The load
# is 2,000 requests a second for six seconds a kill, or with --outstanding that many at any time. Exit status: 0 if every
# request was answered, once.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset "${!REDOUBT_@}"

kills=100 load=(--rate 2000) load_text='2,000 requests a second'
while (($# > 0)); do
  case "$1 ${2:-}" in
    "--kills "[1-9]*) kills="$2" ;;
    "--outstanding "[1-9]*) load=(--window "$2") load_text="$2 requests outstanding" ;;
    *)
      echo "usage: kills.sh [--kills N] [--outstanding N]" >&2
      exit 2
      ;;
  esac
  shift 2
done

source deploy/group.sh

# one KILL: its result is kept.
one() {
  local bench
  build/bin/redoubt bench --brokers "$group" --levels work "${load[@]}" --duration 6s --deadline 2s --require-all --json \
    >"$work/bench" 2>"$work/bench.err" &
  bench=$!
  sleep "$((RANDOM % 5)).$((RANDOM % 9 + 1))"
  kill -KILL "${pid_of[$manager]}"
  wait "$bench" || true
  echo "{\"kill\":$1,\"result\":$(<"$work/bench")}" >>"$work/results"
  start_broker "${manager#broker-}"
  wait_until_in_sync
}

prepare
start_group 3
for ((kill = 1; kill <= kills; ++kill)); do
  if ((kill % 10 == 0)); then progress "kill $kill of $kills"; fi
  one "$kill"
done

python3 - "$work/results" "$load_text" <<'PYTHON'
import json
import statistics
import sys

results = [json.loads(line)["result"] for line in open(sys.argv[1])]
total = {name: sum(result[name] for result in results)
         for name in ("sent", "ok", "late", "expired", "refused", "failed", "lost", "duplicated", "unexpected")}
gaps = sorted(result["gap_ms_max"] for result in results)
print(f"{len(results)} kills of the manager at {sys.argv[2]}:", ", ".join(f"{n} {name}" for name, n in total.items()))
print(f"longest gap in replies: median {statistics.median(gaps):.1f} ms, worst {gaps[-1]:.1f} ms")
sys.exit(0 if total["sent"] == total["ok"] + total["late"] and total["duplicated"] == total["unexpected"] == 0 else 1)
PYTHON
