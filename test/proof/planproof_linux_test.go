//go:build proof

package proof_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/internal/study/sizing"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// labUplink is what the nodes of the rack share, in bit/s.
const labUplink = 300e6

// rack is a lab of nodes behind an uplink, a node outside it, and a server of
// files of 4 MB.
const rack = `fleet: {lab: {groups: [{name: rack, nodes: 8, link: 100Mbit/s, uplink: 300Mbit/s}, {name: core, nodes: 1}]}}
services:
  - {name: files, port: 8080, command: "head -c 4000000 /dev/urandom > $SCALEBENCH_DIR/object && exec python3 -m http.server 8080 --bind $SCALEBENCH_ADDRESS --directory $SCALEBENCH_DIR"}
workloads:
`

// application fetches files, as fast as its own work would let it: curl paces
// it. Its job is one file.
const application = `  - name: application
    kind: command
    on: {group: rack}
    command: |
      n=0; end=$(( $(date +%s) + 16 ))
      while [ $(date +%s) -lt $end ]; do
        curl -sf --limit-rate 6500000 -o /dev/null http://${service.files}:8080/object || exit 1
        n=$((n + 1)); echo "jobs $n"
      done
    metrics: [{name: jobs, unit: op/s, regex: 'jobs ([0-9]+)'}]
    progress: {unit: op, regex: 'jobs ([0-9]+)'}
`

// TestPlanPredicts: from the application on one node, and the capacity of the
// network with all nodes at once, the plan says at which size the fleet stops
// growing, and between which rates fleets of each size are; then fleets around
// that size are measured.
func TestPlanPredicts(t *testing.T) {
	parts.Begin(t)
	w := installForLabs(t)
	w.RunText(rack + "  - {kind: network, pairing: all_to_one, sink: core, direction: receive, duration: 4s}\n" +
		application + "trials: 2\n")
	planned := func(target float64) sizing.Result {
		var plan sizing.Result
		out := w.Run("plan", "latest", "--target", fmt.Sprintf("%.6f", target), "--demand-run", "latest:application",
			"--format", "json")
		if err := json.Unmarshal([]byte(out), &plan); err != nil {
			t.Fatal(err)
		}
		return plan
	}
	plan := planned(12)
	if plan.Answer != sizing.Fails || plan.Largest == nil || plan.Binding != model.ResourceNetworkReceive {
		t.Fatalf("the plan is %s, ended by %q; want fails, %s: %+v", plan.Answer, plan.Binding, model.ResourceNetworkReceive, plan)
	}
	limit := plan.Resources[0].NodeLimit
	if limit == nil {
		t.Fatalf("the plan names no limit: %+v", plan)
	}
	// By arithmetic: frames of 1514 bytes carry 1448 bytes of the file.
	arithmetic := labUplink / 8 * 1448 / 1514 / 4e6
	t.Logf("one node: %.3f jobs/s; the uplink carries %.2f jobs/s of %.2f nodes by arithmetic; the plan says %.2f nodes",
		plan.NodeRate, arithmetic, arithmetic/plan.NodeRate, *limit)

	size := *plan.Largest
	bands := make(map[int]queueing.Band)
	for _, n := range []int{1, size - 2, size - 1, size, size + 1, 8} {
		// A little less than n nodes do alone, so that it takes n of them.
		at := planned((float64(n) - 0.01) * plan.NodeRate).Rate
		if at == nil || at.Nodes != n {
			t.Fatalf("the band for %d nodes is %+v", n, at)
		}
		bands[n] = *at
	}
	w.RunText(rack + application + fmt.Sprintf("sizes: [%d, %d, %d, %d]\ntrials: 2\n", size-2, size-1, size, size+1))
	scalings := w.resources().Scalings
	i := slices.IndexFunc(scalings, func(s evaluation.Scaling) bool { return s.Metric == "jobs" })
	if i < 0 {
		t.Fatalf("no scaling of the jobs: %+v", scalings)
	}
	scaling := scalings[i]
	var table strings.Builder
	fmt.Fprintf(&table, "\n| nodes | arithmetic | predicted | measured |\n|---|---|---|---|\n")
	for _, p := range scaling.Points {
		band, ok := bands[p.Nodes]
		fmt.Fprintf(&table, "| %d | %.2f/s | %.2f to %.2f/s | %.2f/s |\n", p.Nodes, math.Min(float64(p.Nodes)*plan.NodeRate, arithmetic), band.Lower, band.Upper, p.Total)
		if !ok || p.Total < 0.95*band.Lower || p.Total > 1.05*band.Upper {
			t.Errorf("%d nodes do %.2f jobs/s, predicted were %.2f to %.2f", p.Nodes, p.Total, band.Lower, band.Upper)
		}
	}
	t.Log(table.String())
	if scaling.Fit == nil || scaling.Fit.Knee == nil || math.Abs(*scaling.Fit.Knee-*limit) > 0.5 {
		t.Errorf("throughput stops growing by the fit %+v, the plan says at %.2f nodes", scaling.Fit, *limit)
	}
}
