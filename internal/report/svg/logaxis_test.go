package svg

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogAxis(t *testing.T) {
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) })
	for _, c := range []struct {
		lo, hi float64
		want   []float64
	}{
		{1, 10, []float64{1, 2, 5, 10}},
		{0.0013, 0.14, []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2}},
		{0.0004, 9.7, []float64{0.001, 0.01, 0.1, 1, 10}},
		{3, 3, []float64{2, 3, 4, 5}}, // shorter than a power of ten
		{5, 5, []float64{5, 6, 7, 8, 9, 10}},
		{0, 1, []float64{1, 2, 5, 10}},
		{-1, 1, []float64{1, 2, 5, 10}},
		{math.NaN(), 1, []float64{1, 2, 5, 10}},
		{1, math.Inf(1), []float64{1, 2, 5, 10}},
	} {
		if diff := cmp.Diff(c.want, NewLogAxis(c.lo, c.hi).Ticks(), near); diff != "" {
			t.Errorf("NewLogAxis(%v, %v).Ticks() differs (-want +got):\n%s", c.lo, c.hi, diff)
		}
	}
}

// Whatever is measured fits on its axis, the axis is no longer than it has to
// be, and its ticks can be written beside each other.
func TestLogAxisCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		lo := math.Pow(10, rng.Float64()*20-10)
		hi := lo * math.Pow(10, rng.Float64()*30)
		a := NewLogAxis(lo, hi)
		if s := a.Share(lo); s < -1e-9 {
			t.Errorf("NewLogAxis(%v, %v): share of lo %v, want 0 or more", lo, hi, s)
		}
		if s := a.Share(hi); s > 1+1e-9 {
			t.Errorf("NewLogAxis(%v, %v): share of hi %v, want at most 1", lo, hi, s)
		}
		if a.Lo < lo/2.5-1e-9*lo || a.Hi > hi*2.5*(1+1e-9) {
			t.Errorf("NewLogAxis(%v, %v) = %v, much longer than that", lo, hi, a)
		}
		if n := len(a.Ticks()); n < 2 || n > 10 {
			t.Errorf("NewLogAxis(%v, %v) has %d ticks, want 2 to 10", lo, hi, n)
		}
	}
}

// What is not positive has no place, and so is not drawn.
func TestLogAxisOfNothing(t *testing.T) {
	a := NewLogAxis(1, 100)
	for _, v := range []float64{0, -1, math.NaN()} {
		if a.Pct(v).finite() || a.Y(v, 0, 100).finite() {
			t.Errorf("%v stands at %v, want nowhere", v, a.Pct(v))
		}
	}
	if got := a.Share(10); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("Share(10) on 1 to 100 = %v, want 0.5", got)
	}
}
