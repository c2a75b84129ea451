#!/usr/bin/env bash
# Installs what the tests need beside Go. Run it as often as you like: what is
# there already is not touched, and then it prints nothing.
#
#   scripts/deps.sh
#
# Where it may not install (no root, no sudo, not Debian), it says what is
# missing and how to get it. Tests that need a missing tool are then skipped,
# except in CI (CI is set), where this script and they fail.
set -euo pipefail
cd "$(dirname "$0")/.."

# needs prints "package..." for every tool that is missing. Each row: what the
# tests want it for, how to see that it is there, and the Debian packages.
needs() {
  command -v gcc >/dev/null || echo gcc libc6-dev                      # go test -race
  have_postgres || echo postgresql                                     # the shared store
  command -v nats-server >/dev/null || [ -x /usr/sbin/nats-server ] || echo nats-server # a replicated queue of the user's own
  command -v chromium >/dev/null || echo chromium fonts-dejavu-core    # looks at reports
  command -v sysbench >/dev/null || echo sysbench                      # workload sysbench
  command -v fio >/dev/null || echo fio                                # workload disk
  command -v ffmpeg >/dev/null || echo ffmpeg                          # fleets that transcode, workload jobs
  command -v iperf3 >/dev/null || echo iperf3                          # workload network, as an alternative
  have nginx || echo nginx-light                                       # a server whose capacity is measured
  command -v mandoc >/dev/null || echo mandoc                          # looks at the man pages
  command -v redis-server >/dev/null || echo redis-server              # data stores as targets of load
  have mariadbd || echo mariadb-server
  have haproxy || echo haproxy                                         # tiers whose status is asked for
  have apache2 || echo apache2
  command -v promtool >/dev/null || echo prometheus                    # a source of monitoring data
  have ip || echo iproute2                                             # tests look at the lab with it
  have mkfs.ext4 || echo e2fsprogs                                     # the lab's volumes
  have losetup || echo util-linux mount
  command -v curl >/dev/null || echo curl                              # the application of the lab proof
  command -v python3 >/dev/null || echo python3                        # its server
}

# have looks for a program where root has it, too.
have() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null; }

have_postgres() {
  command -v postgres >/dev/null && return
  local server
  for server in /usr/lib/postgresql/*/bin/postgres; do
    [ -x "$server" ] && return
  done
  return 1
}

main() {
  local packages script status=0
  packages=$(needs)
  if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # one word a package
    scripts/apt-install.sh $packages || status=$?
  fi
  # What is not a Debian package has a script of its own.
  for script in scripts/install-*.sh scripts/cassandra.sh; do
    [ -e "$script" ] || continue
    bash "$script" || status=$?
  done
  if [ "$status" -ne 0 ] && [ -z "${CI:-}" ]; then
    echo "going on without: tests that need what is missing will be skipped" >&2
    status=0
  fi
  exit "$status"
}

main
