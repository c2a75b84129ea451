package evaluation

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

// rates is how often each world is drawn; more than 1000 is for the figures in
// docs/methods.md.
var rates = flag.Int("rates", 25, "how often each world is drawn; 2000 for the figures in docs/methods.md")

// shapeOf draws how the total grows: what n nodes have, of what one has.
type shapeOf func(rng *rand.Rand, fleet int) func(n float64) float64

// shapes that fall, and shapes that do not.
var (
	falling = map[string]shapeOf{
		"collapse": func(rng *rand.Rand, fleet int) func(n float64) float64 {
			at, left := float64(2+rng.IntN(fleet-2)), .2+.4*rng.Float64()
			return func(n float64) float64 {
				if n > at {
					return left * at
				}
				return n
			}
		},
		"contention with a peak": func(rng *rand.Rand, fleet int) func(n float64) float64 {
			at := max(1.5, (.25+.25*rng.Float64())*float64(fleet))
			sigma := .1 * rng.Float64()
			kappa := (1 - sigma) / (at * at)
			return func(n float64) float64 { return n / (1 + sigma*(n-1) + kappa*n*(n-1)) }
		},
	}
	rising = map[string]shapeOf{
		"linear": func(*rand.Rand, int) func(n float64) float64 { return func(n float64) float64 { return n } },
		"limit": func(rng *rand.Rand, fleet int) func(n float64) float64 {
			knee := 1 + rng.Float64()*float64(fleet-1)
			return func(n float64) float64 { return min(n, knee) }
		},
		"contention without a peak": func(rng *rand.Rand, _ int) func(n float64) float64 {
			sigma := .2 * rng.Float64()
			return func(n float64) float64 { return n / (1 + sigma*(n-1)) }
		},
		"staircase": func(rng *rand.Rand, fleet int) func(n float64) float64 {
			step := float64(1 + rng.IntN(fleet/2))
			return func(n float64) float64 { return step * math.Ceil(n/step) }
		},
	}
)

// drawn is a run of a shape: 4 to 16 nodes, three to six sizes, noise of .5 to
// 10 %, and so many trials.
func drawn(rng *rand.Rand, shape shapeOf, trials int) (s sweepCase, truth func(n float64) float64) {
	fleet := 4 + rng.IntN(13)
	truth = shape(rng, fleet)
	sizes := rng.Perm(fleet - 2)[:min(fleet-2, 2+rng.IntN(4))]
	for i := range sizes {
		sizes[i] += 2
	}
	slices.Sort(sizes)
	noise := math.Exp(math.Log(.005) + rng.Float64()*math.Log(20))
	return sweepCase{Fleet: fleet, Trials: trials, Sizes: sizes, Noise: noise,
		Total: func(active []int, solo float64) float64 {
			return solo * truth(float64(len(active)))
		}}, truth
}

// TestPeakRates: a peak is seldom claimed where totals do not fall, and found where
// they fall by much more than they scatter.
func TestPeakRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 27))
	for name, shape := range rising {
		for _, trials := range []int{1, 2, 3, 5} {
			alarms, refused := 0, 0
			for range *rates {
				c, _ := drawn(rng, shape, trials)
				s := scaled(t, c.Run(rng).Data)
				if s.Peak != nil {
					alarms++
				}
				if slices.ContainsFunc(texts(s.Doubts), func(w string) bool {
					return strings.HasPrefix(w, "no curve describes")
				}) {
					refused++
				}
			}
			t.Logf("%s, %d trials: a peak in %d of %d, no curve in %d", name, trials, alarms, *rates, refused)
			if alarms > 2+*rates/50 {
				t.Errorf("%s, %d trials: a peak is claimed in %d of %d", name, trials, alarms, *rates)
			}
			if refused > 2+*rates/50 && (name == "linear" || name == "limit") {
				t.Errorf("%s, %d trials: a curve that is right is refused in %d of %d", name, trials, refused, *rates)
			}
		}
	}
	for name, shape := range falling {
		for _, trials := range []int{1, 2, 3, 5} {
			found, all, wrong := 0, 0, 0
			for range *rates {
				c, truth := drawn(rng, shape, trials)
				most := 0.0
				for _, n := range append(c.Sizes, 1) {
					most = max(most, truth(float64(n)))
				}
				if fall := 1 - truth(float64(c.Fleet))/most; fall < .15 || fall < 5*c.Noise {
					continue
				}
				all++
				s := scaled(t, c.Run(rng).Data)
				if s.Peak != nil {
					found++
					continue
				}
				if s.Limit != nil || s.Fit != nil && s.Fit.Model == "linear" {
					wrong++
				}
			}
			t.Logf("%s, %d trials: found in %d of %d, a line or a limit in %d", name, trials, found, all, wrong)
			if found < all*6/10 {
				t.Errorf("%s, %d trials: the peak is found in %d of %d", name, trials, found, all)
			}
		}
	}
}

// TestTotalsThatCollapse: the peak is named with its size, and no curve is drawn
// through totals that it misses.
func TestTotalsThatCollapse(t *testing.T) {
	collapse := map[int]float64{1: 1, 2: 2, 3: 3, 4: 4, 5: 1.2, 7: 1.2}
	turning := map[int]float64{1: 1, 2: 1.9, 3: 2.7, 4: 3, 5: 2.6, 7: 1.8}
	steps := map[int]float64{1: 1, 2: 2, 3: 2, 4: 2, 5: 3.8, 7: 4}
	for _, c := range []struct {
		name   string
		totals map[int]float64
		trials int
		peak   int // 0: none
		text   string
	}{
		{"collapse, one trial", collapse, 1, 4, "the sum is largest with 4 nodes, "},
		{"collapse, three trials", collapse, 3, 4, "and falls to "},
		{"turning, one trial", turning, 1, 4, "use no more than 4 nodes"},
		{"turning, three trials", turning, 3, 4, "the sum is largest with 4 nodes, "},
		{"steps, one trial", steps, 1, 0, "no curve describes the totals"},
		{"steps, three trials", steps, 3, 0, "no curve describes the totals"},
	} {
		s := scaled(t, sweepCase{Fleet: 7, Trials: c.trials, Sizes: []int{2, 3, 4, 5}, Noise: .01,
			Total: func(active []int, solo float64) float64 {
				return solo * c.totals[len(active)]
			}}.Run(rand.New(rand.NewPCG(6, 1))).Data)
		peak := 0
		if s.Peak != nil {
			peak = s.Peak.Nodes
			wantValue(t, c.name+": the largest total", &s.Peak.Total, 200*c.totals[peak], 30)
			wantValue(t, c.name+": the last total", &s.Peak.Last, 200*c.totals[7], 15)
		}
		if peak != c.peak || s.Fit != nil || s.Limit != nil {
			t.Errorf("%s: peak %d, fit %+v, limit %+v, want a peak of %d only", c.name, peak, s.Fit, s.Limit, c.peak)
		}
		if got := strings.Join(texts(s.Doubts), "\n"); !strings.Contains(got, c.text) {
			t.Errorf("%s: warnings %q, want %q", c.name, texts(s.Doubts), c.text)
		}
		if got := s.Grows(); got != (c.peak == 0) {
			t.Errorf("%s: it grows: %v", c.name, got)
		}
	}
}

// TestPeakNeedsSizes: of two sizes, or without any scatter known, nothing is said.
func TestPeakNeedsSizes(t *testing.T) {
	fall := []stats.SizeTotals{{Size: 1, Mean: 4, Count: 1}, {Size: 2, Mean: 1, Count: 1}}
	if p, ok := stats.Peak(fall, stats.Noise{SD: .01, Degrees: 5}); ok {
		t.Errorf("a peak %+v of two sizes", p)
	}
	if p, ok := stats.Peak(append(fall, stats.SizeTotals{Size: 3, Mean: 1, Count: 1}), stats.Noise{SD: .01}); ok {
		t.Errorf("a peak %+v without a scatter", p)
	}
}
