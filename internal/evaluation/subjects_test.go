package evaluation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// pairsRun measures pairs of nodes, both ends of which receive; with serve the
// second end only serves. Each pair keeps the share kept.
func pairsRun(rng *rand.Rand, pairs, trials int, kept, noise float64, serve bool) *builder {
	b := newBuilder(2 * pairs)
	ends := func(pair int, share float64) []model.Result {
		var out []model.Result
		for end := range 2 {
			capacity := 100 * share * (1 + noise*rng.NormFloat64())
			r := b.reported(2*pair+end, 0, 10, capacity)
			r.Samples = append(r.Samples, model.Sample{Metric: "rtt", Unit: "us", Value: 0, Better: model.Lower, Info: true})
			if serve && end == 1 {
				r.Samples = nil
				r.Ended = r.Ended.Add(3e9) // lingers until its client is done
			}
			out = append(out, r)
		}
		return out
	}
	for trial := 1; trial <= trials; trial++ {
		for pair := range pairs {
			b.step(model.Serial, trial, ends(pair, 1)...)
		}
		var rs []model.Result
		for pair := range pairs {
			rs = append(rs, ends(pair, kept)...)
		}
		b.step(model.Parallel, trial, rs...)
	}
	for i := range b.data.Steps {
		for k := range b.data.Steps[i].Tasks {
			task := &b.data.Steps[i].Tasks[k]
			var node int
			if _, err := fmt.Sscanf(string(task.Node), "n%d", &node); err != nil {
				panic(err)
			}
			task.Spec.Subject = fmt.Sprintf("%s+%s", nodeName(node&^1), nodeName(node|1))
			if serve && node%2 == 1 {
				task.Spec.Role = model.RoleServe
			}
		}
	}
	return b
}

// TestPairs: two tasks of one subject are added up; n counts pairs.
func TestPairs(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 2)), 6, 2, .5, .001, false)
	for i := range b.data.Results {
		b.data.Results[i].Samples[0].Resource = model.ResourceNetworkReceive
	}
	f := one(t, b.data, quick)
	wantValue(t, "CDI", f.CDI, 50, .2)
	wantValue(t, "serial mean of a pair", f.Serial.Mean, 200, 1)
	wantValue(t, "total", f.Parallel.Total, 600, 2)
	if f.Of != OfPairs || f.Nodes != 6 || f.Pairs[0].Node != "n00+n01" || f.Resource != model.ResourceNetworkReceive {
		t.Errorf("%d subjects, of %ss, the first %q, of %q, want 6 pairs, n00+n01, network.receive", f.Nodes, f.Of, f.Pairs[0].Node, f.Resource)
	}
	if s := scaled(t, b.data); len(s.Points) != 2 || s.Points[1].Nodes != 6 || s.Of != OfPairs {
		t.Errorf("scaling %+v, want sizes 1 and 6 of pairs", s)
	}
}

// TestServingTasks: the end that serves is neither missing nor late, but it is
// a node whose facts matter.
func TestServingTasks(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 3)), 6, 2, .5, .001, true)
	b.data.Nodes[1].Facts.CPUModel = "Model Y"
	f := one(t, b.data, quick)
	wantValue(t, "serial mean", f.Serial.Mean, 100, 1)
	wantValue(t, "overlap", f.Overlap, 1, 1e-9)
	wantValue(t, "end spread", f.EndSpreadMS, 0, 1e-9)
	if f.Verdict != Degraded || warned(f, "no usable") {
		t.Errorf("verdict %s, warnings %q, want degraded and nothing missing", f.Verdict, f.Warnings)
	}
	wantWarning(t, f, "unequal CPUs: 11 × Model X (2 cores), 1 × Model Y (2 cores)")
}

// TestHalfAPair: a pair of which one end gave no value is missing.
func TestHalfAPair(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 4)), 4, 1, .5, .001, false)
	last(b).Samples = last(b).Samples[1:]
	f := one(t, b.data, quick)
	wantWarning(t, f, "pair n06+n07 of 4 gave no usable rate")
	if f.Verdict != Unknown || f.Nodes != 3 {
		t.Errorf("verdict %s with %d pairs, want unknown with 3", f.Verdict, f.Nodes)
	}
	serial := pairsRun(rand.New(rand.NewPCG(1, 4)), 4, 2, .5, .001, false)
	serial.data.Results[0].Samples = nil
	wantWarning(t, one(t, serial.data, quick), "trial 1 (no usable rate of pair n00+n01 alone)")
}

// TestInfo: values that describe a trial get no finding, even where they are
// zero, and a workload with nothing else says that it measured nothing.
func TestInfo(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 5)), 4, 2, .5, .01, false)
	f := one(t, b.data, quick) // fails on a second finding
	if f.Metric != "rate" || strings.Contains(strings.Join(f.Warnings, "\n"), "rtt") {
		t.Errorf("finding of %s, warnings %q, want rate, and no word about rtt", f.Metric, f.Warnings)
	}
	for i := range b.data.Results {
		b.data.Results[i].Samples = b.data.Results[i].Samples[1:]
	}
	wantWarning(t, one(t, b.data, quick), "no valid result reported a metric")
}

// TestPairsIntervalHoldsTruth: 200 simulated runs of pairs with known truth.
func TestPairsIntervalHoldsTruth(t *testing.T) {
	const runs = 200
	held := 0
	for seed := range uint64(runs) {
		f := one(t, pairsRun(rand.New(rand.NewPCG(seed, 6)), 6, 2, .7, .03, false).data, Options{Resamples: 100})
		if f.CI != nil && f.CI.Contains(30) {
			held++
		}
	}
	if share := float64(held) / runs; share < .92 || share > .98 {
		t.Errorf("the interval held the truth in %.3f of %d runs, want 0.92 to 0.98", share, runs)
	}
}
