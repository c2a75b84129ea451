package evaluation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// channelsOf measures a table in which nodes keep these shares, with noise of 2 to 5 % of
// each value.
func channelsOf(rng *rand.Rand, kept []float64) []Channel {
	table := Table{Workload: "w", Metric: "m", Unit: "byte/s", Better: model.Higher}
	noise, trials := .02+.03*rng.Float64(), 1+rng.IntN(3)
	for i, share := range kept {
		for trial := 1; trial <= trials; trial++ {
			table.Add(string(nodeName(i)), model.Serial, trial, 1e8*(1+noise*rng.NormFloat64()), 1)
			table.Add(string(nodeName(i)), model.Parallel, trial, share*1e8*(1+noise*rng.NormFloat64()), 1)
		}
	}
	return table.Finding(Options{Resamples: 10}).Channels(nil)
}

// TestChannelsFound: nodes on channels of two and of four, beside nodes with a channel each.
func TestChannelsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	const draws = 200
	missed := 0
	for range draws {
		want := [5]int{1: 1 + rng.IntN(6), 2: 2 * rng.IntN(4), 4: 4 * rng.IntN(3)}
		if want[2]+want[4] == 0 {
			want[2] = 2
		}
		var kept []float64
		for share, n := range want {
			kept = append(kept, slices.Repeat([]float64{1 / float64(share)}, n)...)
		}
		rng.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
		var got [5]int
		right := true
		for _, c := range channelsOf(rng, kept) {
			got[c.Share] = len(c.Nodes)
			for i, k := range kept {
				right = right && (k == 1/float64(c.Share)) == slices.Contains(c.Nodes, nodeName(i))
			}
			right = right && c.Outside == 0 && (c.Sets != nil) == (len(c.Nodes) == c.Share)
		}
		if want[1] = 0; !right || got != want {
			missed++
		}
	}
	t.Logf("%d of %d draws missed", missed, draws)
	if missed > draws/20 {
		t.Errorf("%d of %d draws missed, want 5 %% at most", missed, draws)
	}
}

// TestNoChannels: where there is no channel, none is named.
func TestNoChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for _, c := range []struct {
		name  string
		share func(i int, of float64) float64
	}{
		{"nothing is lost", func(int, float64) float64 { return 1 }},
		{"one limit of all", func(_ int, of float64) float64 { return of }},
		{"one node is slower", func(i int, of float64) float64 { return max(of, float64(min(i, 1))) }},
		{"each loses something else", func(int, float64) float64 { return .2 + .8*rng.Float64() }},
		{"all lose, one node is slow", func(i int, of float64) float64 { return of * (.6 + .4*float64(min(i, 1))) }},
	} {
		const draws = 200
		found := 0
		for range draws {
			kept, of := make([]float64, 4+rng.IntN(17)), .15+.85*rng.Float64()
			for i := range kept {
				kept[i] = c.share(i, of)
			}
			if len(channelsOf(rng, kept)) > 0 {
				found++
			}
		}
		t.Logf("%s: channels in %d of %d draws", c.name, found, draws)
		if found > draws/20 {
			t.Errorf("%s: channels in %d of %d draws, want 5 %% at most", c.name, found, draws)
		}
	}
}

// TestChannelSets: smaller fleets show who shares with whom, and tell channels of all nodes
// from one limit.
func TestChannelSets(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups int
		total  func([]int, float64) float64
		want   string
	}{
		{"pairs", 4, fleetCap(200), "[2: [[n00 n04] [n01 n05] [n02 n06] [n03 n07]]]"},
		{"fours", 2, fleetCap(200), "[4: [[n00 n02 n04 n06] [n01 n03 n05 n07]]]"},
		{"one limit", 0, fleetCap(800), "[]"},
		{"one limit, lower", 0, fleetCap(400), "[]"},
	} {
		for seed := range uint64(10) {
			run := sweepCase{Fleet: 8, Trials: 5, Sizes: []int{2, 3, 5}, Noise: .03, Groups: c.groups, Total: c.total}.
				Run(rand.New(rand.NewPCG(seed, 8)))
			observed := observe.Of(run.Data)
			findings, err := Findings(observed, Options{Resamples: 10})
			if err != nil {
				t.Fatal(err)
			}
			scalings, err := Scalings(observed, Options{Resamples: 10})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, x := range findings[0].Channels(scalings[0].Smaller) {
				got = append(got, fmt.Sprintf("%d: %v", x.Share, x.Sets))
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("%s, seed %d: %v, want %s", c.name, seed, got, c.want)
			}
		}
	}
}

// TestChannelOutside: of three nodes at a half, one shares with something that is no node.
func TestChannelOutside(t *testing.T) {
	got := channelsOf(rand.New(rand.NewPCG(3, 3)), []float64{.5, 1, .5, 1, .5})
	if len(got) != 1 || got[0].Outside != 1 || got[0].Sets != nil || len(got[0].Nodes) != 3 {
		t.Errorf("channels %+v, want one of two with one of three nodes outside", got)
	}
}

// TestWiderChannel: four nodes at a half, of which two keep everything together, share one
// channel of twice the capacity. Without such a step nobody knows.
func TestWiderChannel(t *testing.T) {
	f := Finding{}
	for i, kept := range []float64{.51, .5, .49, .5, 1, .99} {
		f.Pairs = append(f.Pairs, NodePair{Node: nodeName(i), Serial: 100, Parallel: 100 * kept})
	}
	wide := func(a, b int) Kept { return Kept{nodeName(a): .98, nodeName(b): 1.02} }
	for _, c := range []struct {
		name    string
		smaller []Kept
		want    int
	}{
		{"no smaller fleet", nil, 1},
		{"two nodes together", []Kept{wide(0, 1)}, 1},
		{"one node with each other", []Kept{wide(0, 1), wide(0, 2), wide(0, 3)}, 0},
	} {
		got := f.Channels(c.smaller)
		if len(got) != c.want || c.want == 1 && got[0].Sets != nil {
			t.Errorf("%s: %+v, want %d without sets", c.name, got, c.want)
		}
	}
}
