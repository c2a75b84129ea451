#!/usr/bin/env bash
# Installs Debian packages that are missing, as root or through sudo, quietly,
# and without starting a service: scalebench's tests start the servers that
# they need themselves, on ports of their own.
#
#   scripts/apt-install.sh PACKAGE...
#
# Exit status: 0 all are installed; 1 apt failed; 3 this machine has no apt or
# we may not use it (the message then says what to install by hand).
set -euo pipefail

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# as_root runs a command as root. sudo may ask for a password only where
# somebody can type one.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

may_be_root() {
  [ "$(id -u)" -eq 0 ] && return
  command -v sudo >/dev/null || return
  [ -t 0 ] || sudo -n true 2>/dev/null
}

# hold_services forbids packages to start what they bring, until we are done.
# A policy that the machine has already is left as it is.
policy=/usr/sbin/policy-rc.d
pgconf=/etc/postgresql-common/createcluster.d/scalebench-tests.conf
hold_services() {
  trap release_services EXIT
  if [ ! -e "$policy" ]; then
    held=yes
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
  fi
  # No default database cluster either: it would start at the next boot.
  as_root mkdir -p "$(dirname "$pgconf")"
  echo 'create_main_cluster = false' | as_root tee "$pgconf" >/dev/null
}

release_services() {
  as_root rm -f "$pgconf"
  if [ "${held:-}" = yes ]; then as_root rm -f "$policy"; fi
}

# keep_off disables the services of packages that we brought, so that they do
# not start at the next boot.
keep_off() {
  command -v systemctl >/dev/null || return 0
  local unit
  for unit in $(dpkg -L "$@" 2>/dev/null | sed -n 's#.*/systemd/system/\([^/@]*\.service\)$#\1#p' | sort -u); do
    as_root systemctl disable --quiet "$unit" >/dev/null 2>&1 || true # it was never enabled
  done
}

main() {
  local missing=() package log
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "cannot install: this is not a Debian machine. Install by hand: $*" >&2
    exit 3
  fi
  for package; do installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || exit 0
  if ! may_be_root; then
    echo "cannot install without root. Run: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 3
  fi
  echo "installing ${missing[*]}" >&2
  log=$(mktemp)
  hold_services
  # DPkg::Lock::Timeout waits for another apt instead of failing.
  if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
      install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    echo "installing ${missing[*]} failed; the whole log is in $log" >&2
    exit 1
  fi
  keep_off "${missing[@]}"
  rm -f "$log"
}

main "$@"
