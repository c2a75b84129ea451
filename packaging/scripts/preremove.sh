#!/bin/sh
# Before the package goes (dpkg says "remove", rpm 0), but not before an upgrade.
set -eu
case "${1:-}" in
remove | 0) ;;
*) exit 0 ;;
esac

if command -v systemctl >/dev/null; then
  now=
  if [ -d /run/systemd/system ]; then now=--now; fi
  # shellcheck disable=SC2086 # nothing, or one word
  systemctl disable $now scalebench-server.service scalebench-agent.service || true
fi
