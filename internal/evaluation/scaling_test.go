package evaluation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// scaled returns the only scaling.
func scaled(t *testing.T, data model.RunData) Scaling {
	t.Helper()
	out, err := Scalings(observe.Of(data), quick)
	if err != nil {
		t.Fatalf("Scaling: %v", err)
	}
	if len(out) != 1 {
		t.Fatalf("Scaling gave %d metrics, want 1", len(out))
	}
	return out[0]
}

// inBytes makes a run count bytes of a resource.
func inBytes(b *builder, resource string, factor float64) {
	for i := range b.Data.Results {
		s := &b.Data.Results[i].Samples[0]
		s.Unit, s.Resource, s.Value = "byte/s", resource, factor*s.Value
	}
}

// TestSharedLimit: 4 × 200 Mbit/s into 300 Mbit/s, sizes 1 to 4.
func TestSharedLimit(t *testing.T) {
	c := sweepCase{Fleet: 4, Trials: 2, Sizes: []int{2, 3}, Noise: .001, Total: fleetCap(300)}
	b := c.Run(rand.New(rand.NewPCG(1, 1)))
	inBytes(b, model.ResourceNetworkReceive, 1e6/8)
	s := scaled(t, b.Data)
	if s.Limit == nil || s.Fit == nil || s.Fit.Model != "capped" {
		t.Fatalf("limit %v, fit %v, want both; warnings %q", s.Limit, s.Fit, texts(s.Doubts))
	}
	if got, want := s.Limit.Text, "of payload from 2 to 4 nodes"; !strings.HasSuffix(string(got), want) ||
		!strings.HasPrefix(string(got), "the sum stays at ") {
		t.Errorf("limit in words: %q, want it to end in %q", got, want)
	}
	if !strings.Contains(string(s.Limit.Text), "Mbit/s") {
		t.Errorf("limit in words: %q, want Mbit/s", s.Limit.Text)
	}
	wantValue(t, "limit", &s.Limit.Total, 300e6/8, 300e6/8*.002)
	wantValue(t, "knee", s.Fit.Knee, 1.5, .01)
	if s.Limit.CI == nil || !s.Limit.CI.Contains(300e6/8) || s.Limit.From != 2 || s.Limit.To != 4 {
		t.Errorf("limit %+v, interval %v, want 2 to 4 with 300 Mbit/s in the interval", s.Limit, s.Limit.CI)
	}
	sizes := []int{}
	for _, p := range s.Points {
		sizes = append(sizes, p.Nodes)
		if len(p.Totals) != 2 || p.CI == nil {
			t.Errorf("size %d: totals %v, interval %v, want two trials and an interval", p.Nodes, p.Totals, p.CI)
		}
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4}, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	wantValue(t, "size 1", &s.Points[0].Total, 200e6/8, 1e5)
}

// TestSweepIsNotCDI: smaller sizes change nothing in CDI(n).
func TestSweepIsNotCDI(t *testing.T) {
	c := sweepCase{Fleet: 6, Trials: 2, Sizes: []int{2, 4}, Spread: .05, Noise: .01, Total: fleetCap(500)}
	with := c.Run(rand.New(rand.NewPCG(2, 1)))
	without := with.Data
	without.Steps = slices.DeleteFunc(slices.Clone(without.Steps), func(s model.Step) bool {
		return s.Phase == model.Parallel && len(s.Tasks) < 6
	})
	if diff := cmp.Diff(one(t, without, quick), one(t, with.Data, quick)); diff != "" {
		t.Errorf("CDI without and with smaller sizes (-want +got):\n%s", diff)
	}
	// Without a valid step of 6 there is no CDI(6), although size 4 was measured.
	for i := range with.Data.Steps {
		if len(with.Data.Steps[i].Tasks) == 6 {
			with.Data.Steps[i].State = model.StepInvalid
		}
	}
	f := one(t, with.Data, quick)
	if f.Verdict != Unknown || f.CDI != nil {
		t.Errorf("CDI %v, verdict %s with no valid step of all nodes, want none and unknown", f.CDI, f.Verdict)
	}
	if s := scaled(t, with.Data); len(s.Points) != 3 {
		t.Errorf("points %v, want sizes 1, 2 and 4", s.Points)
	}
}

// TestNoLimitFromOneSize: serial and one size cannot tell, and say what can.
func TestNoLimitFromOneSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		sweep sweepCase
		text  string
	}{
		{"4 nodes", sweepCase{Fleet: 4, Trials: 2, Noise: .005, Total: fleetCap(300)}, "measure more sizes: sizes: [2, 3]"},
		{"20 nodes", sweepCase{Fleet: 20, Trials: 2, Noise: .005, Total: fleetCap(1000)}, "sizes: [6, 12, 19]"},
		{"one size past the knee", sweepCase{Fleet: 4, Trials: 2, Noise: .005, Sizes: []int{2}, Total: fleetCap(500)}, "sizes: [3]"},
		{"no room below", sweepCase{Fleet: 3, Trials: 3, Noise: .005, Sizes: []int{2}, Total: fleetCap(450)}, "measure a larger fleet"},
	} {
		s := scaled(t, c.sweep.Run(rand.New(rand.NewPCG(3, 1))).Data)
		if s.Limit != nil {
			t.Errorf("%s: limit %q, want none", c.name, s.Limit.Text)
		}
		if !strings.Contains(strings.Join(texts(s.Doubts), "\n"), c.text) {
			t.Errorf("%s: warnings %q, want %q among them", c.name, texts(s.Doubts), c.text)
		}
	}
	sound := scaled(t, sweepCase{Fleet: 4, Trials: 2, Noise: .005, Total: fleetCap(1e6)}.Run(rand.New(rand.NewPCG(3, 1))).Data)
	if sound.Limit != nil || len(texts(sound.Doubts)) > 0 {
		t.Errorf("without a loss: limit %v, warnings %q, want none", sound.Limit, texts(sound.Doubts))
	}
}

// TestLimitFoundAndNotInvented: over 200 simulated runs a case, a limit is
// found where there is one, its interval holds the truth, and none is found
// where growth is linear, slows down, or turns.
func TestLimitFoundAndNotInvented(t *testing.T) {
	usl := func(sigma, kappa float64) func([]int, float64) float64 {
		return func(active []int, solo float64) float64 {
			n := float64(len(active))
			return solo * n / (1 + sigma*(n-1) + kappa*n*(n-1))
		}
	}
	for _, c := range []struct {
		name  string
		sweep sweepCase
		limit float64 // 0: none
		least float64 // share of runs in which it is found
	}{
		{"limit, 2 %", sweepCase{Fleet: 8, Trials: 2, Sizes: []int{2, 3, 4, 6}, Spread: .03, Noise: .02, Total: fleetCap(700)}, 700, .9},
		{"limit, 5 %", sweepCase{Fleet: 16, Trials: 3, Sizes: []int{2, 4, 8, 12}, Spread: .05, Noise: .05, Total: fleetCap(1000)}, 1000, .9},
		{"linear, 2 %", sweepCase{Fleet: 8, Trials: 2, Sizes: []int{2, 3, 4, 6}, Spread: .03, Noise: .02, Total: fleetCap(1e9)}, 0, 0},
		{"linear, 10 %", sweepCase{Fleet: 8, Trials: 1, Sizes: []int{2, 3, 4, 6}, Spread: .1, Noise: .1, Total: fleetCap(1e9)}, 0, 0},
		{"each node loses a third", sweepCase{Fleet: 8, Trials: 2, Sizes: []int{2, 3, 4, 6}, Noise: .02, Total: func(active []int, solo float64) float64 {
			if len(active) == 1 {
				return solo
			}
			return .66 * solo * float64(len(active))
		}}, 0, 0},
		{"slower and slower", sweepCase{Fleet: 16, Trials: 3, Sizes: []int{2, 4, 8, 12}, Noise: .01, Total: usl(.05, 0)}, 0, 0},
		{"turning", sweepCase{Fleet: 16, Trials: 3, Sizes: []int{2, 4, 8, 12}, Noise: .01, Total: usl(.02, .02)}, 0, 0},
	} {
		const runs = 200
		found, held := 0, 0
		for seed := range uint64(runs) {
			s := scaled(t, c.sweep.Run(rand.New(rand.NewPCG(seed, 11))).Data)
			if s.Limit == nil {
				continue
			}
			found++
			if s.Limit.CI != nil && s.Limit.CI.Contains(c.limit) {
				held++
			}
		}
		t.Logf("%s: limit in %d of %d runs, true one in the interval in %d", c.name, found, runs, held)
		switch {
		case c.limit == 0 && found > runs/20:
			t.Errorf("%s: a limit is invented in %d of %d runs, want at most %d", c.name, found, runs, runs/20)
		case c.limit > 0 && float64(found) < c.least*runs:
			t.Errorf("%s: the limit is found in %d of %d runs, want at least %.0f %%", c.name, found, runs, 100*c.least)
		case c.limit > 0 && float64(held) < .9*float64(found):
			t.Errorf("%s: the interval holds the limit in %d of %d, want 90 %% or more", c.name, held, found)
		}
	}
}

// TestGroupLimits: racks with an uplink each are named, and a fleet's limit is
// not taken for theirs.
func TestGroupLimits(t *testing.T) {
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(4, 1)) }
	each := sweepCase{Fleet: 8, Trials: 3, Sizes: []int{3, 5, 6, 7}, Noise: .01, Groups: 2, Total: fleetCap(300)}
	s := scaled(t, each.Run(rng()).Data)
	if len(s.Groups) != 2 || s.Limit != nil {
		t.Fatalf("groups %+v, limit %+v, want two groups and no limit of the fleet; warnings %q", s.Groups, s.Limit,
			texts(s.Doubts))
	}
	for i, g := range s.Groups {
		wantValue(t, "limit of a group", &s.Groups[i].Total, 300, 9)
		if want := fmt.Sprintf("group=rack%d", i); g.Among != want || !strings.HasPrefix(string(g.Text),
			"within "+want+" the sum stays at ") {
			t.Errorf("group %d: %+v, want it among %s", i, g, want)
		}
	}
	whole := each
	whole.Groups = 0
	b := whole.Run(rng())
	for i := range b.Data.Nodes {
		b.Data.Nodes[i].Labels = map[string]string{"group": fmt.Sprintf("rack%d", i%2)}
	}
	if s := scaled(t, b.Data); len(s.Groups) != 0 || s.Limit == nil || s.Limit.Among != "" {
		t.Errorf("groups %+v, limit %+v, want a limit of the whole fleet only", s.Groups, s.Limit)
	}
	even := sweepCase{Fleet: 8, Trials: 3, Sizes: []int{2, 4, 6}, Noise: .01, Groups: 2, Total: fleetCap(300)}
	s = scaled(t, even.Run(rng()).Data)
	if s.Limit == nil || !strings.Contains(strings.Join(texts(s.Doubts), "\n"), "in equal parts") {
		t.Errorf("even groups: limit %v, warnings %q, want a limit and a doubt about who has it", s.Limit, texts(s.Doubts))
	}
}

// TestSweepLeavesOut: steps that say nothing about their size are not points.
func TestSweepLeavesOut(t *testing.T) {
	b := sweepCase{Fleet: 4, Trials: 1, Sizes: []int{2, 3}, Total: fleetCap(300)}.Run(rand.New(rand.NewPCG(5, 1)))
	two, three := &b.Data.Steps[4], &b.Data.Steps[5]
	two.State = model.StepInvalid
	for i := range b.Data.Results {
		if b.Data.Results[i].Step == three.ID {
			b.Data.Results[i].Samples = nil
			break
		}
	}
	s := scaled(t, b.Data)
	text := strings.Join(texts(s.Doubts), "\n")
	if len(s.Points) != 2 || !strings.Contains(text, "measured them: parallel with 2 nodes, parallel with 3 nodes: trial 1 (parallel with 2 nodes invalid, parallel with 3 nodes not usable)") || !strings.Contains(text, "parallel with 3 nodes, trial 1: node n") {
		t.Errorf("points %v, warnings %q, want sizes 1 and 4 and why", s.Points, texts(s.Doubts))
	}
}
