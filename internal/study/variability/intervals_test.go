package variability

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
)

// kept are k nodes that measure times over, all at once; share of the variance is
// between them. The COV is 10 %.
func kept(rng *rand.Rand, k, times int, share float64) *table {
	tab := newTable(frame.FactSubject)
	levels := make([]float64, k)
	for n := range levels {
		levels[n] = 100 + 10*math.Sqrt(share)*rng.NormFloat64()
	}
	for i := range times {
		for n, level := range levels {
			tab.at(level+10*math.Sqrt(1-share)*rng.NormFloat64(), int64(i)*int64(time.Hour), fmt.Sprint("node", n))
		}
	}
	return tab
}

// TestKeptNodes: intervals over few nodes hold the truth, and are no wider than
// what Student's t and χ² of so many nodes make them.
func TestKeptNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds, many times that under the race detector")
	}
	zone := time.UTC
	for _, c := range []struct {
		nodes int
		share float64
		most  float64 // the median of upper end/lower end of the COV's interval
	}{{4, 0.8, 8}, {8, 0.8, 3.6}, {16, 0.8, 2.4}, {8, 0.4, 2.8}} {
		const seeds = 200
		var covs, means, medians, ratios = 0, 0, 0, []float64(nil)
		for seed := range uint64(seeds) {
			f := kept(rand.New(rand.NewPCG(seed, 17)), c.nodes, 25, c.share).frame()
			x := examine(&f, New(), zone)
			s := x.spread(x.dependence())
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
		if got := quantile(ratios, 0.5); got > c.most {
			t.Errorf("%d nodes, %v between them: the interval of the COV is of a factor %.1f, want at most %v", c.nodes, c.share, got, c.most)
		}
	}
}

// TestReliable: what intervals cannot be relied on is said, and of good values
// nothing.
func TestReliable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	tail, chain, level := newTable(), newTable(), 0.0
	for range 300 {
		tail.add(math.Exp(rng.NormFloat64()))
	}
	for range 100 {
		level = 0.97*level + rng.NormFloat64()
		chain.add(100 + level)
	}
	for _, c := range []struct {
		name string
		f    frame.Frame
		want string // the only one of both
	}{
		{"good", noise(300, 100, 5).frame(), ""},
		{"tail", tail.frame(), "heavy_tail"},
		{"seven", noise(7, 100, 5).frame(), "few_effective"},
		{"four nodes", kept(rng, 4, 50, 0.9).frame(), "few_effective"},
		{"neighbours", chain.frame(), "few_effective"},
	} {
		got := ""
		for _, code := range codes(ask(t, New(), c.f).Metrics[0].Doubts) {
			if code == "heavy_tail" || code == "few_effective" {
				got += code
			}
		}
		if got != c.want {
			t.Errorf("%s: doubts %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNodesNeeded: where nodes differ, more rows of the same nodes are not advised
// where they do not help, and the gate says what does.
func TestNodesNeeded(t *testing.T) {
	percent := study.Percent(5)
	ask5 := func(f frame.Frame) (*Result, Metric, Needed) {
		p := New()
		p.FailUnlessWithin = &percent
		r := ask(t, p, f)
		m := r.Metrics[0]
		return r, m, m.Repetitions[slices.IndexFunc(m.Repetitions, func(n Needed) bool { return n.Target == 0.05 })]
	}
	for _, nodes := range []int{4, 8} {
		r, m, n := ask5(kept(rand.New(rand.NewPCG(2, 2)), nodes, 100, 0.9).frame())
		if n.Mean != nil || n.Median != nil || n.MoreNodes == nil || *n.MoreNodes < 5 || *n.MoreNodes > 60 {
			t.Errorf("%d nodes that differ: %+v, want some more nodes, and no number of repetitions", nodes, n)
		}
		if (n.MedianNodes == nil) != (nodes < 6) {
			t.Errorf("%d nodes: %+v, want nodes for the median from 6 nodes on", nodes, n)
		}
		if i := slices.IndexFunc(m.Advice, func(a Advice) bool { return a.Code == "more_nodes" && a.Fact == "" }); i < 0 || !strings.Contains(m.Advice[i].Text, fmt.Sprintf("no number of repetitions of these %d is enough", nodes)) {
			t.Errorf("advice %+v, want more nodes", m.Advice)
		}
		if slices.ContainsFunc(m.Advice, func(a Advice) bool { return a.Code == "more_repetitions" }) {
			t.Errorf("advice %+v, want no repetitions of the same nodes", m.Advice)
		}
		if err := r.Gate(); !errors.Is(err, model.ErrInvalid) || !strings.Contains(err.Error(), "more nodes are needed") {
			t.Errorf("gate of %d nodes: %v, want that more nodes are needed", nodes, err)
		}
		everywhere(t, r)
	}

	// Nodes that differ by 3 % and scatter by 10 %: repetitions do it.
	rng, tab := rand.New(rand.NewPCG(3, 3)), newTable(frame.FactSubject, frame.FactRepetition)
	levels := make([]float64, 30)
	for i := range levels {
		levels[i] = 100 + 2*float64(i%5-2)
	}
	for i := range 12 {
		for k, level := range levels {
			tab.at(level+10*rng.NormFloat64(), int64(i)*int64(time.Hour), fmt.Sprint("node", k), fmt.Sprint(i))
		}
	}
	p := New()
	p.Targets = []float64{1.5}
	m := ask(t, p, tab.frame()).Metrics[0]
	n := m.Repetitions[0]
	if m.Repeated != (Repeated{By: frame.FactRepetition, N: 12}) || m.Dependence.LimitedBy != frame.FactSubject {
		t.Fatalf("repeated %+v, limited by %q, want 12 repetitions, nodes", m.Repeated, m.Dependence.LimitedBy)
	}
	c := m.Dependence.clustered
	if n.Mean == nil || *n.Mean < 13 {
		t.Fatalf("needed %+v, want more than 12 repetitions of these nodes", n)
	}
	// By hand: t·√(between/30 + within/(30·n)) within 1.5 % of the mean.
	reach := func(times int) float64 {
		return 2.0452 * math.Sqrt(c.Between/30+c.Within/30/float64(times)) / m.Mean
	}
	if reach(*n.Mean) > 0.01501 || reach(*n.Mean-1) < 0.01499 {
		t.Errorf("%d repetitions reach %.4f, one less %.4f, want .015", *n.Mean, reach(*n.Mean), reach(*n.Mean-1))
	}
}

// TestRepeated: repetitions are what is known as such, not rows.
func TestRepeated(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	make := func(names []string, level func(i int) []string) frame.Frame {
		tab := newTable(names...)
		for i := range 48 {
			tab.at(100+30*rng.NormFloat64(), int64(i/4)*int64(time.Hour), level(i)...)
		}
		return tab.frame()
	}
	trial := func(i int) string { return fmt.Sprint(i / 4 % 6) }
	for _, c := range []struct {
		f    frame.Frame
		want Repeated
	}{
		{make(nil, func(int) []string { return nil }), Repeated{"", 48}},
		{make([]string{frame.FactRun, frame.FactTrial}, func(i int) []string { return []string{"one", fmt.Sprint(i / 4)} }), Repeated{frame.FactTrial, 12}},
		{make([]string{frame.FactRun, frame.FactTrial}, func(i int) []string { return []string{fmt.Sprint(i / 24), trial(i)} }), Repeated{frame.FactRun, 2}},
		{make([]string{frame.FactRepetition, frame.FactRun}, func(i int) []string { return []string{fmt.Sprint(i / 4), fmt.Sprint(i / 4)} }), Repeated{frame.FactRepetition, 12}},
		{make([]string{frame.FactSubject, frame.FactRepetition}, func(i int) []string { return []string{fmt.Sprint(i % 4), "1"} }), Repeated{frame.FactRepetition, 1}},
	} {
		m := ask(t, New(), c.f).Metrics[0]
		if m.Repeated != c.want {
			t.Errorf("repeated %+v, want %+v", m.Repeated, c.want)
		}
		rows, err := stats.RepetitionsForMean(*m.COV, 0.05, 0.95)
		if m.Dependence.EffectiveN < 48 || err != nil {
			t.Fatalf("48 independent rows are worth %v, %v", m.Dependence.EffectiveN, err)
		}
		want := int(math.Ceil(float64(rows*c.want.N) / 48))
		if got := m.Repetitions[2]; got.Mean == nil || *got.Mean != want || *got.MoreMean != max(0, want-c.want.N) {
			t.Errorf("%+v: needed %+v, want %d for %d rows", c.want, got, want, rows)
		}
	}
}

// TestChained: intervals of values that depend on those before them hold the truth;
// docs/methods.md has the shares.
func TestChained(t *testing.T) {
	for _, c := range []struct {
		phi  float64
		n    int
		want [3]float64 // mean, median, COV
	}{{0.5, 50, [3]float64{0.93, 0.955, 0.955}}, {0.8, 200, [3]float64{0.93, 0.975, 0.93}}} {
		const seeds = 150
		held := [3]int{}
		for seed := range uint64(seeds) {
			rng, tab := rand.New(rand.NewPCG(seed, 23)), newTable()
			level := rng.NormFloat64()
			for range c.n {
				tab.add(100 + 10*level)
				level = c.phi*level + math.Sqrt(1-c.phi*c.phi)*rng.NormFloat64()
			}
			f := tab.frame()
			x := examine(&f, New(), time.UTC)
			s := x.spread(x.dependence())
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
