package evaluation

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// lateRun measures nodes behind a limit so hard that they all have the same
// rate to a part in a million, in both phases alike: the truth is 0 %. The
// parallel phase reads its counters late at the end by a share of the time, as
// a busy machine does, the same on all nodes: a bias of late. Every reading has
// jitter of its own.
func lateRun(rng *rand.Rand, nodes, trials int, late, jitter float64) model.RunData {
	b := newBuilder(nodes)
	measure := func(i int, bias float64) model.Result {
		rate := 1e6 * (1 + 1e-6*rng.NormFloat64())
		r := result(b, i, constant(0, rate), .1, 0)
		s := &r.Series[0]
		for k := range s.Values {
			s.Values[k] += rate * jitter * rng.NormFloat64()
			s.Values[k] *= 1 - bias
			if k > 0 {
				s.Values[k] = max(s.Values[k], s.Values[k-1])
			} else {
				s.Values[k] = 0
			}
		}
		r.Samples[0].Value = s.Values[len(s.Values)-1] / 10
		return r
	}
	for trial := 1; trial <= trials; trial++ {
		for i := range nodes {
			b.Step(model.Serial, trial, measure(i, 0))
		}
		rs := make([]model.Result, nodes)
		for i := range rs {
			rs[i] = measure(i, late)
		}
		b.Step(model.Parallel, trial, rs...)
	}
	return b.Data
}

// TestResolutionFloor: what lies below the resolution of the counters is not
// called a degradation, and what lies above it still is.
func TestResolutionFloor(t *testing.T) {
	for _, c := range []struct {
		name   string
		late   float64
		jitter float64 // s
		want   Verdict
	}{
		{"bias of 0.03 %, readings good to 5 ms", 3e-4, 5e-3, None},
		{"bias of 1 %, readings good to 5 ms", 1e-2, 5e-3, Degraded},
		{"bias of 0.03 %, readings good to 0.01 ms", 3e-4, 1e-5, None}, // what tasks' ends alone can make
		{"bias of 1 %, readings good to 0.01 ms", 1e-2, 1e-5, Degraded},
	} {
		right := 0
		const runs = 50
		for seed := range uint64(runs) {
			f := one(t, lateRun(rand.New(rand.NewPCG(seed, 3)), 20, 3, c.late, c.jitter), quick)
			if f.Verdict == c.want {
				right++
			}
		}
		if right < runs*9/10 {
			t.Errorf("%s: %s in %d of %d runs, want at least 45", c.name, c.want, right, runs)
		}
	}
}

// TestReadingNoise: the noise of readings is found from the counter alone, and
// true changes of the rate are not taken for it.
func TestReadingNoise(t *testing.T) {
	series := func(reading, rate float64, rng *rand.Rand) *curve {
		c := &curve{unit: "op"}
		work := 1000.
		for i := range 2000 {
			work += 100 * (1 + rate*rng.NormFloat64())
			c.times = append(c.times, epoch.Add(time.Duration(i)*time.Second))
			c.values = append(c.values, work+reading*rng.NormFloat64())
		}
		return c
	}
	for _, c := range []struct{ reading, rate, want float64 }{{5, 0, 25}, {5, .02, 25}, {0, 0, 0}, {0, .1, 0}} {
		got := series(c.reading, c.rate, rand.New(rand.NewPCG(9, 9))).readingNoise(0, 1999)
		// γ₁ of 2000 increments is known to about σ²/√2000.
		tolerance := 4 * (2*c.reading*c.reading + 1e4*c.rate*c.rate) / math.Sqrt(2000)
		if math.Abs(got-c.want) > tolerance+1e-9 {
			t.Errorf("reading noise %v, rate noise %v: variance %v, want %v ± %v", c.reading, c.rate, got, c.want, tolerance)
		}
	}
}

// TestGrain: the size of what is counted, from whole numbers; reported values
// are known to their last digit.
func TestGrain(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{0, 6, 15, 27}, 3},
		{[]float64{5, 12, 19, 26}, 7},
		{[]float64{0, 0, 100, 100, 300}, 100},
		{[]float64{0, 1.5, 3}, 0},
		{[]float64{0, 1 << 53, 1 << 54}, 0},
	} {
		got := (&curve{values: c.values}).grain(0, len(c.values)-1)
		if got != c.want {
			t.Errorf("grain of %v = %v, want %v", c.values, got, c.want)
		}
	}
	for _, c := range []struct {
		v    float64
		want int
	}{{100, 0}, {99.25, 2}, {.001, 3}, {1e9, 0}} {
		if got := decimals(c.v); got != c.want {
			t.Errorf("decimals(%v) = %d, want %d", c.v, got, c.want)
		}
	}
}

// TestUncertainty: each part by hand.
func TestUncertainty(t *testing.T) {
	for _, c := range []struct {
		name        string
		f           precision
		grain, last float64
		want        float64
	}{
		{"noise of readings", precision{noise: 1e-6, work: 1}, 0, 1, math.Sqrt(2e-6)},
		{"noise negative by chance", precision{noise: -1, work: 1}, 0, 1, 0},
		{"one grain of a hundred", precision{work: 100}, 1, 1, .01 / math.Sqrt(6)},
		{"clock", precision{work: 1, clock: 3e-4}, 0, 1, 3e-4 * math.Sqrt(2./3)},
		{"last digit", precision{value: 50}, 0, .1, .002 / math.Sqrt(12)},
		{"nothing", precision{}, 0, 1, 0},
	} {
		got := uncertainty([]precision{c.f, c.f}, c.grain, c.last)
		wantValue(t, c.name, &got, c.want, 1e-12)
	}
	half := resolution{serial: .003, parallel: .004}
	iv, points := half.floor(Interval{19.9, 25}, 20)
	wantValue(t, "half width", &points, 1.959964*80*.005, 1e-9)
	if want := (Interval{20 - points, 25}); iv != want {
		t.Errorf("floor = %v, want %v", iv, want)
	}
}
