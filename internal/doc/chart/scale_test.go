package chart

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// near compares numbers up to rounding.
var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(b), 1e-3) })

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   []float64
	}{
		{0, 1054, 5, []float64{0, 200, 400, 600, 800, 1000, 1200}},
		{0, 1, 5, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{-30, 100, 6, []float64{-40, -20, 0, 20, 40, 60, 80, 100}},
		{0, 0, 4, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{math.NaN(), 1, 4, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
	} {
		s := newScale(Axis{}, []float64{c.lo, c.hi}, c.n, false)
		if diff := cmp.Diff(c.want, linearTicks(s.lo, s.hi, s.step), near); diff != "" {
			t.Errorf("ticks of %v to %v differ (-want +got):\n%s", c.lo, c.hi, diff)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []float64
	}{
		{1, 10, []float64{1, 2, 5, 10}},
		{0.0013, 0.14, []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2}},
		{0.0004, 9.7, []float64{0.001, 0.01, 0.1, 1, 10}},
		{3, 3, []float64{2, 3, 4, 5}}, // shorter than a power of ten
		{5, 5, []float64{5, 6, 7, 8, 9, 10}},
		{0, math.NaN(), []float64{1, 2, 5, 10}},
		{-1, math.Inf(1), []float64{1, 2, 5, 10}},
	} {
		s := newScale(Axis{Kind: Log}, []float64{c.lo, c.hi}, 0, false)
		if diff := cmp.Diff(c.want, logTicks(s.lo, s.hi), near); diff != "" {
			t.Errorf("ticks of %v to %v differ (-want +got):\n%s", c.lo, c.hi, diff)
		}
	}
}

// All values fit on their axis, the axis is not longer than needed, and the
// labels of its ticks do not overlap.
func TestScalesCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		lo := math.Pow(10, rng.Float64()*20-10)
		hi := lo * math.Pow(10, rng.Float64()*30)
		log := newScale(Axis{Kind: Log, Unit: []string{"", "s", "op/s"}[rng.IntN(3)]}, []float64{lo, hi}, 0, false)
		if !onAxis(log.share(lo)) || !onAxis(log.share(hi)) || log.lo*log.Factor < lo/2.5*(1-1e-9) || log.hi*log.Factor > hi*2.5*(1+1e-9) {
			t.Errorf("a logarithmic axis of %v to %v reaches from %v to %v", lo, hi, log.lo, log.hi)
		}
		if n := len(log.ticks()); n < 2 || n > 10 {
			t.Errorf("a logarithmic axis of %v to %v has %d ticks, want 2 to 10", lo, hi, n)
		}
		linear := newScale(Axis{Unit: "op/s"}, []float64{hi}, 2+rng.IntN(8), false)
		if s := linear.share(hi); s > 1+1e-9 || s < 0.4 {
			t.Errorf("axis to %v: share of the top %v, want 0.4 to 1", hi, s)
		}
		if n := len(linear.ticks()); n < 2 || n > 16 {
			t.Errorf("axis to %v has %d ticks", hi, n)
		}
	}
}

// What is not positive has no place on a logarithmic axis.
func TestLogOfNothing(t *testing.T) {
	s := newScale(Axis{Kind: Log}, []float64{1, 100}, 0, false)
	for _, v := range []float64{0, -1, math.NaN()} {
		if finite(s.share(v)) {
			t.Errorf("%v stands at %v, want nowhere", v, s.share(v))
		}
	}
	if got := s.share(10); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("share(10) on 1 to 100 = %v, want 0.5", got)
	}
}

func TestThin(t *testing.T) {
	for _, c := range []struct{ n, most, want int }{
		{1, 10, 1}, {10, 10, 1}, {11, 10, 2}, {20, 10, 2}, {21, 10, 5}, {200, 10, 20}, {201, 10, 50}, {5, 0, 5},
	} {
		if got := thin(c.n, c.most); got != c.want {
			t.Errorf("thin(%d, %d) = %d, want %d", c.n, c.most, got, c.want)
		}
	}
}
