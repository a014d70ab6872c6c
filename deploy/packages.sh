#!/usr/bin/env bash
# Installs the Debian packages that building needs and that are missing; with --tests also those of testing, with --peers
# those of bench-peers.sh. Run or sourced by the scripts beside it. When all are there it asks neither the network nor
# for a password.
install_packages() {
  local packages=(
    cmake ninja-build ccache g++ pkg-config libasio-dev protobuf-compiler libprotobuf-dev libspdlog-dev libcli11-dev
    libtomlplusplus-dev nlohmann-json3-dev prometheus-cpp-dev libcpp-httplib-dev libgtest-dev libgmock-dev
    libbenchmark-dev libboost-dev python3 gzip coreutils bsdextrautils
  )
  case "${1:-}" in
    --tests) packages+=(clang-14 libclang-rt-14-dev) ;;
    --peers) packages+=(nats-server libnats-dev libzmq3-dev) ;;
  esac

  local missing=() package
  for package in "${packages[@]}"; do
    # A package that was removed but left its settings is listed as `rc`: only `ii` is there.
    [[ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null)" == ii* ]] || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return 0; fi

  local root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "packages are missing and there is no sudo; as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    root=(sudo)
  fi
  echo "installing ${missing[*]}"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  local log
  log="$(mktemp)"
  if "${apt[@]}" update >"$log" 2>&1 && "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    rm -f "$log"
    return 0
  fi
  tail -n 40 "$log" >&2
  rm -f "$log"
  echo "apt-get failed; the packages are: ${missing[*]}" >&2
  return 1
}

if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then
  set -euo pipefail
  install_packages "$@"
fi
