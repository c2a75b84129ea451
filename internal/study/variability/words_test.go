package variability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// text is the answer as the terminal shows it, each space alone.
func text(t *testing.T, r *Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := render.Text(&out, r.Document(), render.TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// holds reports what of some words a text lacks.
func holds(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the answer lacks %q:\n%s", w, text)
		}
	}
}

// daily are values with a cycle of a day, two processors and a step at the end.
func daily(n, step int, cycle, by float64) *simulated.Table {
	rng, tab := rand.New(rand.NewPCG(3, 3)), simulated.NewTable("cpu")
	for i := range n {
		cpu, v := "new", 100_000.0
		if i%7 == 3 {
			cpu, v = "old", 70_000
		}
		if i >= step {
			v *= 1 + by
		}
		v *= (1 + cycle*math.Sin(float64(i)/24*2*math.Pi)) * (1 + .01*rng.NormFloat64())
		tab.At(v, int64(i)*int64(time.Hour), cpu)
	}
	return tab
}

// TestNewLevelBegins: row 201 is the first of the new level, so that it changed
// after value 200, wherever that is said.
func TestNewLevelBegins(t *testing.T) {
	f := daily(240, 200, 0, .12).Frame()
	f.Times = nil
	r := ask(t, New(), f)
	m := r.Metrics[0]
	if len(m.Course.Changes) != 1 || m.Course.Changes[0].Row != 201 {
		t.Fatalf("changes %+v, want one at row 201", m.Course.Changes)
	}
	got := text(t, r)
	holds(t, got, "after value 200 by", "row 201", "LEVEL WITHOUT WHAT CPU EXPLAINS")
	if strings.Contains(got, "value 201") {
		t.Errorf("the new level begins with value 201, not after it:\n%s", got)
	}
	// The change is that of the levels beside it.
	c := m.Course.Changes[0]
	holds(t, got, m.scale().Value(c.Before, 0), m.scale().Value(c.After, 0))
}

// TestGroupsOfOneValue: of hours that have one value each, but for one, nothing is
// said of what varies within them.
func TestGroupsOfOneValue(t *testing.T) {
	tab := daily(300, 300, 0, 0)
	tab.At(99_000, tab.F.Times[299]+1, "new")
	r := ask(t, New(), tab.Frame())
	levels := r.Metrics[0].Decomposition.Levels
	hour := levels[slices.IndexFunc(levels, func(l explain.DecomposedLevel) bool { return l.Level == "hour" })]
	if hour.In != nil || hour.Share != nil || hour.BetweenCorrected != nil || hour.Between == nil || hour.Skipped != 299 {
		t.Errorf("hours with one value: %+v, want no more than between", hour)
	}
	if day := levels[0]; day.In == nil || day.Why != "" {
		t.Errorf("days: %+v", day)
	}
	holds(t, text(t, r), "By hour 299 of 300 groups have one value")
}

// TestEmptySideOfCutoff has no mean.
func TestEmptySideOfCutoff(t *testing.T) {
	p := New()
	p.Cutoffs = []float64{1}
	r := ask(t, p, simulated.Noise(50, 100, 5).Frame())
	data, err := json.Marshal(r.Metrics[0].Cutoffs[0].Lower)
	if err != nil {
		t.Fatal(err)
	}
	var lower map[string]any
	if err := json.Unmarshal(data, &lower); err != nil {
		t.Fatal(err)
	}
	if mean, has := lower["mean"]; !has || mean != nil || lower["from"] != nil || lower["n"] != 0.0 {
		t.Errorf("nothing is below 1, but JSON says %s", data)
	}
	holds(t, text(t, r), "below 1.00 points n/a 0 0.0 %")
	if row := r.Metrics[0].bandRow("", explain.Band{}, nil, 0); row[4].Lines[0] != "n/a" {
		t.Errorf("mean of no values: %v, want n/a", row[4].Lines)
	}
}

// TestFactsOfTime: an hour of the day is called so everywhere, and its limit of p
// is said.
func TestFactsOfTime(t *testing.T) {
	tab := simulated.Noise(0, 1, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 24 * 14 {
		tab.At(100_000*(1+.1*math.Sin(float64(i)/24*2*math.Pi))+1000*rng.NormFloat64(), int64(i)*int64(time.Hour))
	}
	tab.F.Unit = "op/s"
	r := ask(t, New(), tab.Frame())
	if e := r.Metrics[0].Facts[0]; e.Fact != explain.FactHour {
		t.Fatalf("best fact %+v, want hour", e)
	}
	got := text(t, r)
	holds(t, got, "the hour of day explains", "hour of day 24", "day of week 7", "By hour of day", "at most 0.0125.")
	for _, wrong := range []string{"the hour explains", "hour 24", "weekday 7"} {
		if strings.Contains(got, wrong) {
			t.Errorf("the answer says %q:\n%s", wrong, got)
		}
	}
	// Each number of a row of groups has its unit.
	g := r.Metrics[0].Groups[0]
	holds(t, got, r.Metrics[0].scale().Value(g.Groups[0].P25, 0)+" "+r.Metrics[0].scale().Value(g.Groups[0].P75, 0))
}

// TestOutliersInText: the terminal shows no folds, but how many outliers there are.
func TestOutliersInText(t *testing.T) {
	tab := simulated.Noise(200, 100, 1)
	tab.Add(300)
	holds(t, text(t, ask(t, New(), tab.Frame())), "1 outlier, 0.5 % of all values; the farthest is 300 points (row 201")
}

// TestColours: repetitions are no colours, even where they explain most.
func TestColours(t *testing.T) {
	rng, tab := rand.New(rand.NewPCG(5, 5)), simulated.NewTable(frame.FactRepetition, "cpu")
	for rep := range 40 {
		level := 100 + 10*rng.NormFloat64()
		for i := range 10 {
			cpu := "new"
			v := level + .1*rng.NormFloat64()
			if i%2 == 0 {
				cpu, v = "old", v-6
			}
			tab.Add(v, fmt.Sprint(rep), cpu)
		}
	}
	m := ask(t, New(), tab.Frame()).Metrics[0]
	if e := m.Facts[0]; e.Fact != frame.FactRepetition || !e.Significant {
		t.Fatalf("best fact %+v, want the repetition", e)
	}
	if by := m.colour(); by == nil || by.Name != "cpu" {
		t.Errorf("coloured by %v, want cpu", by)
	}
}

// TestHistogramShowsModes: three modes, of which the width by quartiles knows
// nothing, are three heaps of bars, whether bands were found or not.
func TestHistogramShowsModes(t *testing.T) {
	rng, tab := rand.New(rand.NewPCG(5, 5)), simulated.NewTable()
	for i := range 45 {
		tab.Add([]float64{50, 100, 150}[i%3] + 5*rng.NormFloat64())
	}
	m := ask(t, New(), tab.Frame()).Metrics[0]
	for _, found := range []bool{true, false} {
		if !found {
			m.Bands = explain.BandSearch{}
		}
		edges, counts := m.histogram()
		heaps, total := 0, 0
		for i, n := range counts {
			total += n
			if mid := (edges[i] + edges[i+1]) / 2; n == 0 && (math.Abs(mid-75) < 5 || math.Abs(mid-125) < 5) {
				heaps++
			}
		}
		if total != 45 || len(counts) < leastBins || heaps < 2 {
			t.Errorf("bands found %v: %d bins %v, want empty ones about 75 and 125", found, len(counts), counts)
		}
	}
}
