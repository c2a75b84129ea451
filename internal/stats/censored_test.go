package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDistribution: the remission times of 21 patients (E. A. Freireich et al., Blood 21,
// 1963), as textbooks and survfit of R have them.
func TestDistribution(t *testing.T) {
	values := []float64{6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35}
	bound := make([]bool, len(values))
	for _, i := range []int{3, 5, 7, 8, 11, 12, 13, 16, 17, 18, 19, 20} {
		bound[i] = true
	}
	d, err := NewDistribution(values, bound)
	if err != nil {
		t.Fatal(err)
	}
	want := map[float64]float64{6: .857, 7: .807, 10: .753, 13: .690, 16: .627, 22: .538, 23: .448}
	for i, x := range d.X {
		if math.Abs(1-d.Share[i]-want[x]) > .0006 {
			t.Errorf("share above %v = %.4f, want %v", x, 1-d.Share[i], want[x])
		}
	}
	ci, err := d.Interval(.5, .95, 1)
	if err != nil || len(d.X) != len(want) || d.Quantile(.5) != 23 || ci != (Interval{13, math.Inf(1)}) {
		t.Errorf("median %v %v (%v) of %d steps, want 23 [13, Inf] of %d", d.Quantile(.5), ci, err, len(d.X), len(want))
	}
	if v := d.Quantile(.6); !math.IsNaN(v) {
		t.Errorf("the quantile .6 is %v, want NaN: lower bounds leave it open", v)
	}
}

// TestDistributionOfBounds: where a third of lognormal values are lower bounds, the interval
// holds the median as often as it says, and the median of all rows is too low.
func TestDistributionOfBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 12))
	const rounds = 400
	holds, naive := 0, 0
	for range rounds {
		values, bound := make([]float64, 60), make([]bool, 60)
		for i := range values {
			v, most := math.Exp(.2*rng.NormFloat64()), math.Exp(.1+.2*rng.NormFloat64())
			values[i], bound[i] = min(v, most), v > most
		}
		d, err := NewDistribution(values, bound)
		if err != nil {
			t.Fatal(err)
		}
		ci, err := d.Interval(.5, .95, 1)
		if err != nil {
			t.Fatal(err)
		}
		if ci.Lo <= 1 && 1 <= ci.Hi {
			holds++
		}
		if Median(values) < 1 {
			naive++
		}
	}
	if holds < rounds*92/100 || naive < rounds*9/10 {
		t.Errorf("the interval holds the median in %d of %d; the median of all rows is below in %d", holds, rounds, naive)
	}
}
