#!/usr/bin/env bash
# Installs what `make bench-analysis` and `make tables-proof` set the reading and analysis of
# tables beside, pandas, polars, SciPy, pyarrow and DuckDB, pinned, into .cache/analysts. What is there already is not touched, and
# then nothing is printed.
#
#   scripts/analysts.sh
#
# Exit status: 0 it is there; otherwise that of python3 or pip.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(duckdb==2.0.1 numpy==2.4.6 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 scipy==1.17.1)
venv=.cache/analysts
stamp="$venv/installed"
[ "$(cat "$stamp" 2>/dev/null)" != "${packages[*]}" ] || exit 0
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
echo "${packages[*]}" >"$stamp"
