#!/bin/sh
# After the package went, or its old version. What was measured stays, also when
# a Debian package is purged: so do /var/lib/scalebench and the users that own it.
set -eu
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
