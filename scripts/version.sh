#!/usr/bin/env bash
# Prints the version of this checkout, as packages and `scalebench version` have
# it: 1.2.0 at the tag v1.2.0; five commits later 1.2.0+5.gABCDEF123456; before
# the first tag 0.0.0+N.g…, where N counts all commits. With changes that are not
# committed it ends in .dirty. Later versions sort after earlier ones, for dpkg
# and for rpm. Without git or a repository it prints nothing.
#
# `scripts/version.sh date` prints the version's date, in seconds since 1970.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = date ]; then
  git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md
  exit
fi
git rev-parse --git-dir >/dev/null 2>&1 || exit 0
if described=$(git describe --tags --long --abbrev=12 --match 'v[0-9]*' 2>/dev/null); then
  # vTAG-COUNT-gCOMMIT
  commit=${described##*-} rest=${described%-*}
  count=${rest##*-} tag=${rest%-*}
  tag=${tag#v}
else
  tag=0.0.0 count=$(git rev-list --count HEAD) commit=g$(git rev-parse --short=12 HEAD)
fi
# A hyphen begins the release for both kinds of package; ~ sorts before all.
version=${tag//-/\~}
if [ "$count" != 0 ]; then version+=+$count.$commit; fi
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  if [ "$count" = 0 ]; then version+=+; else version+=.; fi
  version+=dirty
fi
echo "$version"
