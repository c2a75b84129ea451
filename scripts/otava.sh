#!/usr/bin/env bash
# Installs what changes of level are held to, Apache Otava and its E-divisive, pinned, with its
# source archive, which carries real series, into .cache/otava. What is there already is not
# touched, and then nothing is printed.
#
#   scripts/otava.sh
#
# Then: nice env OTAVA=$PWD/.cache/otava go test ./test/analysis -run '^TestChangesBeside$' -v -timeout 1h
#
# Exit status: 0 it is there; otherwise that of python3 or pip.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(apache-otava==0.8.0 numpy==2.2.0 scipy==1.16.3)
venv=.cache/otava
stamp="$venv/installed"
[ "$(cat "$stamp" 2>/dev/null)" != "${packages[*]}" ] || exit 0
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
"$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: -d "$venv/sdist" "${packages[0]}"
echo "${packages[*]}" >"$stamp"
