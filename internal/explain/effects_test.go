package explain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/test/simulated"
)

// TestUnits: what is the same for all rows of a node is tested over nodes.
func TestUnits(t *testing.T) {
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
