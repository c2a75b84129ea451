#!/usr/bin/env bash
# Tries what scripts/package.sh and `make install` make, as those do who install
# it: in clean Debian root file systems that boot systemd in namespaces of their
# own, and as containers. It needs root, Debian, and some minutes.
#
#   scripts/test-packages.sh [same|deb|rpm|install|image]...
#
# same: two builds of a commit are equal. deb, rpm: installed, started, upgraded
# from an older version, removed. install: `make install` and `make uninstall`.
# image: run by runc, as its user without rights. All of them if none is named.
set -euo pipefail
cd "$(dirname "$0")/.."
repo=$PWD
new=$(scripts/version.sh)
old=0.0.0+1.gbefore
processor=$(dpkg --print-architecture)
base=$repo/.cache/packages-base.tar
init='' cgroup=''

say() { echo "== $*"; }
fail() { echo "FAIL: $*" >&2; exit 1; }

# expect runs a command, and fails if that does.
expect() {
  local what=$1
  shift
  "$@" || fail "$what"
  echo "ok: $what"
}

# refuse runs a command, and fails if that does not.
refuse() {
  local what=$1
  shift
  if "$@"; then fail "$what"; fi
  echo "ok: $what"
}

# eventually tries a command for half a minute.
eventually() {
  local what=$1 deadline=$((SECONDS + 30))
  shift
  while ((SECONDS < deadline)); do
    if "$@" >/dev/null 2>&1; then echo "ok: $what"; return; fi
    sleep 0.2
  done
  "$@" || fail "$what"
}

# ---- a machine: a root file system that boots systemd

# new_root unpacks the clean file system.
new_root() {
  if [ ! -e "$base" ]; then
    say "making a clean Debian root file system"
    mkdir -p "${base%/*}"
    mmdebstrap --quiet --variant=minbase --format=tar --include=systemd,man-db,bash-completion,rpm \
      "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$base.new"
    mv "$base.new" "$base"
  fi
  mkdir "$1"
  tar -C "$1" -xf "$base" --exclude='./dev/*'
}

# boot starts the machine: processes, mounts, network and control groups of its
# own, so that nothing of it outlives its init, and it reaches loopback only.
boot() {
  local root=$1 parent
  cgroup=$(findmnt -n -t cgroup2 -o TARGET | head -1)/scalebench-packages-$$
  mkdir -p "$cgroup"
  (
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --mount --pid --fork --uts --ipc --net --cgroup bash -euc "$machine" "$root" </dev/null >"$work/boot.log" 2>&1
  ) &
  parent=$!
  eventually "the machine has an init" pgrep -P "$parent"
  init=$(pgrep -P "$parent")
  eventually "systemd runs" systemd_runs
}

systemd_runs() { [ "$(inside systemctl is-system-running)" = running ]; }

# machine is what runs before init, in the new namespaces.
# shellcheck disable=SC2016 # the inner shell expands it
machine='
root=$0
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty; do
  touch "$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
ip link set lo up
cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system'

inside() { nsenter -t "$init" -a env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }

# halt ends the machine at once; with its init everything in it ends.
halt() {
  if [ -n "$init" ]; then kill -KILL "$init" 2>/dev/null || true; fi
  if [ -n "$cgroup" ]; then
    wait || true
    find "$cgroup" -depth -type d -exec rmdir {} \; || true
  fi
  init='' cgroup=''
}

# ---- what is tried on it

# admin runs scalebench as the server's user, as docs/install.md says.
admin() {
  inside setpriv --reuid=scalebench --regid=scalebench --clear-groups \
    scalebench --data /var/lib/scalebench/server "$@"
}

state() { [ "$(inside systemctl is-active "$2")" = "$1" ]; }
main_pid() { inside systemctl show --value -p MainPID "$1"; }

installs() {
  case $1 in
  deb) inside dpkg -i "/var/tmp/$2.deb" ;;
  rpm) inside rpm --force-debian --nodeps -U --oldpackage "/var/tmp/$2.rpm" ;;
  esac >"$work/installs.log" 2>&1 || { cat "$work/installs.log"; return 1; }
}

removes() {
  case $1 in
  deb) inside dpkg -r scalebench ;;
  rpm) inside rpm --force-debian -e scalebench ;;
  esac >"$work/installs.log" 2>&1 || { cat "$work/installs.log"; return 1; }
}

completes() {
  # shellcheck disable=SC2016 # the inner shell expands it
  inside bash -euc '
    source /usr/share/bash-completion/bash_completion
    _completion_loader scalebench || [ $? = 124 ]
    compopt() { :; } # works in an interactive shell only
    COMP_WORDS=(scalebench capa) COMP_CWORD=1 COMP_LINE="scalebench capa" COMP_POINT=15 COMP_TYPE=9
    __start_scalebench
    [[ "${COMPREPLY[*]}" == capacity* ]]' 2>&1
}

reads_manual() { inside man -P cat "$1" | grep -q -e "$2"; }

# measures runs a small experiment on the agent, through the server.
measures() {
  admin run - >"$work/run.log" 2>&1 <<'YAML' || { cat "$work/run.log"; return 1; }
name: packaged
fleet: {agents: {count: 1}}
workloads:
  - {kind: cpu, duration: 1s}
  - {kind: command, name: who, command: "id -un"}
evaluations: [serial]
trials: 1
YAML
}

runs_as_agent() { admin logs latest | grep -q '^scalebench-agent$'; }
stored() { [ "$(admin runs --format csv | grep -c packaged)" = "$1" ]; }
configured() { inside grep -q 'advertise 127.0.0.1:4222' /etc/scalebench/server.env; }

after_installation() {
  expect "$old is installed" test "$(inside scalebench version)" = "scalebench version $old"
  for unit in scalebench-server scalebench-agent; do
    refuse "$unit does not run by itself" state active $unit
    refuse "$unit is not enabled by itself" inside systemctl is-enabled -q $unit
    expect "/etc/scalebench is root's alone: ${unit#*-}.env" \
      test "$(inside stat -c %a-%U "/etc/scalebench/${unit#*-}.env")" = 600-root
  done
  expect "systemd finds nothing wrong with the units" verified
  expect "scalebench(1) can be read" reads_manual scalebench '^EXIT STATUS'
  expect "scalebench-agent(1) can be read" reads_manual scalebench-agent --volume
  expect "bash completes commands" completes
}

verified() { [ -z "$(inside systemd-analyze verify scalebench-server.service scalebench-agent.service 2>&1)" ]; }

# starts configures both services as docs/install.md says.
starts() {
  inside systemctl start scalebench-agent || true
  eventually "an agent without a token fails" state failed scalebench-agent
  expect "and is not started again and again" test "$(inside systemctl show --value -p NRestarts scalebench-agent)" = 0
  inside tee -a /etc/scalebench/server.env >/dev/null <<<'SCALEBENCH_SERVER_FLAGS=--listen 0.0.0.0:4222 --advertise 127.0.0.1:4222'
  expect "the server starts" inside systemctl enable --now -q scalebench-server
  inside tee -a /etc/scalebench/agent.env >/dev/null <<<"SCALEBENCH_TOKEN=$(admin token)"
  expect "the agent starts" inside systemctl start scalebench-agent
  expect "a run on this agent ends well" measures
  inside sed -i '/^SCALEBENCH_TOKEN=/d' /etc/scalebench/agent.env
  expect "commands run as the agent's user" runs_as_agent
  refuse "the agent's user cannot read the server's key" \
    inside setpriv --reuid=scalebench-agent --regid=scalebench-agent --clear-groups cat /var/lib/scalebench/server/server.nk 2>/dev/null
  inside systemctl kill -s KILL scalebench-server
  eventually "a server that was killed comes back" admin token
}

upgrades() {
  local kind=$1 before
  expect "the agent can be stopped" inside systemctl stop scalebench-agent
  expect "and has not failed" state inactive scalebench-agent
  before=$(main_pid scalebench-server)
  expect "the upgrade from $old to $new" installs "$kind" new
  expect "$new is installed" test "$(inside scalebench version)" = "scalebench version $new"
  expect "the server that ran goes on" state active scalebench-server
  refuse "in a new process" test "$(main_pid scalebench-server)" = "$before"
  expect "the agent that did not run does not run" state inactive scalebench-agent
  expect "the configuration is kept" configured
  expect "the run is kept" stored 1
  expect "the agent starts without a token" inside systemctl start scalebench-agent
  expect "a run on this agent ends well" measures
}

goes() {
  local kind=$1
  expect "the package can be removed" removes "$kind"
  for unit in scalebench-server scalebench-agent; do
    refuse "$unit has ended" state active $unit
  done
  refuse "nothing is left in /usr" leftovers
  expect "the data stay" inside test -s /var/lib/scalebench/server/scalebench.db
  if [ "$kind" = deb ]; then
    expect "the configuration stays" configured
    expect "it can be purged" inside dpkg --log=/dev/null --purge scalebench
    refuse "its configuration is gone then" inside test -e /etc/scalebench/server.env
    expect "the data still stay" inside test -s /var/lib/scalebench/server/scalebench.db
  else
    expect "changed configuration stays" inside grep -q 'advertise 127.0.0.1:4222' /etc/scalebench/server.env.rpmsave
  fi
  expect "it can be installed again" installs "$kind" new
  expect "the server starts" inside systemctl start scalebench-server
  expect "both runs are there" stored 2
}

leftovers() { inside find /usr /etc/systemd -name '*scalebench*' | grep .; }

# try_package tries the .deb or the .rpm.
try_package() {
  local kind=$1 root=$work/$1 version machine_name=$processor
  say "$kind"
  if [ "$kind" = rpm ]; then machine_name=$(uname -m); fi
  new_root "$root"
  for version in old new; do
    cp "$work/$version"/scalebench*"$machine_name.$kind" "$root/var/tmp/$version.$kind"
  done
  boot "$root"
  expect "the installation of $old" installs "$kind" old
  after_installation
  starts
  upgrades "$kind"
  goes "$kind"
  halt
}

try_deb() { try_package deb; }
try_rpm() { try_package rpm; }

# try_install tries `make install`, which needs neither Go nor packages.
try_install() {
  local root=$work/install
  say "make install"
  new_root "$root"
  make --no-print-directory all
  make --no-print-directory install DESTDIR="$root"
  boot "$root"
  expect "$new is installed" test "$(inside scalebench version)" = "scalebench version $new"
  expect "scalebench(1) can be read" reads_manual scalebench '^EXIT STATUS'
  inside useradd --system --user-group --no-create-home --home-dir /var/lib/scalebench/server scalebench
  inside useradd --system --user-group --no-create-home --home-dir /var/lib/scalebench/agent scalebench-agent
  expect "systemd finds nothing wrong with the units" verified
  expect "the server starts" inside systemctl start scalebench-server
  expect "and gives tokens" eval "admin token >/dev/null"
  halt
  make --no-print-directory uninstall DESTDIR="$root"
  refuse "nothing is left in /usr" eval "find '$root/usr' -name '*scalebench*' | grep ."
  expect "the configuration stays" test -e "$root/etc/scalebench/server.env"
}

# try_same: a build elsewhere, of the same commit, has the same bytes.
try_same() {
  say "two builds"
  scripts/package.sh "$work/again" >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "building again"; }
  expect "two builds are equal" diff "$work/new/SHA256SUMS" "$work/again/SHA256SUMS"
  dpkg-deb -x "$work/new/scalebench_$new-1_$processor.deb" "$work/unpacked"
  refuse "nothing has paths of this machine" \
    grep -raqE "$repo|$(go env GOROOT)|$(go env GOMODCACHE)" "$work/unpacked"
}

# contained runs scalebench in the container.
contained() {
  local args='"/usr/bin/scalebench"' arg
  for arg; do args+=", \"$arg\""; done
  sed -e 's/"terminal": true/"terminal": false/' -e "s#\"/usr/bin/scalebench\"\$#$args#" "$work/bundle/config.umoci" >"$work/bundle/config.json"
  runc --root "$work/runc" run -b "$work/bundle" "scalebench-packages-$$"
}

try_image() {
  local archive
  say "image"
  for archive in oci-archive:"$work/new/scalebench_$new.oci.tar" docker-archive:"$work/new/scalebench_${new}_$processor.docker.tar"; do
    rm -rf "$work/oci" "$work/bundle"
    expect "${archive%%:*} can be read" skopeo copy -q "$archive" "oci:$work/oci:tried"
    umoci unpack --image "$work/oci:tried" "$work/bundle" 2>/dev/null
    mv "$work/bundle/config.json" "$work/bundle/config.umoci"
    expect "its user has no rights" grep -q '"uid": 65532' "$work/bundle/config.umoci"
    expect "it is of $processor" test "$(contained version)" = "scalebench version $new"
  done
  expect "it has authorities" test "$(grep -c BEGIN "$work/bundle/rootfs/etc/ssl/certs/ca-certificates.crt")" -gt 100
  expect "a run in it ends well" eval 'contained run - <<<"{name: contained, fleet: {local: {nodes: 2}}, workloads: [{kind: cpu, duration: 1s}], evaluations: [serial], trials: 1}" >"$work/run.log" 2>&1'
}

build() {
  say "building $old and $new"
  # The old one differs in nothing but its version.
  { VERSION=$old PROCESSORS=$processor scripts/package.sh "$work/old" && scripts/package.sh "$work/new"; } \
    >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "building the packages"; }
}

main() {
  local begin=$SECONDS part status
  if [ "$(id -u)" != 0 ]; then echo "this needs root" >&2; exit 2; fi
  scripts/apt-install.sh mmdebstrap runc skopeo umoci iproute2 util-linux
  mkdir -p .cache
  work=$(mktemp -d)
  trap 'status=$?; halt; rm -rf "$work"; exit $status' EXIT
  build
  if [ $# = 0 ]; then set -- same deb rpm install image; fi
  for part; do "try_$part"; done
  echo "PASS: $((SECONDS - begin)) s"
}

main "$@"
