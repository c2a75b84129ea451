package explain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// TestUnits: what is the same for all rows of a node is tested over nodes.
func TestUnits(t *testing.T) {
	skip.IfShort(t)
	make := func(nodes int, effect float64) frame.Frame {
		rng, tab := rand.New(rand.NewPCG(3, uint64(nodes))), simulated.NewTable(frame.FactSubject, "cpu")
		level := rand.New(rand.NewPCG(1, 1))
		means := map[int]float64{}
		for n := range nodes {
			means[n] = 100 + 5*level.NormFloat64() + effect*float64(n%2)
		}
		for range 50 {
			for n := range nodes {
				tab.Add(means[n]+rng.NormFloat64(), fmt.Sprint("node", n), []string{"Xeon", "Opteron"}[n%2])
			}
		}
		return tab.Frame()
	}
	effect := func(f frame.Frame) Effect {
		all := rowsOf(f).Effects()
		return all[slices.IndexFunc(all, func(e Effect) bool { return e.Fact == "cpu" })]
	}
	if e := effect(make(6, 0)); e.Significant || e.Units != "6 nodes" {
		t.Errorf("six nodes that differ by chance: %+v, want no effect of the processor, over 6 nodes", e)
	}
	if e := effect(make(20, 30)); !e.Significant || e.Units != "20 nodes" {
		t.Errorf("twenty nodes of two processors: %+v, want an effect over 20 nodes", e)
	}
	e := effect(make(2, 30))
	if e.P != nil || e.Significant || !strings.Contains(e.Why, "one node only") {
		t.Errorf("a node of each processor: %+v, want that node and processor cannot be told apart", e)
	}
	if s := rowsOf(make(2, 30)).Subjects(); !e.GoesWith() || s == nil || s.N != 2 || s.ICC < 0.9 {
		t.Errorf("a node of each processor: %+v, subjects %+v", e, s)
	}
}

// TestOneHypothesis: facts that divide the rows alike are corrected for once, in other
// words and in another order, too; one row that differs makes another question.
func TestOneHypothesis(t *testing.T) {
	adjusted := func(facts int, differ int) float64 {
		rng := rand.New(rand.NewPCG(5, 5))
		tab := simulated.NewTable([]string{"cpu", "model", "limit", "weather"}[4-facts:]...)
		for i := range 60 {
			slow := i%3 == 0
			v := 100 + rng.NormFloat64()
			if slow {
				v--
			}
			words := func(fast, other string) string {
				if slow {
					return other
				}
				return fast
			}
			model := words("new", "old")
			if i < differ {
				model = "new"
			}
			tab.Add(v, []string{words("Xeon", "Opteron"), model, words("0.4", "0.2"), []string{"sun", "rain"}[rng.IntN(2)]}[4-facts:]...)
		}
		for _, e := range rowsOf(tab.Frame()).Effects() {
			if e.Fact == "limit" {
				return *e.Adjusted
			}
		}
		t.Fatal("the limit was not tested")
		return 0
	}
	alone := adjusted(2, 0)
	if got := adjusted(4, 0); alone == 0 || got != alone {
		t.Errorf("with two facts that say the same the p is %v, want %v", got, alone)
	}
	if got := adjusted(4, 1); got <= alone {
		t.Errorf("with a fact of which one row differs the p is %v, want more than %v", got, alone)
	}
}

// TestBlocks: of rows that depend on those before them, levels that stay the same for
// a while differ by chance, with and without times; a level that wanders is said
// rather than tested. Of independent rows in turns a difference is found.
func TestBlocks(t *testing.T) {
	const tables = 40
	for _, tt := range []struct {
		name                 string
		rows, levels, blocks int
		phi, effect          float64
		timed                bool
		most, least          int // tables in which the fact stands out
		untested             bool
	}{
		{"levels in turn", 240, 6, 6, 0.7, 0, false, 3, 0, false},
		{"two levels in turns", 240, 2, 12, 0.9, 0, false, 3, 0, false},
		{"random walk", 240, 3, 3, 1, 0, true, 0, 0, true},
		{"random walk without times", 240, 3, 3, 1, 0, false, 0, 0, true},
		{"an effect in turns", 120, 2, 12, 0, 10, false, tables, tables, false},
		{"an effect in halves", 60, 2, 2, 0, 10, false, tables, tables - 3, false},
	} {
		found := 0
		for s := range uint64(tables) {
			rng, past, tab := rand.New(rand.NewPCG(s, 9)), 0.0, simulated.NewTable("ver")
			for i := range tt.rows {
				past = tt.phi*past + 3*rng.NormFloat64()
				level := i * tt.blocks / tt.rows % tt.levels
				tab.Add(100+past+tt.effect*float64(level), fmt.Sprint("v", level))
			}
			if !tt.timed {
				tab.F.Times = nil
			}
			all := rowsOf(tab.Frame()).Effects()
			e := all[slices.IndexFunc(all, func(e Effect) bool { return e.Fact == "ver" })]
			if e.Significant {
				found++
			}
			if tt.untested && (e.P != nil || !strings.Contains(e.Why, "those before them")) {
				t.Errorf("%s: %+v, want that it is not tested", tt.name, e)
			}
		}
		if found < tt.least || found > tt.most {
			t.Errorf("%s: ver stands out in %d of %d tables, want %d to %d", tt.name, found, tables, tt.least, tt.most)
		}
	}
}

// TestSortedValues: rows in the order of their values have no neighbours.
func TestSortedValues(t *testing.T) {
	rng, tab := rand.New(rand.NewPCG(4, 4)), simulated.NewTable("ver")
	values := make([]float64, 60)
	for i := range values {
		values[i] = 100 + 10*float64(i%2) + rng.NormFloat64()
	}
	slices.Sort(values)
	for i, v := range values {
		tab.Add(v, fmt.Sprint("v", i/30))
	}
	tab.F.Times = nil
	if e := rowsOf(tab.Frame()).Effects()[0]; !e.Significant || e.Units != "60 rows" {
		t.Errorf("sorted values: %+v, want an effect over 60 rows", e)
	}
}

// TestDaysOfWalks: the days of a level that wanders differ by chance. Days that differ
// themselves, of rows that are worth enough, are found.
func TestDaysOfWalks(t *testing.T) {
	for _, tt := range []struct {
		name        string
		every       int64 // minutes
		phi, days   float64
		least, most int
	}{
		{"random walk", 20, 1, 0, 0, 1},
		{"random walk, few rows a day", 360, 1, 0, 0, 1},
		{"AR .95, few rows a day", 480, .95, 0, 0, 1},
		{"days that differ", 60, 0, 9, 18, 20},
		{"days that differ, few rows", 360, 0, 9, 18, 20},
	} {
		found := 0
		for s := range uint64(20) {
			rng, past, day, tab := rand.New(rand.NewPCG(s, 11)), 0.0, 0.0, simulated.NewTable()
			for i := range 300 {
				if int64(i)*tt.every%1440 == 0 {
					day = rng.NormFloat64()
				}
				past = tt.phi*past + 3*rng.NormFloat64()
				tab.Add(300 + past + tt.days*day)
			}
			f := tab.Frame()
			for i := range f.Times {
				f.Times[i] = f.Times[0] + int64(i)*tt.every*60e9
			}
			all := rowsOf(f).Effects()
			if i := slices.IndexFunc(all, func(e Effect) bool { return e.Fact == FactDay }); i >= 0 &&
				all[i].Significant {
				found++
			}
		}
		if found < tt.least || found > tt.most {
			t.Errorf("%s: the day stands out in %d of 20 tables, want %d to %d", tt.name, found, tt.least, tt.most)
		}
	}
}
