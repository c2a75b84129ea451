#!/usr/bin/env bash
# Installs Spark, with which `make lab-proof` tests the workload of that name, into
# .cache/spark: a Python environment with a pinned pyspark from PyPI, whose
# programs are in .cache/spark/bin. When it is there already, nothing is done and
# nothing printed.
#
#   scripts/spark.sh
#
# Exit status: 0 it is there; 1 it could not be fetched; 3 a tool is missing (the
# message says which, and how to get it).
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.3.0
dir=$PWD/.cache/spark

# java17 says whether there is a Java that Spark 4 runs on.
java17() {
  local major
  major=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  [ "${major:-0}" -ge 17 ]
}

installed() { "$dir/bin/python3" -c "import sys, pyspark; sys.exit(pyspark.__version__ != '$version')" 2>/dev/null; }

main() {
  local log
  if ! command -v java >/dev/null || ! java17; then
    scripts/apt-install.sh openjdk-17-jre-headless || exit 3
  fi
  if installed; then exit 0; fi
  if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    scripts/apt-install.sh python3-venv || exit 3
  fi
  echo "installing Spark $version" >&2
  log=$(mktemp)
  rm -rf "$dir"
  if ! { python3 -m venv "$dir" && "$dir/bin/pip" install --quiet --disable-pip-version-check "pyspark==$version"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "installing Spark failed; the whole log is in $log" >&2
    exit 1
  fi
  rm -f "$log"
}

main "$@"
