#!/usr/bin/env bash
# Installs what `make all` has built, or removes it again. `make install` and
# scripts/package.sh call it.
#
#   scripts/install.sh install|uninstall
#
# From the environment: PREFIX (/usr/local), DESTDIR (empty; a folder to install
# into instead of /), SYSCONFDIR (/etc), BIN (bin/scalebench), SHARE (bin/share).
# Configuration that is there is not replaced, and not removed.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=${PREFIX:-/usr/local} dest=${DESTDIR:-}
etc=$dest${SYSCONFDIR:-/etc}/scalebench
bin=${BIN:-bin/scalebench} share=${SHARE:-bin/share}
man=$dest$prefix/share/man/man1
units=$dest$prefix/lib/systemd/system

# others prints "SOURCE TARGET" of what is copied as it is.
others() {
  echo "$share/scalebench.bash $dest$prefix/share/bash-completion/completions/scalebench"
  echo "$share/_scalebench $dest$prefix/share/zsh/site-functions/_scalebench"
  echo "$share/scalebench.fish $dest$prefix/share/fish/vendor_completions.d/scalebench.fish"
}

install_all() {
  local source target file unit
  for file in "$bin" "$share/man1"; do
    [ -e "$file" ] || { echo "$file is missing; run \`make all\` first" >&2; exit 1; }
  done
  install -D -m 755 "$bin" "$dest$prefix/bin/scalebench"
  install -d -m 755 "$man" "$units" "$etc"
  for file in "$share"/man1/*.1; do
    gzip -9nc "$file" >"$man/${file##*/}.gz"
  done
  chmod 644 "$man"/scalebench*.1.gz
  others | while read -r source target; do install -D -m 644 "$source" "$target"; done
  for unit in packaging/systemd/*.service; do
    sed "s#@BINDIR@#$prefix/bin#" "$unit" >"$units/${unit##*/}"
    chmod 644 "$units/${unit##*/}"
  done
  for file in packaging/systemd/*.env; do
    [ -e "$etc/${file##*/}" ] || install -m 600 "$file" "$etc/${file##*/}"
  done
}

uninstall_all() {
  local target unit
  rm -f "$dest$prefix/bin/scalebench" "$man"/scalebench.1.gz "$man"/scalebench-*.1.gz
  others | while read -r _ target; do rm -f "$target"; done
  for unit in packaging/systemd/*.service; do rm -f "$units/${unit##*/}"; done
}

case "${1:-}" in
install) install_all ;;
uninstall) uninstall_all ;;
*) echo "usage: scripts/install.sh install|uninstall" >&2; exit 2 ;;
esac
