#!/usr/bin/env bash
# Installs what only the whole proof of n-tier experiments needs (make
# ntier-proof): Tomcat and the driver with which it reaches MariaDB, and data
# tiers to choose from: Galera (replicated), Spider (partitioned), pgpool-II
# (replicated, PostgreSQL). No service is enabled; the proof starts its own.
#
#   scripts/ntier-deps.sh
#
# Exit status: as scripts/apt-install.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

# The rest (MariaDB, PostgreSQL, HAProxy, Apache) is what all tests need.
scripts/deps.sh
scripts/apt-install.sh openjdk-17-jdk-headless tomcat10 libmariadb-java \
  galera-4 rsync mariadb-plugin-spider pgpool2
