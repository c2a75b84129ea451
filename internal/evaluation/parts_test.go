package evaluation

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// unequal is a run of nodes that do so much alone and keep such a share.
func unequal(rng *rand.Rand, trials int, noise float64, alone, kept []float64) model.RunData {
	b := newBuilder(len(alone))
	for trial := 1; trial <= trials; trial++ {
		for i, v := range alone {
			b.Step(model.Serial, trial, b.Reported(i, 0, 10, v*math.Exp(noise*rng.NormFloat64())))
		}
		var rs []model.Result
		for i, v := range alone {
			rs = append(rs, b.Reported(i, 0, 10, v*kept[i]*math.Exp(noise*rng.NormFloat64())))
		}
		b.Step(model.Parallel, trial, rs...)
	}
	return b.Data
}

// TestUnlikeNodesAreNamed: those that lose or do something else than the others,
// with what they keep.
func TestUnlikeNodesAreNamed(t *testing.T) {
	fill := func(n int, v float64, others map[int]float64) []float64 {
		out := slices.Repeat([]float64{v}, n)
		for i, x := range others {
			out[i] = x
		}
		return out
	}
	for _, c := range []struct {
		name        string
		alone, kept []float64
		trials      int
		parts       [][]model.NodeID // but the last
		serial      [][]model.NodeID
		text        string
	}{
		{"one of six loses 80 %", fill(6, 100, nil), fill(6, 1, map[int]float64{3: .2}), 3, [][]model.NodeID{{"n03"}},
			nil, "node n03 keeps "},
		{"and with one trial", fill(6, 100, nil), fill(6, .9, map[int]float64{3: .2}), 1, [][]model.NodeID{{"n03"}},
			nil, "the other 5 nodes "},
		{"one of three", fill(3, 100, nil), fill(3, 1, map[int]float64{2: .3}), 3, [][]model.NodeID{{"n02"}}, nil,
			"the other 2 nodes "},
		{"three of twelve lose half", fill(12, 100, nil), fill(12, 1, map[int]float64{2: .5, 6: .5, 9: .5}), 1,
			[][]model.NodeID{{"n02", "n06", "n09"}}, nil, "3 nodes (n02, n06, n09) keep "},
		{"half of eight", fill(8, 100, nil), fill(8, .9, map[int]float64{0: .4, 2: .4, 4: .4, 6: .4}), 2,
			[][]model.NodeID{{"n00", "n02", "n04", "n06"}}, nil, "the other 4 nodes "},
		{"two that differ", fill(10, 100, nil), fill(10, 1, map[int]float64{1: .2, 5: .7}), 2,
			[][]model.NodeID{{"n01"}, {"n05"}}, nil, "node n05 "},
		{"one is slow alone", fill(6, 100, map[int]float64{1: 36}), fill(6, 1, nil), 1, nil, [][]model.NodeID{{"n01"}},
			"alone node n01 does "},
		{"one gains", fill(8, 100, nil), fill(8, .6, map[int]float64{7: 1}), 2, [][]model.NodeID{{"n07"}}, nil,
			"node n07 keeps "},
		{"three groups of four", fill(12, 100, nil), []float64{.5, .5, .5, .5, .75, .75, .75, .75, 1, 1, 1, 1}, 3,
			[][]model.NodeID{{"n00", "n01", "n02", "n03"}, {"n04", "n05", "n06", "n07"}}, nil, "the other 4 nodes "},
		{"three groups in turn", fill(9, 100, nil), []float64{.5, .8, 1, .5, .8, 1, .5, .8, 1}, 2,
			[][]model.NodeID{{"n00", "n03", "n06"}, {"n01", "n04", "n07"}}, nil, "3 nodes (n01, n04, n07) "},
		{"four pairs", fill(8, 100, nil), []float64{.3, .3, .6, .6, .8, .8, 1, 1}, 3,
			[][]model.NodeID{{"n00", "n01"}, {"n02", "n03"}, {"n04", "n05"}}, nil, "the other 2 nodes "},
		{"three kinds alone", []float64{50, 50, 50, 80, 80, 80, 80, 120, 120, 120}, fill(10, .9, nil), 3, nil,
			[][]model.NodeID{{"n00", "n01", "n02"}, {"n07", "n08", "n09"}}, "the other 4 nodes "},
		{"one of two", fill(2, 100, nil), fill(2, 1, map[int]float64{1: .55}), 3, [][]model.NodeID{{"n01"}}, nil,
			"node n01 keeps "},
		{"two lose, one more", fill(2, 100, nil), []float64{.3, .8}, 5, [][]model.NodeID{{"n00"}}, nil, ", node n01 "},
		{"one of two is slow alone", []float64{40, 100}, fill(2, .9, nil), 4, nil, [][]model.NodeID{{"n00"}},
			"alone node n00 does "},
		{"two that lose the same", fill(2, 100, nil), fill(2, .7, nil), 3, nil, nil, ""},
		{"all lose the same", fill(8, 100, nil), fill(8, .5, nil), 2, nil, nil, ""},
	} {
		f := one(t, unequal(rand.New(rand.NewPCG(9, 27)), c.trials, .01, c.alone, c.kept), quick)
		names := func(parts []Part) [][]model.NodeID {
			var out [][]model.NodeID
			for _, p := range parts[:max(0, len(parts)-1)] {
				out = append(out, p.Nodes)
			}
			return out
		}
		if diff := cmp.Diff(c.parts, names(f.Parts)); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.serial, names(f.SerialParts)); diff != "" {
			t.Errorf("%s: parts alone (-want +got):\n%s", c.name, diff)
		}
		if c.text != "" {
			wantWarning(t, f, c.text)
		}
		if f.Alike() != (c.parts == nil) {
			t.Errorf("%s: alike = %v", c.name, f.Alike())
		}
		codes := strings.Join(doubtCodes(f), " ")
		if strings.Contains(codes, "unlike_loss") != (c.parts != nil) ||
			strings.Contains(codes, "unlike_alone") != (c.serial != nil) {
			t.Errorf("%s: doubts %s", c.name, codes)
		}
	}
}

// TestFewNodes: of two that are equal one is named seldom, however few trials there are;
// what each of few loses is said where trials do not tell them apart.
func TestFewNodes(t *testing.T) {
	rng, named, n := rand.New(rand.NewPCG(4, 2)), 0, 400
	for i := range n {
		noise := .1 * rng.Float64()
		f := one(t, unequal(rng, 2+i%4, noise, []float64{100, 100}, []float64{.7, .7}), quick)
		if len(f.Parts)+len(f.SerialParts) > 0 {
			named++
		}
	}
	if named > n/50 {
		t.Errorf("%d of %d pairs of equal nodes have one that is named, want at most 2 %%", named, n)
	}
	for _, c := range []struct {
		trials      int
		noise       float64
		kept        []float64
		named, each string
	}{
		{1, 0, []float64{1, .55}, "", "node n01 loses 45.0 % of its capacity, node n00 0.0 %"},
		{1, 0, []float64{.25, .5}, "", "node n00 loses 75.0 % of its capacity, node n01 50.0 %"},
		{1, 0, []float64{.7, .75}, "", ""}, // about what the mean says
		{4, 0, []float64{1, .55}, "node n01 keeps 55.0 % of its capacity, node n00 100.0 %", ""},
		{1, 0, []float64{1, .55, .9}, "", "node n01 loses 45.0 % of its capacity, node n02 10.0 %, node n00 0.0 %"},
		{1, 0, []float64{.3, .5, .7, .9}, "", ""}, // the tables have them
	} {
		alone := slices.Repeat([]float64{100}, len(c.kept))
		f := one(t, unequal(rng, c.trials, c.noise, alone, c.kept), quick)
		if f.PartsText() != c.named || f.EachText() != c.each {
			t.Errorf("%v in %d trials: %q, %q; want %q, %q", c.kept, c.trials, f.PartsText(), f.EachText(), c.named, c.each)
		}
	}
}

func doubtCodes(f Finding) []string {
	var out []string
	for _, d := range f.Doubts {
		out = append(out, string(d.Code))
	}
	return out
}

// TestEqualNodesAreAlike: of equal nodes hardly any is named: 3 to 60 of them,
// noise of .5 to 10 %, one to five trials.
func TestEqualNodesAreAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 27))
	few, all, runs := 0, 0, 0
	for _, trials := range []int{1, 2, 3, 5} {
		named := 0
		for range 2 * *rates {
			n := 3 + int(57*math.Pow(rng.Float64(), 2))
			alone, kept := slices.Repeat([]float64{100}, n), slices.Repeat([]float64{.3 + .7*rng.Float64()}, n)
			noise := math.Exp(math.Log(.005) + rng.Float64()*math.Log(20))
			f := one(t, unequal(rng, trials, noise, alone, kept), quick)
			if runs++; len(f.Parts)+len(f.SerialParts) > 0 {
				named++
				if n < 10 {
					few++
				}
			}
		}
		all += named
		t.Logf("%d trials: nodes are named in %d of %d runs", trials, named, 2**rates)
	}
	if all > 4+runs/50 {
		t.Errorf("of equal nodes some are named in %d of %d runs (%d of fewer than 10 nodes), want at most 2 %%", all,
			runs, few)
	}
}
