#!/usr/bin/env bash
# Runs `go test` with these arguments, for packages that measure or that wait beside others.
# On a machine that others share one measurement of some hundreds can be disturbed: so up to
# three tests that fail are repeated, alone and once, and both results are printed. What fails
# again fails; a build, a panic, a time-out, or more tests than that are not repeated. A test
# that is named here twice is a defect: of itself, or of the program.
#
#   scripts/test-measuring.sh -p 1 -timeout 10m ./internal/lab ./internal/load
set -uo pipefail
go=${GO:-go}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$go" test -count=1 -vet=off "$@" 2>&1 | tee "$log" && exit 0

mapfile -t tests < <(sed -n 's/^--- FAIL: \([^ ]*\) .*/\1/p' "$log" | sort -u)
mapfile -t packages < <(awk '$1 == "FAIL" && NF > 1 { print $2 }' "$log" | sort -u)
if grep -qE '^panic: |^fatal error: |^WARNING: DATA RACE|\[(build|setup) failed\]|test timed out' "$log" ||
  ((${#tests[@]} == 0 || ${#tests[@]} > 3 || ${#packages[@]} > ${#tests[@]})); then
  exit 1
fi
echo "== failed beside others, now alone: ${tests[*]}"
names=$(IFS='|'; echo "${tests[*]}")
"$go" test -count=1 -p 1 -parallel 1 -timeout 10m -run "^($names)\$" "${packages[@]}"
