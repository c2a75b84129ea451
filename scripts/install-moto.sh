#!/usr/bin/env bash
# Installs moto, which answers as CloudWatch does in the tests of
# internal/telemetry/cloudwatch, pinned, into .tools/moto. One that works already is
# left as it is.
#
#   scripts/install-moto.sh
#
# Exit status: 0 it is there; otherwise that of python3, pip or apt.
set -euo pipefail
cd "$(dirname "$0")/.."

package='moto[server]==5.2.5'
venv=.tools/moto
[ "$(cat "$venv/installed" 2>/dev/null)" != "$package" ] || exit 0
if moto_server --help >/dev/null 2>&1; then exit 0; fi
echo "installing $package" >&2
python3 -c 'import ensurepip' 2>/dev/null || scripts/apt-install.sh python3-venv
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "$package"
echo "$package" >"$venv/installed"
