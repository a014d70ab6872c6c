#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: the style, all cases with the address and undefined-behaviour
# sanitizers, the process-level ones on the release build, the fuzzer for a moment. Quiet unless something fails. The
# last line is `N passed, N failed`; the exit status is 0 only if nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# A daemon under test must not take flags from whoever runs the tests.
unset "${!REDOUBT_@}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

jobs="$(nproc)"
fuzz_seconds=20
passed=0
failed=0
logs="$(mktemp -d)"

# However the script ends, the last line and the status say how it went.
finish() {
  rm -rf "$logs"
  echo "$passed passed, $failed failed"
  if ((failed > 0 || passed == 0)); then exit 1; fi
  exit 0
}
trap finish EXIT
trap 'echo interrupted; failed=$((failed + 1)); exit' INT TERM

progress() { echo "[$(date +%H:%M:%S)] $*"; }

# quietly NAME COMMAND...: the end of its output only if it fails.
quietly() {
  local name="$1"
  shift
  progress "$name"
  if "$@" >"$logs/last" 2>&1; then return 0; fi
  tail -n 60 "$logs/last"
  echo "FAILED: $name: $*"
  return 1
}

# For a step that is one test.
one() {
  if quietly "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# For a step that what follows needs.
needed() {
  quietly "$@" && return 0
  failed=$((failed + 1))
  return 1
}

# cases NAME FOLDER CTEST_ARGUMENTS...: counts single test cases. A skipped one counts as neither; ctest itself failing
# without a failed case (no tests at all, say) counts as one failure.
cases() {
  local name="$1" folder="$2" status=0 summary bad total skipped
  shift 2
  progress "$name"
  ctest --test-dir "$folder" --timeout 120 --no-tests=error --output-on-failure "$@" >"$logs/last" 2>&1 || status=$?
  summary="$(grep -aoE '[0-9]+ tests? failed out of [0-9]+$' "$logs/last" | tail -n 1)"
  bad="${summary%% *}"
  total="${summary##* }"
  skipped="$(grep -acE '^[[:space:]]+[0-9]+ - .* \(Skipped\)$' "$logs/last")"
  if ((status != 0 && ${bad:-0} == 0)); then failed=$((failed + 1)); fi
  failed=$((failed + ${bad:-0}))
  passed=$((passed + ${total:-0} - ${bad:-0} - skipped))
  if ((status != 0)); then
    # Only the cases that failed, with their output, and ctest's summary.
    grep -avE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' "$logs/last" | tail -n 200
    echo "FAILED: $name"
  fi
}

build() {
  needed "configuring $1" cmake --preset "$1" && needed "building $1" cmake --build --preset "$1" -j "$jobs" "${@:2}"
}

source deploy/packages.sh
progress "packages"
if ! install_packages --tests; then
  failed=$((failed + 1))
  exit
fi

one "style" python3 tests/tidy.py
one "style checks check" python3 tests/tidy.py --self-test
if build dev; then cases "tests with sanitizers" build-dev -LE 'process|sim' -j 2; fi
if build release --target process_tests; then
  cases "simulated clusters" build -L sim -j 2
  cases "tests with real processes" build -L process
fi
if build fuzz --target fuzz_codec; then
  mkdir -p build-fuzz/corpus
  one "fuzzing the codec for $fuzz_seconds s" build-fuzz/bin/fuzz_codec -max_total_time="$fuzz_seconds" \
    -artifact_prefix=build-fuzz/ build-fuzz/corpus
fi
