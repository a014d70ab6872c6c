#!/usr/bin/env bash
# promises.sh [--rounds N]: what Redoubt promises when a manager dies or stands still, for groups of each size, with the
# longest gap in replies measured here, as the Markdown table of README.md. Real brokers, four replicas of four workers
# that take 2 ms on average, 2,000 requests a second. Exit status: 0 if every request of every round was answered, once.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset "${!REDOUBT_@}"

rounds=5
readonly groups=(1 2 2+w 3 5)

case "$# ${1:-} ${2:-}" in
  "0  ") ;;
  "2 --rounds "[1-9]*) rounds="$2" ;;
  *)
    echo "usage: promises.sh [--rounds N]" >&2
    exit 2
    ;;
esac

source deploy/group.sh

# What each event does to the manager, a second after the load began.
undisturbed() { :; }
crash() {
  kill -KILL "${pid_of[$manager]}"
  # Alone it must be started again, as the service's unit does it.
  if ((size == 1)); then sleep 0.2 && start_broker 1; fi
}
hand_over() { kill -TERM "${pid_of[$manager]}"; }
pause() {
  kill -STOP "${pid_of[$manager]}"
  sleep 2
  kill -CONT "${pid_of[$manager]}"
}

# one ROUND KIND EVENT: its result is kept.
one() {
  local bench
  start_group "$2"
  build/bin/redoubt bench --brokers "$group" --levels work --rate 2000 --duration 4s --deadline 5s --json \
    >"$work/bench" 2>"$work/bench.err" &
  bench=$!
  sleep 1
  "$3"
  wait "$bench" || true
  echo "{\"group\":\"$2\",\"event\":\"$3\",\"round\":$1,\"result\":$(<"$work/bench")}" >>"$work/results"
  stop_all
}

prepare
for ((round = 1; round <= rounds; ++round)); do
  for each in "${groups[@]}"; do
    progress "round $round of $rounds, brokers: $each"
    one "$round" "$each" crash
    one "$round" "$each" pause
  done
  one "$round" 3 hand_over
  one "$round" 3 undisturbed
done

python3 - "$work/results" <<'PYTHON'
import json
import statistics
import sys

gaps, unanswered = {}, 0
for line in open(sys.argv[1], encoding="utf-8"):
    run = json.loads(line)
    result = run["result"]
    gaps.setdefault((run["group"], run["event"]), []).append(result["gap_ms_max"])
    wrong = result["sent"] - result["ok"] + result["duplicated"] + result["unexpected"]
    if wrong:
        print(f"{run['group']}, {run['event']}, round {run['round']}: not as promised: {json.dumps(result)}", file=sys.stderr)
    unanswered += wrong


def gap(group, event):
    values = gaps[group, event]
    return f"{statistics.median(values):,.0f} ms ({max(values):,.0f})"


MAJORITY = "the side with the majority serves; a manager on the other suspends: never two at work"
AFTER_TWO = "a standby rules; after one more crash nobody, until one returns"
ROWS = [
    ("1", "1 broker", "no service until it is started again (here after 200 ms); clients send again",
     "all waits while it lasts", "who does not reach the broker waits, to the deadline"),
    ("2", "2 brokers", "the other rules",
     "the other rules after `--dead-after`; the first yields when it wakes",
     "**two managers** of different epochs may serve; the lower yields when they meet"),
    ("2+w", "2 and a witness", AFTER_TWO, "the standby rules after `--dead-after`", MAJORITY),
    ("3", "3 brokers", AFTER_TWO, "a standby rules after `--dead-after`", MAJORITY),
    ("5", "5 brokers", "a standby rules, also after the second crash", "a standby rules after `--dead-after`", MAJORITY),
]
print("| group | the manager crashes | the manager stands still (SIGSTOP, 2 s) | the network parts |")
print("|---|---|---|---|")
for group, title, crash, pause, partition in ROWS:
    print(f"| {title} | {crash} · {gap(group, 'crash')} | {pause} · {gap(group, 'pause')} | {partition} |")
print()
print(f"3 brokers, the manager told to stop (SIGTERM): {gap('3', 'hand_over')}; nothing done at all: {gap('3', 'undisturbed')}.")
sys.exit(unanswered > 0)
PYTHON
