#!/bin/sh
# After an installation or an upgrade. It starts nothing that does not run, and
# enables nothing: a server is configured first, an agent needs a token.
set -eu

add_user() {
  getent passwd "$1" >/dev/null ||
    useradd --system --user-group --no-create-home --home-dir "$2" --shell /usr/sbin/nologin "$1"
}
add_user scalebench /var/lib/scalebench/server
add_user scalebench-agent /var/lib/scalebench/agent

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  # What runs goes on with the new version; systemctl says what does not.
  systemctl try-restart scalebench-server.service scalebench-agent.service || true
fi
