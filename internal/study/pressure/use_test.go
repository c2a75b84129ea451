package pressure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/stats"
)

// TestBottlenecks is a golden case: 300 operations a second, of 64 KiB, and 60 MiB/s.
func TestBottlenecks(t *testing.T) {
	ops, bytes := Use{LimitOf: LimitOf{"db-1", "vol-2", "ops"}, Rate: 300, Pressure: .92}, Use{Rate: 60 << 20,
		Pressure: .92 * 300 * 64 / (60 * 1024)}
	if got := bottlenecks([]Use{ops, bytes}); len(got) != 1 || got[0] != ops || !ops.clipped() {
		t.Errorf("bottlenecks %+v, want operations, clipped", got)
	}
	near(t, "P_bw", bytes.Pressure, .2875)
	near(t, "growth as it is", ops.growth().Value, 1/.92)
	growth := bytes.growth().Value
	near(t, "growth", math.Round(100*growth)/100, 3.48)
	near(t, "useful operations", ops.needed(growth), 960)
	near(t, "growth with these", ops.reach(960).Value, growth)

	// At 1,800, with the throughput that bytes allow, 47 % of the operations are unused.
	ops = Use{Rate: 1800, Pressure: .92 * 300 / 1800 * growth}
	near(t, "P_op", math.Round(100*ops.Pressure)/100, .53)
	near(t, "operations that are enough", ops.sufficient(1)*ops.Rate, 960)

	iv := func(lo, hi float64) *stats.Interval { return &stats.Interval{Lo: lo, Hi: hi} }
	alike := []Use{{Pressure: .8, Mean: iv(.75, .85)}, {Pressure: .77}, {Pressure: .4}, {Pressure: 0}}
	if got := bottlenecks(alike); len(got) != 2 {
		t.Errorf("%d of alike pressures, want 2", len(got))
	}
	if got := len(bottlenecks(alike[3:])) + len(bottlenecks(nil)); got != 0 {
		t.Errorf("%d limits of which nothing is used are bottlenecks", got)
	}
	if diff := cmp.Diff(Range{1.25, 1 / .85, 1 / .75}, alike[0].growth(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("growth (-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct {
		use        Use
		sufficient float64
		clipped    bool
	}{
		"no interval":              {Use{Pressure: .8}, .8, false},
		"the interval":             {Use{Pressure: .8, Mean: iv(.75, .85)}, .85, false},
		"the peak":                 {Use{Pressure: .4, Peak: .7}, .7, false},
		"both reach .9":            {Use{Pressure: .88, Mean: iv(.85, .91), Peak: .95}, .95, true},
		"interval of few periods":  {Use{Pressure: .25, Mean: iv(0, 1.15), Peak: .36}, 1.15, false},
		"the pressure is above .9": {Use{Pressure: .92}, .92, true},
	} {
		near(t, name, tt.use.sufficient(1), tt.sufficient)
		near(t, name+", for half", tt.use.sufficient(.5), 2*tt.sufficient)
		if got := tt.use.clipped(); got != tt.clipped {
			t.Errorf("%s: clipped %v", name, got)
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
