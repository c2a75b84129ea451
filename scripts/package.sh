#!/usr/bin/env bash
# Builds what others install: for amd64 and arm64 a Debian package, an RPM
# package and a docker archive, and one OCI archive for both. It needs Go and no
# daemon. The same commit gives the same bytes.
#
#   VERSION=1.2.0 scripts/package.sh [DIR]
#
# DIR is dist/ if it is not given; VERSION is that of scripts/version.sh;
# PROCESSORS="amd64" builds for that one only.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=${VERSION:-$(scripts/version.sh)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(scripts/version.sh date)}
export VERSION SOURCE_DATE_EPOCH
read -ra processors <<<"${PROCESSORS:-amd64 arm64}"

# tools builds what packs, from the pinned versions of packaging/go.mod.
tools() {
  (
    cd packaging
    export CGO_ENABLED=0
    unset GOOS GOARCH
    go build -trimpath -o ../.tools/nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm
    go build -trimpath -o ../.tools/image ./image
  )
}

# notices prints the licences of what is in the binary, which must go with it.
notices() {
  local arch module version dir files
  echo "scalebench contains the following modules, and Go's standard library."
  printf '\n== Go\n\n'
  cat "$(go env GOROOT)/LICENSE"
  for arch in "${processors[@]}"; do
    GOOS=linux GOARCH=$arch CGO_ENABLED=0 go list -deps \
      -f '{{with .Module}}{{if .Version}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/scalebench
  done | LC_ALL=C sort -u | while read -r module version dir; do
    printf '\n== %s %s\n\n' "$module" "$version"
    mapfile -d '' -t files < <(find "$dir" -maxdepth 1 -type f \
      \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) -print0 | LC_ALL=C sort -z)
    [ ${#files[@]} -gt 0 ] || { echo "$module has no licence" >&2; exit 1; }
    cat "${files[@]}"
  done
}

# docs fills a folder with what goes to /usr/share/doc.
docs() {
  mkdir -p "$1"
  cp LICENSE "$1/copyright"
  gzip -9nc CHANGELOG.md >"$1/CHANGELOG.md.gz"
  notices | gzip -9n >"$1/third-party-licences.gz"
  chmod 644 "$1"/*
}

# packages makes the .deb and the .rpm of one processor.
packages() {
  local arch=$1 root=$work/$1/root packager
  SHARE=$work/share BIN=$work/$arch/scalebench DESTDIR=$root PREFIX=/usr SYSCONFDIR=/etc scripts/install.sh install
  mkdir -p "$root/usr/share/doc"
  cp -r "$work/doc" "$root/usr/share/doc/scalebench"
  cp -r packaging/scripts "$work/$arch/"
  for packager in deb rpm; do
    (cd "$work/$arch" && ARCH=$arch "$OLDPWD/.tools/nfpm" package --packager "$packager" \
      --config "$OLDPWD/packaging/nfpm.yaml" --target "$out/")
  done
}

main() {
  local arch images=()
  if [ -z "$VERSION" ]; then
    echo "there is no git repository to take the version from; say VERSION=1.2.0" >&2
    exit 2
  fi
  umask 022
  out=${1:-dist}
  mkdir -p "$out" .tools
  out=$(cd "$out" && pwd)
  rm -f "$out"/scalebench[_-]* "$out/SHA256SUMS"
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the folder is known now
  trap "rm -rf '$work'" EXIT
  tools
  make --no-print-directory share SHARE="$work/share"
  docs "$work/doc"
  for arch in "${processors[@]}"; do
    GOOS=linux GOARCH=$arch GOFLAGS=-buildvcs=false make --no-print-directory build BIN="$work/$arch/scalebench"
    packages "$arch"
    images+=("$arch=$work/$arch/scalebench")
  done
  .tools/image "$VERSION" "$work/doc" "$out" "${images[@]}"
  (cd "$out" && sha256sum -- scalebench* >SHA256SUMS && ls -l)
}

main "$@"
