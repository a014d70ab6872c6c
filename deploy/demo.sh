#!/usr/bin/env bash
# Shows what Redoubt does: installs and builds what is missing, starts three brokers and three replicas on each of two
# levels, sends every file of this checkout through both, and takes away on the way: the manager with SIGKILL, a replica
# of each level with SIGKILL, the next manager with SIGTERM. Both brokers come back with their old command lines. Exit 0
# only if every file was answered, correctly and once. Whatever it starts, it stops.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The daemons take their settings from here, not from whoever runs this.
unset "${!REDOUBT_@}"

readonly at_once=4               # calls outstanding
readonly start_limit=20          # seconds a daemon may take to be ready, or to rule, or to be in sync
readonly run_limit=300           # seconds for all files; what is missing then is reported
readonly brokers=(broker-1 broker-2 broker-3)
readonly services=(compress digest)
declare -rA commands=([compress]='gzip -9 -n' [digest]=sha256sum)

work="$(mktemp -d)"
pids=()        # of what runs, each the leader of a process group of its own
declare -A pid_of=() address_of=() admin_of=()

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

is_gone() { ! alive "$1"; }

# end NAME SIGNAL: returns when it is gone.
end() {
  local pid="${pid_of[$1]}" i
  # What the shell has to say about it is no news.
  { kill -s "$2" "$pid" && eventually "$start_limit" is_gone "$pid"; } 2>/dev/null ||
    give_up "$1 was gone before, or goes on after SIG$2; its log:" "$work/$1.err"
  for i in "${!pids[@]}"; do if ((pids[i] == pid)); then unset "pids[$i]"; fi; done
}

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
  until eventually 15 is_gone "$builder"; do
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

start_broker() {
  launch "$1" build/bin/redoubt-broker --name "$1" --group "$group" --listen "${address_of[$1]}" \
    --admin "${admin_of[$1]}" --data-dir "$work/$1"
}

start() {
  local name service i
  for name in "${brokers[@]}"; do
    find_port
    address_of[$name]="127.0.0.1:$port"
    find_port
    admin_of[$name]="127.0.0.1:$port"
    group+="${group:+,}${address_of[$name]}"
  done
  for name in "${brokers[@]}"; do start_broker "$name"; done
  for name in "${brokers[@]}"; do wait_ready "$name"; done
  for service in "${services[@]}"; do
    for i in 1 2 3; do
      launch "$service-$i" build/bin/redoubt-replica --brokers "$group" --service "$service" --name "$service-$i" \
        --exec "${commands[$service]}"
    done
  done
  for service in "${services[@]}"; do for i in 1 2 3; do wait_ready "$service-$i"; done; done
  eventually "$start_limit" are_in_sync || give_up "the brokers do not come together; the log of one:" "$work/broker-1.err"
}

# What a broker's admin port says about it, headers left out.
fetch() {
  (
    exec {stream}<>"/dev/tcp/${admin_of[$1]%:*}/${admin_of[$1]##*:}"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&"$stream"
    sed '1,/^\r*$/d' <&"$stream"
  ) 2>/dev/null
}

# Sets `manager` to the broker that says that it is the one.
find_manager() {
  for manager in "${brokers[@]}"; do
    if fetch "$manager" /status >"$work/status" && grep -q '^[^[]*"role":"manager"' "$work/status"; then return 0; fi
  done
  return 1
}

# What the manager knows of each broker, a line each: name, whether in sync, changes so far, hash of the open requests.
list_brokers() {
  grep -oE '\{"name":"broker-[^}]*\}' "$work/status" |
    sed -E 's/.*"name":"([^"]*)".*"in_sync":([a-z]*).*"checkpoint_seq":([0-9]*).*"state_hash":"([^"]*)".*/\1 \2 \3 \4/'
}

is_in_sync() { find_manager && list_brokers | grep -q "^$1 true "; }

# All of them, and with the same state.
are_in_sync() {
  find_manager && (($(list_brokers | grep -c ' true ') == ${#brokers[@]})) &&
    (($(list_brokers | cut -d ' ' -f 3- | sort -u | wc -l) == 1))
}

# The two that xargs runs: one number and its file each.
expect_one() { gzip -9 -n <"$2" | sha256sum >"$work/expected/$1"; }
call_one() {
  local status=0
  build/bin/redoubt call --brokers "$group" --levels compress,digest --copies 2 --deadline 20s --input "$2" \
    --output "$work/answer/$1" 2>>"$work/calls.err" || status=$?
  echo "$EPOCHREALTIME $1 $status" >>"$work/calls"
}

each_file() { xargs -0 -n 2 -P "$at_once" bash -c "$1"' "$@"' "$1" <"$work/numbered"; }

has_answers() { (($(wc -l <"$work/calls") >= $1)) || ! alive "$2"; }

# replace_manager SIGNAL: the others notice by themselves. Started again as before it must become a standby in sync.
replace_manager() {
  eventually "$start_limit" find_manager || give_up "no broker rules"
  local gone="$manager"
  went+=("$EPOCHREALTIME $gone $(wc -l <"$work/calls")")
  end "$gone" "$1"
  eventually "$start_limit" find_manager || give_up "no broker rules $start_limit s after $gone went"
  start_broker "$gone"
  wait_ready "$gone"
  eventually "$start_limit" is_in_sync "$gone" || give_up "$gone is back but not in sync; its log:" "$work/$gone.err"
}

# Sends all files, and takes brokers and replicas away when a quarter, a half and three quarters are through.
send_files() {
  local sender service quarter=$((${#files[@]} / 4))
  : >"$work/calls"
  began="$EPOCHREALTIME"
  set -m
  each_file call_one >/dev/null 2>&1 &
  sender=$!
  set +m
  pids+=("$sender")
  eventually "$run_limit" has_answers "$quarter" "$sender" || true
  replace_manager KILL
  eventually "$run_limit" has_answers $((2 * quarter)) "$sender" || true
  for service in "${services[@]}"; do end "$service-1" KILL; done
  killed_after="$(wc -l <"$work/calls")"
  eventually "$run_limit" has_answers $((3 * quarter)) "$sender" || true
  replace_manager TERM
  eventually "$run_limit" has_answers "${#files[@]}" "$sender" || true
  ended="$EPOCHREALTIME"
}

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
}

count_other() {
  others[$1]=$((${others[$1]:-0} + 1))
  if [[ -z "${example[$1]:-}" ]]; then example[$1]="${files[$2]}"; fi
}

# gap_ms FROM TO: the longest time between two answers that touches this span.
gap_ms() {
  { echo "$began"; cut -d ' ' -f 1 "$work/calls"; } | sort -n | awk -v from="$1" -v to="$2" '
    NR > 1 && $1 > from && last < to && $1 - last > gap { gap = $1 - last }
    { last = $1 }
    END { printf "%.0f", gap * 1000 }'
}

# row_went TITLE "TIME NAME ANSWERS": a manager's end.
row_went() {
  local time name answers
  read -r time name answers <<<"$2"
  row "$1" "$name, the manager, after $answers answers; longest gap $(gap_ms "$time" $((${time%.*} + 2))) ms"
}

row() { printf '  %-20s %s\n' "$1" "$2"; }

report() {
  local kind took
  took="$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.1f", b - a }')"
  echo
  echo "Every file of this checkout through '${commands[compress]}', then '${commands[digest]}': two copies of each step."
  echo
  row "files sent" "${#files[@]} in $took s, $at_once at a time"
  row "answered correctly" "$correct, byte for byte what the same commands give here"
  if ((${#others[@]} == 0)); then row "anything else" "0"; fi
  for kind in "${!others[@]}"; do row "$kind" "${others[$kind]}, such as ${example[$kind]}"; done
  row "duplicated" "$duplicated"
  row_went "SIGKILL" "${went[0]}"
  row "SIGKILL" "replicas ${services[*]/%/-1}, after $killed_after answers"
  row_went "SIGTERM" "${went[1]}"
  row "longest gap of all" "$(gap_ms "$began" "$ended") ms between two answers"
  row "rules now" "$manager, epoch $(sed -E 's/^\{"epoch":([0-9]+).*/\1/' "$work/status")"
  row "in sync" "$(list_brokers | awk '$2 == "true" { print $1 }' | paste -sd ' ' -)"
  row "their state" "$(list_brokers | awk '{ print "change " $3 ", hash " $4 }' | sort -u | paste -sd ';' -), $agreed"
  echo
}

group='' manager='' agreed="NOT the same on all"
began=0 ended=0 went=() killed_after=0 correct=0 duplicated=0
declare -A others=() example=()

source deploy/packages.sh
source deploy/ports.sh
progress "packages"
install_packages
build

mapfile -d '' -t files < <(list_files)
if ((${#files[@]} == 0)); then give_up "there are no files to send in $PWD"; fi
for i in "${!files[@]}"; do printf '%s\0./%s\0' "$i" "${files[$i]}"; done >"$work/numbered"
mkdir "$work/expected" "$work/answer"

progress "starting ${#brokers[@]} brokers and ${#services[@]} x 3 replicas"
start
export -f expect_one call_one
export work group
progress "computing here what ${#files[@]} files should give"
each_file expect_one || give_up "the local commands failed"
progress "sending them through the brokers"
send_files
if eventually "$start_limit" are_in_sync; then agreed="the same on all"; fi
judge
report
if [[ "$agreed" == NOT* ]]; then give_up "the standbys are not in sync; what the manager says:" "$work/status"; fi
if ((correct == ${#files[@]} && ${#others[@]} == 0 && duplicated == 0)); then
  echo "Every file was answered, correctly and once."
else
  if [[ -s "$work/calls.err" ]]; then sort "$work/calls.err" | uniq -c | sort -rn | head -n 10 >&2; fi
  echo "NOT every file was answered, correctly and once."
  exit 1
fi
