#!/bin/sh
# Leaves this host so many MiB of memory for cached files, and drops those of a folder: short
# runs have less data than memory, and what is cached is no operation of the volume.
#
#   cache.sh MIB FOLDER
#
# It sets the memory limit of the control group in which it is: that of a lab's host.
set -eu

find "$2" -type f -exec dd if={} iflag=nocache count=0 status=none \;

own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
if [ -n "$own" ]; then
  group=/sys/fs/cgroup/memory$own limit=memory.limit_in_bytes used='^total_(rss|mapped_file) '
else
  group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup) limit=memory.max used='^(anon|file_mapped) '
fi
grep -E "$used" "$group/memory.stat" |
  awk -v cache="$1" '{ sum += $2 } END { printf "%d\n", sum + cache * 1048576 }' >"$group/$limit"
