#!/usr/bin/env bash
# Runs `go test` with these arguments for an hour of a proof: what is finished is kept in
# PROOF_KEEP, and the next time what is left is run (test/proof/parts). It says what is done
# and what is left, and fails where a part has failed, this time or before.
#
#   PROOF_KEEP=.cache/proof/lab PROOF_MINUTES=60 scripts/proof.sh -run TestLabProof ./test/proof
set -uo pipefail
cd "$(dirname "$0")/.."

go=${GO:-go}
keep=$(realpath -m "${PROOF_KEEP:?a folder for what is finished}")
minutes=${PROOF_MINUTES:-60}
mkdir -p "$keep"
rm -f "$keep/left"
LONG=1 PROOF_KEEP=$keep PROOF_UNTIL=${PROOF_UNTIL:-$(($(date +%s) + minutes * 60))} \
  "$go" test -count=1 -p 1 -tags proof -timeout "$((2 * minutes + 60))m" -v "$@" 2>&1 | tee -a "$keep/log"
status=$?

count() { find "$keep" -name '*.json' -exec grep -l "\"Failed\": $1" {} + | wc -l; }
left=0
[ ! -e "$keep/left" ] || left=$(sort -u "$keep/left" | wc -l)
echo "== $(count false) parts are done, $(count true) have failed; they are in $keep"
if [ "$left" -eq 0 ]; then echo "== nothing is left"; else echo "== at least $left are left; run it again to go on"; fi
exit "$status"
