package explain

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/test/truth/simulated"
)

// TestGroupsOfNeighbours: the COV of a group is known as badly as its rows are alike,
// besides what the fact itself explains.
func TestGroupsOfNeighbours(t *testing.T) {
	width := func(ar float64) float64 {
		rng, tab, past := rand.New(rand.NewPCG(6, 1)), simulated.NewTable("cpu"), 0.0
		for range 600 {
			past = ar*past + math.Sqrt(1-ar*ar)*rng.NormFloat64()
			k := rng.IntN(2)
			tab.Add(100+100*float64(k)+10*past, []string{"a", "b"}[k])
		}
		x := rowsOf(tab.Frame())
		g := x.Group(x.Fact("cpu")).Groups[0]
		return g.COVCI[1] / g.COVCI[0]
	}
	if free, alike := width(0), width(.9); math.Log(alike) < 2*math.Log(free) {
		t.Errorf("the interval of a group's COV spans a factor of %.2f of independent rows and %.2f of neighbours that are alike, want that far wider", free, alike)
	}
}
