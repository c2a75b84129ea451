package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// TestUnrelated: metrics that have nothing to do with each other seem related in no
// more cases than the level leaves, also where each depends on its past; intervals
// are those of the level.
func TestUnrelated(t *testing.T) {
	skip.IfShort(t)
	for phi, least := range map[float64]float64{0: 0.93, 0.5: 0.9, 0.8: 0.8} {
		significant, held := 0, 0
		const seeds = 200
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 99))
			var frames []frame.Frame
			for _, name := range []string{"a", "b"} {
				tab, x := simulated.NewTable(frame.FactRepetition), rng.NormFloat64()
				tab.F.Metric = name
				for r := range 40 {
					tab.Add(100+5*x, fmt.Sprint(r))
					x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
				}
				frames = append(frames, tab.Frame())
			}
			together := Correlate(frames, 0.95)
			if together.Pairs[0].Significant {
				significant++
			}
			if ci := together.Metrics[0].COVCI; ci != nil && ci[0] <= 0.05 && 0.05 <= ci[1] {
				held++
			}
		}
		t.Logf("φ = %v: the COV is held by %d of %d", phi, held, seeds)
		if few := seeds*least - 3*math.Sqrt(seeds*least*(1-least)); float64(held) < few {
			t.Errorf("φ = %v: the COV is held by %d of %d intervals, want at least %.0f", phi, held, seeds, few)
		}
		// Three SD of the binomial distribution above 5 %.
		if most := seeds*0.05 + 3*math.Sqrt(seeds*0.05*0.95); float64(significant) > most {
			t.Errorf("φ = %v: %d of %d unrelated pairs are significant, want at most %.0f", phi, significant, seeds, most)
		}
	}
}

// TestKnownCorrelation: the interval of a rank correlation holds that of the
// population, 6/π·asin(ρ/2) of normal values, in about as many of 200 tables as the
// level says, from rows of which each repetition has two.
func TestKnownCorrelation(t *testing.T) {
	skip.IfShort(t)
	const seeds, rho = 200, -0.8
	truth, held := 6/math.Pi*math.Asin(rho/2), 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 77))
		a, b := simulated.NewTable(frame.FactRepetition), simulated.NewTable(frame.FactRepetition)
		a.F.Metric, b.F.Metric = "score", "runtime"
		for r := range 30 {
			x, z := rng.NormFloat64(), rng.NormFloat64()
			y := rho*x + math.Sqrt(1-rho*rho)*z
			for _, apart := range []float64{-1, 1} {
				a.Add(100+5*x+apart, fmt.Sprint(r))
				b.Add(60+20*y+apart, fmt.Sprint(r))
			}
		}
		p := Correlate([]frame.Frame{a.Frame(), b.Frame()}, 0.95).Pairs[0]
		if p.RhoCI == nil || p.RhoCI[0] > p.Rho || p.RhoCI[1] < p.Rho {
			t.Fatalf("seed %d: %+v, want an interval about rho", seed, p)
		}
		if p.RhoCI[0] <= truth && truth <= p.RhoCI[1] {
			held++
		}
	}
	t.Logf("%d of %d intervals hold %.3f", held, seeds, truth)
	if held < 184 || held > 199 {
		t.Errorf("%d of %d intervals hold %.3f, want about 190", held, seeds, truth)
	}
}
