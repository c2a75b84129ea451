package load_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
)

// arrivals are all times of a share of an open loop.
func arrivals(p load.Plan, share load.Share) []time.Duration {
	var all []time.Duration
	s := load.NewSchedule(p, share)
	for due, ok := s.Next(); ok; due, ok = s.Next() {
		all = append(all, due)
	}
	return all
}

func constant(stages ...load.Stage) load.Plan {
	return load.Plan{Arrivals: load.Constant, Stages: stages}
}

func poisson(seed uint64, stages ...load.Stage) load.Plan {
	return load.Plan{Arrivals: load.Poisson, Stages: stages, Seed: seed}
}

func TestConstantIsExact(t *testing.T) {
	for _, c := range []struct {
		rate     float64
		duration time.Duration
		want     int
	}{
		{1, time.Second, 1},
		{3, time.Second, 3},
		{70, 1100 * time.Millisecond, 77}, // their product is a little more in float64
		{0.07, 100 * time.Second, 7},
		{0.1, 10 * time.Second, 1},
		{0.1, 11 * time.Second, 2},
		{9_973, 3 * time.Second, 29_919},
		{100_000, 700 * time.Millisecond, 70_000},
		{0, time.Hour, 0},
	} {
		got := arrivals(constant(load.Hold(c.rate, c.duration)), load.All)
		if len(got) != c.want {
			t.Errorf("%v/s for %v: %d operations, want %d", c.rate, c.duration, len(got), c.want)
		}
		for k, due := range got {
			if want := time.Duration(math.Round(float64(k) / c.rate * 1e9)); due != want {
				t.Fatalf("%v/s: operation %d is due at %v, want %v", c.rate, k, due, want)
			}
		}
	}
}

func TestPause(t *testing.T) {
	got := arrivals(constant(load.Hold(2, time.Second), load.Hold(0, 3*time.Second), load.Hold(4, time.Second)), load.All)
	want := []time.Duration{0, 500 * time.Millisecond,
		4000 * time.Millisecond, 4250 * time.Millisecond, 4500 * time.Millisecond, 4750 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

// TestSharesAreDealt: evenly spaced arrivals of all shares are those of the
// whole, each is in one share, and they take turns; whatever the plan.
func TestSharesAreDealt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := constant(randomStages(rng)...)
		whole, n := arrivals(p, load.All), 1+rng.IntN(7)
		for i := range n {
			var turn []time.Duration
			for k := i; k < len(whole); k += n {
				turn = append(turn, whole[k])
			}
			if got := arrivals(p, load.Share{Index: i, Of: n}); !slices.Equal(got, turn) {
				t.Fatalf("%+v: share %d of %d has %d operations, want every %dth of the whole", p.Stages, i, n, len(got), n)
			}
		}
	}
}

func randomStages(rng *rand.Rand) []load.Stage {
	stages := make([]load.Stage, 1+rng.IntN(5))
	for i := range stages {
		stages[i] = load.Hold(max(0, rng.Float64()*1000-100), time.Duration(1+rng.Int64N(int64(time.Second))))
	}
	return stages
}

// TestArrivalsAreInOrder: times do not go back and lie in the plan, and there
// are as many as its rates say.
func TestArrivalsAreInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for seed := range uint64(100) {
		stages, expected := randomStages(rng), 0.0
		for _, s := range stages {
			expected += s.Rate * s.Duration.Seconds()
		}
		for _, p := range []load.Plan{constant(stages...), poisson(seed, stages...)} {
			got := arrivals(p, load.All)
			if !slices.IsSorted(got) || (len(got) > 0 && (got[0] < 0 || got[len(got)-1] >= p.Duration())) {
				t.Errorf("%+v: arrivals are not in order, or not in the plan", p)
			}
			allowed := 1.0
			if p.Arrivals == load.Poisson {
				allowed += 5 * math.Sqrt(expected)
			}
			if math.Abs(float64(len(got))-expected) > allowed {
				t.Errorf("%+v: %d arrivals, want %.1f", p, len(got), expected)
			}
		}
	}
}

// seconds is the length of the Poisson processes in the tests of counts.
const seconds = 4000

// perSecond counts the arrivals of each second.
func perSecond(times []time.Duration) []float64 {
	counts := make([]float64, seconds)
	for _, due := range times {
		counts[due/time.Second]++
	}
	return counts
}

func meanAndVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}

// TestPoissonCounts: in a Poisson process both the mean and the variance of the
// count are the rate; of each share, and of the sum of shares. The bounds are
// four standard errors; that of the variance follows from the fourth moment,
// λ + 3λ².
func TestPoissonCounts(t *testing.T) {
	const rate = 12.0
	p := poisson(42, load.Hold(rate, seconds*time.Second))
	check := func(name string, counts []float64, rate float64) {
		mean, variance := meanAndVariance(counts)
		if bound := 4 * math.Sqrt(rate/seconds); math.Abs(mean-rate) > bound {
			t.Errorf("%s: mean %v, want %v ± %v", name, mean, rate, bound)
		}
		if bound := 4 * math.Sqrt((rate+2*rate*rate)/seconds); math.Abs(variance-rate) > bound {
			t.Errorf("%s: variance %v, want %v ± %v", name, variance, rate, bound)
		}
	}
	check("whole", perSecond(arrivals(p, load.All)), rate)
	sum := make([]float64, seconds)
	for i := range 3 {
		part := perSecond(arrivals(p, load.Share{Index: i, Of: 3}))
		check("share", part, rate/3)
		for s := range sum {
			sum[s] += part[s]
		}
	}
	check("sum of shares", sum, rate)
}

// TestSharesAreIndependent: the correlation of two shares' counts is 0, within
// four standard errors.
func TestSharesAreIndependent(t *testing.T) {
	p := poisson(7, load.Hold(20, seconds*time.Second))
	a := perSecond(arrivals(p, load.Share{Index: 0, Of: 2}))
	b := perSecond(arrivals(p, load.Share{Index: 1, Of: 2}))
	meanA, varA := meanAndVariance(a)
	meanB, varB := meanAndVariance(b)
	r := 0.0
	for i := range a {
		r += (a[i] - meanA) * (b[i] - meanB) / float64(seconds-1) / math.Sqrt(varA*varB)
	}
	if math.Abs(r) > 4/math.Sqrt(seconds) {
		t.Errorf("correlation of two shares = %v, want 0", r)
	}
}

// operational maps a time to the number of arrivals expected until then.
func operational(stages []load.Stage, at time.Duration) float64 {
	sum := 0.0
	for _, s := range stages {
		x := min(at, s.Duration).Seconds()
		sum += s.Rate * x
		if at -= s.Duration; at <= 0 {
			break
		}
	}
	return sum
}

// TestPoissonGaps: after the change of time the gaps of a Poisson process are
// exponential with mean 1, whatever its rate does (Kolmogorov–Smirnov, at a
// level of .001).
func TestPoissonGaps(t *testing.T) {
	for name, stages := range map[string][]load.Stage{
		"constant": {load.Hold(1000, 20*time.Second)},
		"steps":    {load.Hold(100, 10*time.Second), load.Hold(0, 5*time.Second), load.Hold(1500, 10*time.Second)},
	} {
		times := arrivals(poisson(11, stages...), load.All)
		gaps, before := make([]float64, len(times)), 0.0
		for i, due := range times {
			now := operational(stages, due)
			gaps[i], before = now-before, now
		}
		if d, critical := ksExponential(gaps), 1.95/math.Sqrt(float64(len(gaps))); d > critical {
			t.Errorf("%s: the gaps are off the exponential distribution by %v, want at most %v", name, d, critical)
		}
	}
}

// ksExponential is the largest distance between the distribution of x and the
// exponential one with mean 1.
func ksExponential(x []float64) float64 {
	slices.Sort(x)
	n, d := float64(len(x)), 0.0
	for i, v := range x {
		f := 1 - math.Exp(-v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// TestKSSeesTheDifference: the test above would notice evenly spaced arrivals,
// and a rate that is wrong by a twentieth.
func TestKSSeesTheDifference(t *testing.T) {
	even, off := make([]float64, 20_000), make([]float64, 20_000)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range even {
		even[i], off[i] = 1, 1.05*rng.ExpFloat64()
	}
	for name, x := range map[string][]float64{"even": even, "off": off} {
		if d, critical := ksExponential(x), 1.95/math.Sqrt(float64(len(x))); d <= critical {
			t.Errorf("%s: distance %v is taken for exponential", name, d)
		}
	}
}

// TestSplit: generators with different numbers of loops make up the whole, and
// no two loops draw the same random times.
func TestSplit(t *testing.T) {
	p := constant(load.Hold(1000, time.Second))
	var all []time.Duration
	shares := make(map[load.Share]bool)
	for generator, loops := range []int{2, 4, 1} {
		for loop := range loops {
			share := load.Share{Index: generator, Of: 3}.Split(loop, loops)
			all = append(all, arrivals(p, share)...)
			shares[load.Share{Index: share.Index}] = true
		}
	}
	slices.Sort(all)
	if want := arrivals(p, load.All); !slices.Equal(all, want) {
		t.Errorf("3 generators have %d arrivals, want the whole's %d", len(all), len(want))
	}
	if len(shares) != 7 {
		t.Errorf("7 loops have %d different indices, by which they draw", len(shares))
	}
}

func BenchmarkSchedule(b *testing.B) {
	for name, p := range map[string]load.Plan{
		"constant": constant(load.Hold(1e9, time.Hour)),
		"poisson":  poisson(1, load.Hold(1e9, time.Hour)),
	} {
		b.Run(name, func(b *testing.B) {
			s := load.NewSchedule(p, load.All)
			b.ReportAllocs()
			for b.Loop() {
				s.Next()
			}
		})
	}
}
