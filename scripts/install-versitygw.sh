#!/usr/bin/env bash
# Installs versitygw, the S3 server that the tests of workload objectstore
# start, into .tools.
#
#   scripts/install-versitygw.sh
set -euo pipefail
cd "$(dirname "$0")/.."

exec bash scripts/go-tool.sh versitygw github.com/versity/versitygw v1.8.0 github.com/versity/versitygw/cmd/versitygw
