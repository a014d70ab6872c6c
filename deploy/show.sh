#!/usr/bin/env bash
# Runs the experiments with real processes in their full length and prints what was measured, a line each: the figures
# of release notes. Needs the release build's programs and builds them if they are not there. Exit status: 0 if
# everything held.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset "${!REDOUBT_@}"

tests=(pipeline replica_faults overload client_faults broker_faults failover partition links standby)
cmake --preset release >/dev/null
cmake --build --preset release -j "$(nproc)" --target process_tests >/dev/null

status=0
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
for test in "${tests[@]}"; do
  if REDOUBT_LONG=1 "build/bin/${test}_process_test" --gtest_color=no >"$log" 2>&1; then
    sed -n 's/^figure: //p' "$log"
  else
    status=1
    sed -n 's/^figure: //p' "$log"
    grep -vE '^(figure: |\[ RUN|\[       OK|\[---|Running main)' "$log"
  fi
  sed -n 's/^\[==========\] \(.*\) ran\. \(.*\)$/\1 \2/p' "$log" | sed "s/^/$test: /"
done
((status == 0)) && echo "everything held" || echo "NOT everything held: see above"
exit "$status"
