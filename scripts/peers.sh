#!/usr/bin/env bash
# Installs what `make bench-load` sets the load engine beside: wrk and hey from
# Debian, k6 into .tools (building it takes some minutes); and what the
# comparison itself needs. What is there already is not touched, and then
# nothing is printed.
#
#   scripts/peers.sh
#
# Exit status: 0 it is there; otherwise that of apt-install.sh or go-tool.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/apt-install.sh nginx-light wrk hey tcpdump time util-linux
exec bash scripts/go-tool.sh k6 go.k6.io/k6 v1.8.1
