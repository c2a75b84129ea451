package bottleneck

import (
	"math"
	"math/rand/v2"
	"testing"
)

// quotaTrial simulates one processor with a quota of so many cores in periods of 100 ms,
// by the millisecond, in windows that begin anywhere: Poisson arrivals of exponential
// work. Something else of its group takes it for so long every 2 s.
func quotaTrial(rng *rand.Rand, quota, rate, demand, taken float64, seconds int) Trial {
	const tick = .001
	t := Trial{Users: 10, Trial: 1, Throughput: rate, Response: .1, Think: .1, Window: .1}
	of := map[string][]float64{}
	offset := rng.IntN(100)
	var waiting, used, held, budget float64
	for i := range seconds*1000 + offset {
		if i%100 == 0 { // the period before is over
			if waiting > 1e-9 && budget <= 1e-9 {
				held++
			}
			budget = quota * Period
		}
		for at := rng.ExpFloat64(); at < rate*tick; at += rng.ExpFloat64() {
			waiting += demand * rng.ExpFloat64()
		}
		if taken > 0 && i%2000 == 0 {
			waiting += taken * quota
		}
		did := min(waiting, budget, 2*tick)
		waiting, used, budget = waiting-did, used+did, budget-did
		if i >= offset && (i-offset)%100 == 99 {
			for name, v := range map[string]float64{SignalCPU: used / Period, SignalQuota: quota, SignalHeld: held / Period, SignalPeriods: 1 / Period} {
				of[name] = append(of[name], v)
			}
			used, held = 0, 0
		}
		if i == offset {
			used, held = 0, 0
		}
	}
	t.Fine = []Service{{Tier: "db", Node: "db-1", Signals: of}}
	return t
}

// TestShortQuota: a quota in periods holds requests back by chance, too; what is held back
// more than that is told, and what is not more is not.
func TestShortQuota(t *testing.T) {
	const systems = 40
	wrong, found, off := 0, 0, 0.0
	for seed := range uint64(systems) {
		rng := rand.New(rand.NewPCG(seed, 0x90a))
		quota, use, demand := .2+1.3*rng.Float64(), .5+.3*rng.Float64(), .001+.004*rng.Float64()
		for _, taken := range []float64{0, .1 + .1*rng.Float64()} {
			s := System{Tiers: []string{"db"}, Trials: []Trial{quotaTrial(rng, quota, (use-taken/2)*quota/demand, demand, taken, 60)}, Thresholds: Defaults()}
			loads := []Load{s.sumUp(10)}
			told := s.short(loads, nil)
			if taken == 0 && len(told) > 0 {
				wrong++
			}
			if taken > 0 && len(told) == 1 {
				found++
			}
			if f := s.fineOf(loads[0], nil)[0]; taken == 0 {
				f.test()
				off += (f.ByChance - f.Share) / systems
			}
		}
	}
	t.Logf("%d of %d wrong, %d found; chance is %.3f above what was measured", wrong, systems, found, off)
	if wrong > systems/20 || found < systems*3/4 || off < -.01 || off > .08 {
		t.Errorf("%d of %d wrong, %d found; chance is %.3f above what was measured", wrong, systems, found, off)
	}
}

// TestWork: the amounts have mean m and variance 2m, few and many.
func TestWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, mean := range []float64{.1, 3, 7.9, 8.1, 50, 1000} {
		const n = 40_000
		sum, squares := 0.0, 0.0
		for range n {
			v := work(rng, mean) - mean
			sum, squares = sum+v, squares+v*v
		}
		if got := sum / n; math.Abs(got) > 5*math.Sqrt(2*mean/n) {
			t.Errorf("work(%v) is on average %v off", mean, got)
		}
		if got := squares / n / (2 * mean); math.Abs(got-1) > .15 {
			t.Errorf("work(%v) has a variance of %v times 2·mean", mean, got)
		}
	}
}

// TestFullWindows: what counts as full, and for how long.
func TestFullWindows(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		kind    Kind
		signals map[string][]float64
		share   float64
		longest float64
	}{
		"used": {CPU, map[string][]float64{SignalCPU: {.1, .96, 1, .2, nan, 1}, SignalQuota: {1, 1, 1, 1, 1, 1}}, .6, .2},
		"held back": {CPU, map[string][]float64{SignalCPU: {.2, .2, .1, .4, .2, .1}, SignalQuota: {.2, .2, .2, .2, .2, .2},
			SignalHeld: {0, 10, 0, 9, 10, 0}, SignalPeriods: {10, 10, 10, 10, 10, 0}}, .5, .2},
		"a pool for which requests wait": {Pool, map[string][]float64{SignalPool: {4, 4, 4, 1, 4, 4}, SignalPoolMax: {4, 4, 4, 4, 4, 4}, SignalPoolWaiting: {0, 2, 1, 0, 0, 0}}, 1. / 3, .2},
		"a link":                         {LinkOut, map[string][]float64{SignalSent: {90, 91, 200, 0, 0, 89}, SignalLink: {100, 100, 100, 100, 100, 100}}, .5, .3},
	} {
		s := System{Tiers: []string{"db"}, Thresholds: Defaults(), Trials: []Trial{{Users: 1, Throughput: 1, Window: .1, Fine: []Service{{Tier: "db", Node: "n", Signals: c.signals}}}}}
		all := s.fineOf(s.sumUp(1), nil)
		var f *fine
		for _, x := range all {
			if x.Kind == c.kind {
				f = x
			}
		}
		if f == nil || math.Abs(f.Share-c.share) > 1e-9 || math.Abs(f.Longest-c.longest) > 1e-9 {
			t.Errorf("%s: %+v, want %v for %v s", name, f, c.share, c.longest)
		}
	}
}

// BenchmarkShort is the test of one resource in three trials of 12 minutes.
func BenchmarkShort(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := System{Tiers: []string{"db"}, Thresholds: Defaults()}
	for trial := range 3 {
		t := quotaTrial(rng, .5, 70, .005, .1, 720)
		t.Trial = trial
		s.Trials = append(s.Trials, t)
	}
	l := s.sumUp(10)
	for b.Loop() {
		s.short([]Load{l}, nil)
	}
}
