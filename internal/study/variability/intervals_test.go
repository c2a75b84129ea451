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

	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/simulated"
)

// TestReliable: what intervals cannot be relied on is said, and of good values
// nothing.
func TestReliable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	tail, chain, level := simulated.NewTable(), simulated.NewTable(), 0.0
	for range 300 {
		tail.Add(math.Exp(rng.NormFloat64()))
	}
	for range 100 {
		level = 0.97*level + rng.NormFloat64()
		chain.Add(100 + level)
	}
	for _, c := range []struct {
		name string
		f    frame.Frame
		want string // the only one of both
	}{
		{"good", simulated.Noise(300, 100, 5).Frame(), ""},
		{"tail", tail.Frame(), "heavy_tail"},
		{"seven", simulated.Noise(7, 100, 5).Frame(), "few_effective"},
		{"four nodes", simulated.Kept(rng, 4, 50, 0.9).Frame(), "few_effective"},
		{"neighbours", chain.Frame(), "few_effective"},
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
		r, m, n := ask5(simulated.Kept(rand.New(rand.NewPCG(2, 2)), nodes, 100, 0.9).Frame())
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
	rng, tab := rand.New(rand.NewPCG(3, 3)), simulated.NewTable(frame.FactSubject, frame.FactRepetition)
	levels := make([]float64, 30)
	for i := range levels {
		levels[i] = 100 + 2*float64(i%5-2)
	}
	for i := range 12 {
		for k, level := range levels {
			tab.At(level+10*rng.NormFloat64(), int64(i)*int64(time.Hour), fmt.Sprint("node", k), fmt.Sprint(i))
		}
	}
	p := New()
	p.Targets = []float64{1.5}
	m := ask(t, p, tab.Frame()).Metrics[0]
	n := m.Repetitions[0]
	if m.Repeated != (explain.Repeated{By: frame.FactRepetition, N: 12}) || m.Dependence.LimitedBy != frame.FactSubject {
		t.Fatalf("repeated %+v, limited by %q, want 12 repetitions, nodes", m.Repeated, m.Dependence.LimitedBy)
	}
	c := m.Dependence.Clustered
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
		tab := simulated.NewTable(names...)
		for i := range 48 {
			tab.At(100+30*rng.NormFloat64(), int64(i/4)*int64(time.Hour), level(i)...)
		}
		return tab.Frame()
	}
	trial := func(i int) string { return fmt.Sprint(i / 4 % 6) }
	for _, c := range []struct {
		f    frame.Frame
		want explain.Repeated
	}{
		{make(nil, func(int) []string { return nil }), explain.Repeated{By: "", N: 48}},
		{make([]string{frame.FactRun, frame.FactTrial}, func(i int) []string { return []string{"one", fmt.Sprint(i / 4)} }), explain.Repeated{By: frame.FactTrial, N: 12}},
		{make([]string{frame.FactRun, frame.FactTrial}, func(i int) []string { return []string{fmt.Sprint(i / 24), trial(i)} }), explain.Repeated{By: frame.FactRun, N: 2}},
		{make([]string{frame.FactRepetition, frame.FactRun}, func(i int) []string { return []string{fmt.Sprint(i / 4), fmt.Sprint(i / 4)} }), explain.Repeated{By: frame.FactRepetition, N: 12}},
		{make([]string{frame.FactSubject, frame.FactRepetition}, func(i int) []string { return []string{fmt.Sprint(i % 4), "1"} }), explain.Repeated{By: frame.FactRepetition, N: 1}},
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
