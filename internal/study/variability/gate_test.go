package variability

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/simulated"
	"github.com/scalebench/scalebench/test/skip"
)

// TestGateOfNarrowIntervals: values whose interval is too narrow pass no threshold
// below the truth but for rare cases: those with a long tail, and
// those of a few racks that differ, which only a column of an unusual name tells. What
// holds however wide the interval is passes.
func TestGateOfNarrowIntervals(t *testing.T) {
	skip.IfShort(t)
	percent := func(v study.Percent) *study.Percent { return &v }
	lognormal := func(sigma float64) func(rng *rand.Rand) *simulated.Table {
		return func(rng *rand.Rand) *simulated.Table {
			tab := simulated.NewTable()
			for range 240 {
				tab.Add(100 * math.Exp(sigma*rng.NormFloat64()))
			}
			return tab
		}
	}
	racks := func(rng *rand.Rand) *simulated.Table { // COV of 10.2 %, medians SD/√6 = 4.1 % apart
		tab := simulated.NewTable("rack")
		var level [6]float64
		for i := range level {
			level[i] = 100 + 10*rng.NormFloat64()
		}
		for i := range 240 {
			tab.Add(level[i%6]+2*rng.NormFloat64(), fmt.Sprint("rack ", i%6))
		}
		return tab
	}
	for _, c := range []struct {
		name string
		of   func(rng *rand.Rand) *simulated.Table
		set  func(p *Params)
		most int // of 12 that pass
		all  bool
	}{
		{"long tail", lognormal(2), func(p *Params) { p.FailAbove = percent(500) }, 1, false}, // COV of 732 %
		{"racks, COV", racks, func(p *Params) { p.FailAbove = percent(8) }, 1, false},
		{"racks, median", racks, func(p *Params) { p.FailUnlessWithin = percent(5) }, 1, false},
		{"long tail, far below", lognormal(.7), func(p *Params) { p.FailAbove = percent(1000) }, 12, true},
		{"racks, far below", racks, func(p *Params) { p.FailAbove = percent(200) }, 12, true},
	} {
		passed := 0
		for seed := range uint64(12) {
			p := New()
			c.set(p)
			err := ask(t, p, c.of(rand.New(rand.NewPCG(seed, 9))).Frame()).Gate()
			if err == nil {
				passed++
			} else if c.all && !errors.Is(err, model.ErrInvalid) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if passed > c.most || c.all && passed < 12 {
			t.Errorf("%s: %d of 12 pass, want at most %d", c.name, passed, c.most)
		}
	}
}
