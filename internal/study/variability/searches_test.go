package variability

import (
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
)

// searched are capacities of 12 targets in two regions, one an hour for a day and a half,
// each with an interval of ±2 %; in one region they take half as much. From hour 20 on the
// target fallen takes a third less. Values above most are lower bounds.
func searched(rng *rand.Rand, fallen int, most float64) frame.Frame {
	f := frame.Frame{Key: frame.Key{Metric: "capacity", Phase: model.Search}, Unit: "op/s", Better: model.Higher}
	node, region, bound := frame.NewFact(frame.FactSubject), frame.NewFact("region"), frame.NewFact(frame.FactCensored)
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for hour := range 36 {
		for i := range 12 {
			v := 2000 / float64(1+i%2) * math.Exp(.05*rng.NormFloat64())
			if i == fallen && hour >= 20 {
				v *= 2. / 3
			}
			ends, level := [2]float64{v * .98, v * 1.02}, "no"
			if v > most {
				v, ends, level = most, [2]float64{}, frame.Censored
			}
			f.Values, f.Ends = append(f.Values, v), append(f.Ends, ends)
			f.Times = append(f.Times, at.Add(time.Duration(hour)*time.Hour+time.Duration(i)*time.Minute).UnixNano())
			node.Append(fmt.Sprint("n-", i))
			region.Append([]string{"eu", "us"}[i%2])
			bound.Append(level)
		}
	}
	f.Facts = []frame.Fact{node.Fact(), region.Fact(), bound.Fact()}
	if most < math.Inf(1) {
		f.Doubts = []model.Doubt{{Code: frame.FactCensored, Severity: model.Problem, Text: "a search found no capacity"}}
	}
	return f
}

// TestSearches: a value each, with its interval; the fallen target is named with what to do,
// and the page has a distribution by region.
func TestSearches(t *testing.T) {
	rng := rand.New(rand.NewPCG(2912, 1))
	p := *New()
	p.By = []string{"region"}
	for range 3 {
		fallen := rng.IntN(12)
		r := ask(t, &p, searched(rng, fallen, math.Inf(1)))
		m := r.Metrics[0]
		name := fmt.Sprint("n-", fallen)
		if k := m.Searches; k == nil || k.AtLeast != 0 || len(k.Values) != m.N || *k.Values[0].Lo >= k.Values[0].Value {
			t.Errorf("the searches are %+v", m.Searches)
		}
		if len(m.Poor) != 1 || m.Poor[0].Node != name || math.Abs(m.Poor[0].Relative+1./3) > .08 {
			t.Errorf("poor are %+v, want %s by a third", m.Poor, name)
		}
		i := slices.IndexFunc(m.Advice, func(a Advice) bool { return a.Code == "redeploy" })
		if i < 0 || m.Advice[i].Node != name || !strings.HasPrefix(m.Advice[i].Text, "redeploy "+name+": it is worse by") {
			t.Errorf("the advice is %+v", m.Advice)
		}
		g := slices.IndexFunc(m.Groups, func(g explain.Grouping) bool { return g.Fact == "region" })
		if g < 0 {
			t.Fatalf("there are no groups by region: %+v", m.Groups)
		}
		figure := m.sharesFigure(m.Groups[g]).Figure
		if figure == nil || len(figure.Panels[0].Chart.Layers) != 2 {
			t.Fatalf("the figure by region is %+v", figure)
		}
		for _, l := range figure.Panels[0].Chart.Layers {
			half := slices.IndexFunc(l.Y, func(v float64) bool { return v >= 50 })
			want := map[bool]float64{true: 2000, false: 1000}[strings.HasPrefix(l.Name, "eu")]
			if math.Abs(l.X[half]/want-1) > .04 || l.Y[len(l.Y)-1] < 99.999 {
				t.Errorf("%s has half of its searches at %v, want about %v", l.Name, l.X[half], want)
			}
		}
	}
}

// TestLowerBounds: with lower bounds the median stays right, mean and COV are not known, and
// no fact follows from the bounds.
func TestLowerBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(2912, 2))
	for _, most := range []float64{1950, 900} {
		m := ask(t, New(), searched(rng, -1, most)).Metrics[0]
		k := m.Searches
		if m.Verdict != Unknown || !strings.Contains(m.Text, "are only lower bounds") ||
			!slices.Contains(codes(m.Doubts), frame.FactCensored) ||
			strings.Contains(strings.Join(m.Warnings, " "), "a search found no capacity") {
			t.Errorf("up to %v: %s %q %v", most, m.Verdict, m.Text, m.Warnings)
		}
		if most == 900 && (k.Median != nil || k.MedianLo == nil || *k.MedianLo > 900) {
			t.Errorf("up to %v: the median is %v, at least %v", most, k.Median, k.MedianLo)
		}
		if most > 900 && (k.Median == nil || *k.Median < 1000 || *k.Median > 1950 || k.AtLeast < 36) {
			t.Errorf("up to %v: the median is %v of %d bounds", most, k.Median, k.AtLeast)
		}
		for _, e := range m.Facts {
			if e.Fact == frame.FactCensored {
				t.Errorf("up to %v: %s explains %v", most, e.Fact, e.Omega2)
			}
		}
		if len(m.Poor) > 0 {
			t.Errorf("up to %v: poor are %+v", most, m.Poor)
		}
	}
}

// TestManyPoor: one poor node of three is named; two of three may share the cause.
func TestManyPoor(t *testing.T) {
	for poor, want := range []bool{false, false, true, true} {
		m := Metric{Subjects: &explain.Subjects{N: 3}, Poor: make([]explain.Poor, poor)}
		if got := m.manyPoor(); got != want {
			t.Errorf("%d poor of 3: many = %t, want %t", poor, got, want)
		}
	}
}
