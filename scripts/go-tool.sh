#!/usr/bin/env bash
# Builds a program of another Go module into .tools: a pinned version, checked
# against Go's checksum database as every module is. When that version is there
# already, nothing is done and nothing printed.
#
#   scripts/go-tool.sh NAME MODULE VERSION [PACKAGE]
#
# PACKAGE is the module's own one if not given. Exit status: 0 it is there; 1 it
# could not be built (the message says why).
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1 module=$2 version=$3 package=${4:-$2}
tool=$PWD/.tools/$name

# installed says whether the binary was built from the pinned version; its
# build information names it.
installed() {
  [ -x "$tool" ] &&
    go version -m "$tool" 2>/dev/null | awk -v m="$module" -v v="$version" \
      '$1 == "mod" && $2 == m && $3 == v { found = 1 } END { exit !found }'
}

main() {
  local log
  if ! command -v go >/dev/null; then
    echo "cannot install $name: Go is missing, see https://go.dev/dl" >&2
    exit 1
  fi
  if installed; then exit 0; fi
  echo "installing $name $version" >&2
  log=$(mktemp)
  # GOFLAGS and workspaces of the caller are meant for scalebench, not for this.
  if ! env -u GOFLAGS -u GOOS -u GOARCH GOWORK=off CGO_ENABLED=0 GOBIN="$PWD/.tools" \
    go install -trimpath "$package@$version" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "installing $name failed; the whole log is in $log" >&2
    exit 1
  fi
  rm -f "$log"
}

main
