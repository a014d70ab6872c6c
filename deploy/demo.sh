#!/usr/bin/env bash
# Shows what Redoubt does: installs and builds what is missing, starts a broker and three replicas on each of two
# levels, sends every file of this checkout through both, kills a replica of each level in the middle, and reports.
# Exit 0 only if every file was answered, correctly and once. Whatever it starts, it stops.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The daemons take their settings from here, not from whoever runs this.
unset "${!REDOUBT_@}"

readonly at_once=4               # calls outstanding
readonly start_limit=20          # seconds a daemon may take to be ready
readonly run_limit=300           # seconds for all files; what is missing then is reported
readonly services=(compress digest)
declare -rA commands=([compress]='gzip -9 -n' [digest]=sha256sum)

work="$(mktemp -d)"
pids=()        # of what runs, each the leader of a process group of its own
declare -A pid_of=()

progress() { echo "[$(date +%H:%M:%S)] $*"; }

alive() { kill -0 "$1" 2>/dev/null; }

# eventually SECONDS COMMAND...: looks again and again until it holds; fails when the time is over.
eventually() {
  local limit=$((SECONDS + $1))
  shift
  until "$@"; do
    if ((SECONDS >= limit)); then return 1; fi
    sleep 0.02
  done
}

all_gone() {
  local pid
  for pid in "${pids[@]}"; do if alive "$pid"; then return 1; fi; done
}

stop_all() {
  local pid
  for pid in "${pids[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
  eventually 5 all_gone || for pid in "${pids[@]}"; do kill -KILL -- "-$pid" 2>/dev/null || true; done
  { wait; } 2>/dev/null || true
  pids=()
}

finish() {
  local status=$?
  trap '' INT TERM
  # What the shell has to say about children that were killed is no news.
  { stop_all; } 2>/dev/null
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

give_up() {
  echo "demo: $1" >&2
  if [[ -s "${2:-}" ]]; then tail -n 40 "$2" >&2; fi
  exit 1
}

# launch NAME COMMAND...: in the background, its events in NAME.out, its log in NAME.err.
launch() {
  local name="$1"
  shift
  set -m
  "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
  set +m
  pids+=("$!")
  pid_of[$name]=$!
}

is_ready() { grep -q '"event":"ready"' "$work/$1.out" || ! alive "${pid_of[$1]}"; }

wait_ready() {
  eventually "$start_limit" is_ready "$1" || give_up "$1 is not ready after $start_limit s; its log:" "$work/$1.err"
  alive "${pid_of[$1]}" || give_up "$1 has ended; its log:" "$work/$1.err"
}

# The text of a key of the first event that has it.
event_text() { sed -n "s/.*\"$2\":\"\\([^\"]*\\)\".*/\\1/p" "$work/$1.out" | head -n 1; }

is_built() { ! alive "$1"; }

build() {
  local jobs began=$SECONDS builder last shown=
  jobs="$(nproc)"
  progress "building (the first time takes minutes)"
  cmake --preset release >"$work/build.log" 2>&1 || give_up "cmake --preset release failed:" "$work/build.log"
  set -m
  cmake --build build -j "$jobs" --target programs >"$work/build.log" 2>&1 </dev/null &
  builder=$!
  set +m
  pids+=("$builder")
  until eventually 15 is_built "$builder"; do
    last="$(grep -oE '^\[[0-9]+/[0-9]+\]' "$work/build.log" | tail -n 1 || true)"
    if [[ "$last" != "$shown" ]]; then progress "  $last"; fi
    shown="$last"
  done
  wait "$builder" || give_up "the build failed:" "$work/build.log"
  pids=()
  progress "built in $((SECONDS - began)) s"
}

# The files of the checkout, each ended by a zero byte; without git, all that is not built.
list_files() {
  local file
  if git ls-files -z >"$work/listed" 2>/dev/null && [[ -s "$work/listed" ]]; then :; else
    find . -name 'build*' -prune -o -name .git -prune -o -name .cache -prune -o -type f -print0 >"$work/listed"
  fi
  while IFS= read -r -d '' file; do
    if [[ -f "$file" && -r "$file" ]]; then printf '%s\0' "$file"; fi
  done <"$work/listed"
}

start() {
  local service i
  launch broker build/bin/redoubt-broker --name broker-1 --listen 127.0.0.1:0 --admin 127.0.0.1:0
  wait_ready broker
  brokers="$(event_text broker listen)"
  admin="$(event_text broker admin)"
  for service in "${services[@]}"; do
    for i in 1 2 3; do
      launch "$service-$i" build/bin/redoubt-replica --brokers "$brokers" --service "$service" --name "$service-$i" \
        --exec "${commands[$service]}"
    done
  done
  for service in "${services[@]}"; do for i in 1 2 3; do wait_ready "$service-$i"; done; done
}

# The two that xargs runs: one number and its file each.
expect_one() { gzip -9 -n <"$2" | sha256sum >"$work/expected/$1"; }
call_one() {
  local status=0
  build/bin/redoubt call --brokers "$brokers" --levels compress,digest --copies 2 --deadline 20s --input "$2" \
    --output "$work/answer/$1" 2>>"$work/calls.err" || status=$?
  echo "$EPOCHREALTIME $1 $status" >>"$work/calls"
}

each_file() { xargs -0 -n 2 -P "$at_once" bash -c "$1"' "$@"' "$1" <"$work/numbered"; }

has_answers() { (($(wc -l <"$work/calls") >= $1)) || ! alive "$2"; }

# Sends all files; when a third is through, a replica of each level dies.
send_files() {
  local sender service
  : >"$work/calls"
  began="$EPOCHREALTIME"
  set -m
  each_file call_one >/dev/null 2>&1 &
  sender=$!
  set +m
  pids+=("$sender")
  eventually "$run_limit" has_answers $((${#files[@]} / 3)) "$sender" || true
  for service in "${services[@]}"; do
    if alive "${pid_of[$service-1]}"; then
      # The shell's own word on it goes the same way.
      { kill -KILL "${pid_of[$service-1]}" && wait "${pid_of[$service-1]}"; } 2>/dev/null || true
      killed+=("$service-1")
    fi
  done
  killed_after="$(wc -l <"$work/calls")"
  eventually "$run_limit" has_answers "${#files[@]}" "$sender" || true
  ended="$EPOCHREALTIME"
}

# fetch PATH: what the broker's admin port says, headers left out.
fetch() {
  local stream
  exec {stream}<>"/dev/tcp/${admin%:*}/${admin##*:}"
  printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&"$stream"
  sed '1,/^\r*$/d' <&"$stream"
  exec {stream}>&-
}

is_settled() { fetch /metrics >"$work/metrics" && grep -q '^redoubt_copies_outstanding 0$' "$work/metrics"; }

# metric NAME{LABELS}: as a whole number.
metric() { awk -v name="$1" '$1 == name { printf "%d", $2; found = 1 } END { if (!found) print 0 }' "$work/metrics"; }

judge() {
  local number status
  declare -A calls_of=()
  while read -r _ number status; do
    calls_of[$number]=$((${calls_of[$number]:-0} + 1))
    case "$status" in
      0) if cmp -s "$work/expected/$number" "$work/answer/$number"; then correct=$((correct + 1)); else
        count_other "answered wrongly" "$number"
      fi ;;
      1) count_other "failed" "$number" ;;
      3) count_other "refused" "$number" ;;
      4) count_other "too late" "$number" ;;
      5) count_other "no broker" "$number" ;;
      *) count_other "exit status $status" "$number" ;;
    esac
  done <"$work/calls"
  for number in "${!files[@]}"; do
    case "${calls_of[$number]:-0}" in
      0) count_other "no outcome" "$number" ;;
      1) ;;
      *) duplicated=$((duplicated + 1)) ;;
    esac
  done
  # The client gives a second answer to nobody, so ask the broker too.
  local answered
  answered=$(($(metric 'redoubt_requests_total{outcome="ok"}') + $(metric 'redoubt_requests_total{outcome="failed"}')))
  if ((answered > ${#files[@]})); then duplicated=$((duplicated + answered - ${#files[@]})); fi
}

count_other() {
  others[$1]=$((${others[$1]:-0} + 1))
  if [[ -z "${example[$1]:-}" ]]; then example[$1]="${files[$2]}"; fi
}

gap_ms() {
  { echo "$began"; cut -d ' ' -f 1 "$work/calls"; } | sort -n |
    awk 'NR > 1 && $1 - last > gap { gap = $1 - last } { last = $1 } END { printf "%.0f", gap * 1000 }'
}

copies_by_fate() {
  local fate text=
  for fate in won halted_queued halted_running expired failed lost wasted; do
    text+="${text:+, }$(metric "redoubt_copies_total{fate=\"$fate\"}") ${fate/_/ while }"
  done
  echo "$text"
}

row() { printf '  %-20s %s\n' "$1" "$2"; }

report() {
  local kind took status_json
  took="$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.1f", b - a }')"
  status_json="$(build/bin/redoubt status --brokers "$brokers" --json || true)"
  echo
  echo "Every file of this checkout through '${commands[compress]}', then '${commands[digest]}': two copies of each step."
  echo
  row "files sent" "${#files[@]} in $took s, $at_once at a time"
  row "answered correctly" "$correct, byte for byte what the same commands give here"
  if ((${#others[@]} == 0)); then row "anything else" "0"; fi
  for kind in "${!others[@]}"; do row "$kind" "${others[$kind]}, such as ${example[$kind]}"; done
  row "duplicated" "$duplicated"
  row "longest gap" "$(gap_ms) ms between two answers"
  row "killed" "replicas ${killed[*]:-none}, after $killed_after answers"
  row "copies" "$(copies_by_fate)"
  row "rules" "$(sed -n 's/.*"manager":"\([^"]*\)".*/\1/p' <<<"$status_json"), epoch $(metric redoubt_epoch)"
  echo
}

brokers='' admin='' began=0 ended=0 killed=() killed_after=0 correct=0 duplicated=0
declare -A others=() example=()

source deploy/packages.sh
progress "packages"
install_packages
build

mapfile -d '' -t files < <(list_files)
if ((${#files[@]} == 0)); then give_up "there are no files to send in $PWD"; fi
for i in "${!files[@]}"; do printf '%s\0./%s\0' "$i" "${files[$i]}"; done >"$work/numbered"
mkdir "$work/expected" "$work/answer"

progress "starting a broker and ${#services[@]} x 3 replicas"
start
export -f expect_one call_one
export work brokers
progress "computing here what ${#files[@]} files should give"
each_file expect_one || give_up "the local commands failed"
progress "sending them through the broker"
send_files
eventually 5 is_settled || true
judge
report
if ((correct == ${#files[@]} && ${#others[@]} == 0 && duplicated == 0)); then
  echo "Every file was answered, correctly and once."
else
  if [[ -s "$work/calls.err" ]]; then sort "$work/calls.err" | uniq -c | sort -rn | head -n 10 >&2; fi
  echo "NOT every file was answered, correctly and once."
  exit 1
fi
