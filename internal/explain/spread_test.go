package explain

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// TestKeptNodes: intervals over few nodes hold the truth, and are no wider than
// what Student's t and χ² of so many nodes make them.
func TestKeptNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds, many times that under the race detector")
	}
	for _, c := range []struct {
		nodes int
		share float64
		most  float64 // the median of upper end/lower end of the COV's interval
	}{{4, 0.8, 8}, {8, 0.8, 3.6}, {16, 0.8, 2.4}, {8, 0.4, 2.8}} {
		const seeds = 200
		var covs, means, medians, ratios = 0, 0, 0, []float64(nil)
		for seed := range uint64(seeds) {
			f := simulated.Kept(rand.New(rand.NewPCG(seed, 17)), c.nodes, 25, c.share).Frame()
			x := rowsOf(f)
			s := x.Spread(x.Dependence())
			if s.COVCI != nil && s.COVCI[0] <= 0.1 && 0.1 <= s.COVCI[1] {
				covs++
			}
			if s.MeanCI != nil && s.MeanCI[0] <= 100 && 100 <= s.MeanCI[1] {
				means++
			}
			// Without an interval nothing is claimed.
			if s.MedianCI == nil || s.MedianCI[0] <= 100 && 100 <= s.MedianCI[1] {
				medians++
			}
			if s.COVCI != nil {
				ratios = append(ratios, s.COVCI[1]/s.COVCI[0])
			}
		}
		slices.Sort(ratios)
		for name, held := range map[string]int{"COV": covs, "mean": means, "median": medians} {
			if float64(held) < 0.92*seeds {
				t.Errorf("%d nodes, %v between them: the interval of the %s holds in %d of %d", c.nodes, c.share, name, held, seeds)
			}
		}
		if got := stats.QuantileSorted(ratios, 0.5); got > c.most {
			t.Errorf("%d nodes, %v between them: the interval of the COV is of a factor %.1f, want at most %v", c.nodes, c.share, got, c.most)
		}
	}
}

// TestChained: intervals of values that depend on those before them hold the truth;
// docs/methods.md has the shares.
func TestChained(t *testing.T) {
	skip.IfShort(t)
	for _, c := range []struct {
		phi  float64
		n    int
		want [3]float64 // mean, median, COV
	}{{0.5, 50, [3]float64{0.93, 0.955, 0.955}}, {0.8, 200, [3]float64{0.93, 0.975, 0.93}}} {
		const seeds = 150
		held := [3]int{}
		for seed := range uint64(seeds) {
			rng, tab := rand.New(rand.NewPCG(seed, 23)), simulated.NewTable()
			level := rng.NormFloat64()
			for range c.n {
				tab.Add(100 + 10*level)
				level = c.phi*level + math.Sqrt(1-c.phi*c.phi)*rng.NormFloat64()
			}
			f := tab.Frame()
			x := rowsOf(f)
			s := x.Spread(x.Dependence())
			for i, ci := range []*Interval{s.MeanCI, s.MedianCI, s.COVCI} {
				if truth := []float64{100, 100, 0.1}[i]; ci != nil && ci[0] <= truth && truth <= ci[1] {
					held[i]++
				}
			}
		}
		for i, name := range []string{"mean", "median", "COV"} {
			// Three SD of the binomial distribution.
			if got := float64(held[i]) / seeds; math.Abs(got-c.want[i]) > 3*math.Sqrt(c.want[i]*(1-c.want[i])/seeds) {
				t.Errorf("φ = %v: the interval of the %s of %d values holds in %.3f, want about %.3f", c.phi, name, c.n, got, c.want[i])
			}
		}
	}
}
