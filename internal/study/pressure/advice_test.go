package pressure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/stats"
)

// cassandra is a golden case: 300 operations a second, of 64 KiB, and 60 MiB/s.
func cassandra(iops float64) []Use {
	return []Use{
		{Node: "db-1", Service: "vol-2", Limit: "bytes", Rate: 60 << 20, Pressure: .92 * 300 * 64 / (60 * 1024)},
		{Node: "db-1", Service: "vol-2", Limit: "ops", Rate: iops, Pressure: .92 * 300 / iops},
	}
}

func TestAdvise(t *testing.T) {
	got := Advise(cassandra(300), .9)
	near(t, "P_bw", got.Uses[1].Pressure, .2875)
	near(t, "growth as it is", got.Steps[0].Growth.Value, 1/.92)
	want := Step{Raise: []Change{{0, 3.2, 960}}, Growth: Range{1 / .2875, 1 / .2875, 1 / .2875}, Next: []int{1}}
	if diff := cmp.Diff(want, got.Steps[1], cmpopts.EquateApprox(1e-12, 0)); diff != "" || len(got.Steps) != 2 {
		t.Errorf("%d steps (-want +got):\n%s", len(got.Steps), diff)
	}
	if !got.Clipped {
		t.Error("a pressure of .92 is not clipped")
	}
	near(t, "growth", math.Round(100*want.Growth.Value)/100, 3.48)

	// At 1,800, with the throughput that bytes allow, 47 % of the operations are unused.
	grown := cassandra(1800)
	for i := range grown {
		grown[i].Pressure *= 1 / .2875
	}
	got = Advise(grown, 1)
	near(t, "P_op", math.Round(100*got.Uses[1].Pressure)/100, .53)
	if diff := cmp.Diff([]Change{{1, .5333333333, 960}}, got.Lower, cmpopts.EquateApprox(1e-9, 1e-12)); diff != "" {
		t.Errorf("what may be lowered (-want +got):\n%s", diff)
	}
}

func TestAdviseGroups(t *testing.T) {
	iv := func(lo, hi float64) *stats.Interval { return &stats.Interval{Lo: lo, Hi: hi} }
	uses := []Use{{Limit: "a", Pressure: .77}, {Limit: "b", Pressure: .8, Mean: iv(.75, .85)}, {Limit: "c",
		Pressure: .4, Peak: .7},
		{Limit: "d", Pressure: 0}}
	got := Advise(uses, 1)
	if diff := cmp.Diff([]Step{
		{Growth: Range{1.25, 1 / .85, 1 / .75}, Next: []int{0, 1}},
		{Raise: []Change{{0, 2, 0}, {1, 1.925, 0}}, Growth: Range{2.5, 2.5, 2.5}, Next: []int{2}},
	}, got.Steps, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Change{{0, .85, 0}, {1, .77, 0}, {2, .7, 0}, {3, 0, 0}}, got.Lower,
		cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("lower by the peak and the interval (-want +got):\n%s", diff)
	}
	near := Use{Pressure: .88, Mean: iv(.85, .91), Peak: .95}
	if got.Clipped || !Advise([]Use{near}, 1).Clipped {
		t.Error("a demand is clipped if the interval reaches .9")
	}
	if Advise([]Use{{Pressure: .25, Mean: iv(0, 1.15), Peak: .36}}, 1).Clipped {
		t.Error("a demand is not clipped if only the interval of few periods reaches .9")
	}
	if got := Advise(nil, 1); len(got.Steps)+len(got.Lower) > 0 || got.Clipped {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestAdviceIsTrue draws what requests need and what limits allow. The throughput of a saturated service is the least
// L/a, and the advice must foresee it.
func TestAdviceIsTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	for range 300 {
		n := 1 + rng.IntN(6)
		needs, x := make([]float64, n), 1+rng.Float64()*1000
		uses := make([]Use, n)
		for i := range uses {
			needs[i] = rng.ExpFloat64() + .01
			uses[i] = Use{Limit: fmt.Sprint(i), Rate: needs[i] * x / (.05 + .95*rng.Float64())}
			uses[i].Pressure = needs[i] * x / uses[i].Rate
		}
		most := func(a Advice, raise []Change) float64 {
			out := math.Inf(1)
			for i, u := range a.Uses {
				rate := u.Rate
				for _, c := range raise {
					if c.Use == i {
						rate = c.Rate
					}
				}
				out = min(out, u.growth().Value*rate/u.Rate)
			}
			return out
		}
		a := Advise(uses, 1)
		for _, s := range a.Steps {
			near(t, "growth", most(a, s.Raise), s.Growth.Value)
			more := make([]Change, len(s.Raise))
			for i, c := range s.Raise {
				more[i] = Change{c.Use, 2 * c.Factor, 2 * c.Rate}
			}
			near(t, "growth with more", most(a, more), s.Growth.Value)
		}
		g := 1 + 4*rng.Float64()
		if got := most(a, a.Raises(g, .9)); got < g/.9*(1-1e-9) {
			t.Errorf("raises for %g allow %g", g/.9, got)
		}
	}
}

func TestNewUse(t *testing.T) {
	s := seriesOf(10, .1, .1, .5, .5, .5, .7, .1, .1)
	u, err := NewUse(300, s, 20, 60)
	near(t, "pressure", u.Pressure, .55)
	near(t, "peak", u.Peak, .7)
	if err != nil || u.Mean == nil || !u.Mean.Contains(.55) || u.Rate != 300 {
		t.Errorf("%v, %+v", err, u)
	}
	u, err = NewUse(300, seriesOf(60, .4), 20, 30)
	near(t, "pressure of a longer period", u.Pressure, .4)
	if err != nil || u.Mean != nil {
		t.Errorf("%v, %+v", err, u)
	}
	if _, err := NewUse(300, nil, 0, 1); err == nil {
		t.Error("no error of an empty series")
	}
}
