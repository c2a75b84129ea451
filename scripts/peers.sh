#!/usr/bin/env bash
# Installs what `make bench-load` sets the load engine beside: wrk and hey from
# Debian, k6 (a pinned version, checked against Go's checksum database as every
# module is) into .tools; and what the comparison itself needs. What is there
# already is not touched, and then nothing is printed.
#
#   scripts/peers.sh
#
# Exit status: 0 it is there; otherwise that of apt-install.sh, or 1 when k6
# could not be built (the message says why).
set -euo pipefail
cd "$(dirname "$0")/.."

module=go.k6.io/k6
version=v1.8.1
tool=$PWD/.tools/k6

# installed says whether the binary was built from the pinned version; its
# build information names it.
installed() {
  [ -x "$tool" ] &&
    go version -m "$tool" 2>/dev/null | awk -v m="$module" -v v="$version" \
      '$1 == "mod" && $2 == m && $3 == v { found = 1 } END { exit !found }'
}

main() {
  local log
  scripts/apt-install.sh nginx-light wrk hey tcpdump time util-linux
  if installed; then exit 0; fi
  echo "building k6 $version; that takes some minutes" >&2
  log=$(mktemp)
  # GOFLAGS and workspaces of the caller are meant for scalebench, not for this.
  if ! env -u GOFLAGS -u GOOS -u GOARCH GOWORK=off CGO_ENABLED=0 GOBIN="$PWD/.tools" \
    go install -trimpath "$module@$version" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "building k6 failed; the whole log is in $log" >&2
    exit 1
  fi
  rm -f "$log"
}

main "$@"
