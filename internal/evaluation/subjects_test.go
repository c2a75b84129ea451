package evaluation

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestPairs: two tasks of one subject are added up; n counts pairs.
func TestPairs(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 2)), 6, 2, .5, .001, false)
	for i := range b.Data.Results {
		b.Data.Results[i].Samples[0].Resource = model.ResourceNetworkReceive
	}
	f := one(t, b.Data, quick)
	wantValue(t, "CDI", f.CDI, 50, .2)
	wantValue(t, "serial mean of a pair", f.Serial.Mean, 200, 1)
	wantValue(t, "total", f.Parallel.Total, 600, 2)
	if f.Of != OfPairs || f.Nodes != 6 || f.Pairs[0].Node != "n00+n01" || f.Resource != model.ResourceNetworkReceive {
		t.Errorf("%d subjects, of %ss, the first %q, of %q, want 6 pairs, n00+n01, network.receive", f.Nodes, f.Of, f.Pairs[0].Node, f.Resource)
	}
	if s := scaled(t, b.Data); len(s.Points) != 2 || s.Points[1].Nodes != 6 || s.Of != OfPairs {
		t.Errorf("scaling %+v, want sizes 1 and 6 of pairs", s)
	}
}

// TestServingTasks: the end that serves is neither missing nor late, but the
// facts of its node matter.
func TestServingTasks(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 3)), 6, 2, .5, .001, true)
	b.Data.Nodes[1].Facts.CPUModel = "Model Y"
	f := one(t, b.Data, quick)
	wantValue(t, "serial mean", f.Serial.Mean, 100, 1)
	wantValue(t, "overlap", f.Overlap, 1, 1e-9)
	wantValue(t, "end spread", f.EndSpreadMS, 0, 1e-9)
	if f.Verdict != Degraded || warned(f, "no usable") {
		t.Errorf("verdict %s, warnings %q, want degraded and nothing missing", f.Verdict, texts(f.Doubts))
	}
	wantWarning(t, f, "unequal CPUs: 11 × Model X (2 cores), 1 × Model Y (2 cores)")
}

// TestHalfAPair: a pair with a value from only one end is missing.
func TestHalfAPair(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 4)), 4, 1, .5, .001, false)
	last(b).Samples = last(b).Samples[1:]
	f := one(t, b.Data, quick)
	wantWarning(t, f, "pair n06+n07 of 4 gave no usable rate")
	if f.Verdict != Unknown || f.Nodes != 3 {
		t.Errorf("verdict %s with %d pairs, want unknown with 3", f.Verdict, f.Nodes)
	}
	serial := pairsRun(rand.New(rand.NewPCG(1, 4)), 4, 2, .5, .001, false)
	serial.Data.Results[0].Samples = nil
	wantWarning(t, one(t, serial.Data, quick), "trial 1 (no usable rate of pair n00+n01 alone)")
}

// TestInfo: values that describe a trial get no finding, even where they are
// zero, and a workload with nothing else says that it measured nothing.
func TestInfo(t *testing.T) {
	b := pairsRun(rand.New(rand.NewPCG(1, 5)), 4, 2, .5, .01, false)
	f := one(t, b.Data, quick) // fails on a second finding
	if f.Metric != "rate" || strings.Contains(strings.Join(texts(f.Doubts), "\n"), "rtt") {
		t.Errorf("finding of %s, warnings %q, want rate, and no word about rtt", f.Metric, texts(f.Doubts))
	}
	for i := range b.Data.Results {
		b.Data.Results[i].Samples = b.Data.Results[i].Samples[1:]
	}
	wantWarning(t, one(t, b.Data, quick), "no valid result reported a metric")
}

// TestPairsIntervalHoldsTruth: 200 simulated runs of pairs with known truth.
func TestPairsIntervalHoldsTruth(t *testing.T) {
	const runs = 200
	held := 0
	for seed := range uint64(runs) {
		f := one(t, pairsRun(rand.New(rand.NewPCG(seed, 6)), 6, 2, .7, .03, false).Data, Options{Resamples: 100})
		if f.CI != nil && f.CI.Contains(30) {
			held++
		}
	}
	if share := float64(held) / runs; share < .92 || share > .98 {
		t.Errorf("the interval held the truth in %.3f of %d runs, want 0.92 to 0.98", share, runs)
	}
}
