package pressure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/stats"
)

// bucketOf is a limit with a bucket.
func bucketOf(base float64, b levels.Bucket) levels.Level {
	return levels.Level{Quality: levels.Ops, Ways: both, Rate: levels.Distribution{{Rate: base, Share: 1}}, Bucket: &b}
}

// gp2 is that of 100 GiB: a burst of 2,000 s, and 18,000 s to fill.
func gp2() levels.Level { return bucketOf(300, levels.Bucket{Size: 5.4e6, Burst: 3000, Fill: 300}) }

// steady is a load for so long, in periods of a minute.
func steady(load, seconds float64) Series {
	s := make(Series, int(seconds/60))
	for i := range s {
		s[i] = Period{Begin: float64(60 * i), End: float64(60 * (i + 1)), Mean: load}
	}
	return s
}

func TestFollow(t *testing.T) {
	empty := stats.Interval{}
	full := stats.Interval{Lo: 5.4e6, Hi: 5.4e6}
	any := stats.Interval{Hi: 5.4e6}
	reading := func(at, share float64) Series { return Series{{at - 60, at, share, 0, 0}} }
	tests := []struct {
		name      string
		start     float64
		loads     Series
		readings  Series
		balance   stats.Interval // at the end
		limit     stats.Interval // of the last period
		overdrawn int
	}{
		{"a full one bursts for 2,000 s", 1, steady(3000, 1980), nil, stats.Interval{Lo: 54000, Hi: 54000},
			stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"and is empty then", 1, append(steady(3000, 1980), Period{1980, 2000, 3000, 0, 0}, Period{2000,
			2060, 300, 0, 0}), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 0},
		{"an empty one is full after 18,000 s", 0, steady(0, 18000), nil, full, stats.Interval{Lo: 3000,
			Hi: 3000}, 0},
		{"not known, then certainly full", math.NaN(), steady(0, 18000), nil, full,
			stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"not known, then certainly empty", math.NaN(), append(steady(3000, 1980), Period{1980, 2000, 3000,
			0, 0}, Period{2000, 2060, 300, 0, 0}), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 0},
		{"not known at the base rate", math.NaN(), steady(300, 600), nil, any, stats.Interval{Lo: 300,
			Hi: 3000}, 0},
		{"read", math.NaN(), steady(300, 600), reading(600, .5), stats.Interval{Lo: 2.7e6 - 81000,
			Hi: 2.7e6 + 9000}, stats.Interval{Lo: 300, Hi: 3000}, 0},
		{"a reading that contradicts", 0, steady(300, 600), reading(600, .5),
			stats.Interval{Lo: 2.7e6 - 81000, Hi: 2.7e6 + 9000}, stats.Interval{Lo: 300, Hi: 300}, 0},
		{"a gap", .5, Series{{0, 60, 300, 0, 0}, {120, 180, 300, 0, 0}}, nil,
			stats.Interval{Lo: 2.7e6 - 162000, Hi: 2.7e6 + 18000}, stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"the order within a period", 1, Series{{0, 60, 300, 0, 0}}, nil, stats.Interval{Lo: 5.4e6 - 16200,
			Hi: 5.4e6}, stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"more than the bucket allows", 0, steady(330, 180), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 3},
		{"a little more by chance", 0, steady(303, 180), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Follow(gp2(), tt.start, nil, tt.loads, tt.readings)
			last := got.Periods[len(got.Periods)-1]
			near(t, "lowest balance", last.Balance.Lo, tt.balance.Lo)
			near(t, "highest balance", last.Balance.Hi, tt.balance.Hi)
			near(t, "lowest limit", last.Limit.Lo, tt.limit.Lo)
			near(t, "highest limit", last.Limit.Hi, tt.limit.Hi)
			if got.Overdrawn != tt.overdrawn {
				t.Errorf("overdrawn in %d periods, want %d", got.Overdrawn, tt.overdrawn)
			}
		})
	}
}

func TestRunsOut(t *testing.T) {
	got := Follow(gp2(), 1, nil, append(steady(0, 1200), Series{{3600, 7200, 600, 0, 0}}...), nil)
	if got.RunsOut == nil {
		t.Fatal("it does not run out")
	}
	near(t, "latest", got.RunsOut.Hi, 7200+(5.4e6-300*3600)/300)
	got = Follow(gp2(), 1, nil, Series{{0, 7200, 500, 0, 0}}, nil)
	near(t, "latest after a longer period", got.RunsOut.Hi, 7200+(5.4e6-200*7200)/200)
	if got := Follow(gp2(), 1, nil, steady(299, 600), nil); got.RunsOut != nil {
		t.Errorf("below the base rate it runs out at %v", *got.RunsOut)
	}
	if got := Follow(gp2(), 1, nil, nil, nil); got.RunsOut != nil || len(got.Periods) != 0 {
		t.Errorf("of no loads: %+v", got)
	}
	got = Follow(gp2(), math.NaN(), nil, steady(300, 60), nil)
	near(t, "least pressure of the moment", got.Least[0].Mean, .1)
	near(t, "its ceiling", got.Least[0].Ceiling, 1)
	near(t, "most", got.Most[0].Mean, 1)
	near(t, "its ceiling", got.Most[0].Ceiling, 10)
}

// TestFollowHoldsTheTruth draws a demand and a bucket, second by second.
// TestFollowOtherFill: an empty bucket that gains more than the base rate gives what it gains. One that gains less
// gives the base rate all the same.
func TestFollowOtherFill(t *testing.T) {
	for _, tt := range []struct {
		fill, load, limit float64
		overdrawn         int
	}{{200, 190, 200, 0}, {200, 220, 200, 3}, {50, 100, 100, 0}, {50, 110, 100, 3}} {
		b := levels.Bucket{Size: 3000, Burst: 400, Fill: tt.fill}
		got := Follow(bucketOf(100, b), 0, nil, steady(tt.load, 180), nil)
		near(t, "limit", got.Periods[0].Limit.Hi, tt.limit)
		if got.Overdrawn != tt.overdrawn {
			t.Errorf("a fill of %g, a load of %g: overdrawn in %d periods, want %d", tt.fill, tt.load, got.Overdrawn,
				tt.overdrawn)
		}
	}
}

func TestFollowHoldsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for k := range 300 {
		b := levels.Bucket{Size: 1000 + rng.Float64()*20000, Burst: 300, Fill: 100}
		start := rng.Float64()
		demand, balance, length := draw(rng, 3600), start*b.Size, 2+rng.IntN(120)
		var loads, readings Series
		var balances []float64
		var sum, sumBalance float64
		for i, d := range demand {
			o := min(d*100, b.Burst, b.Fill+balance)
			before := balance
			balance = min(b.Size, balance+b.Fill-o)
			sum, sumBalance = sum+o, sumBalance+(before+balance)/2
			if (i+1)%length > 0 {
				continue
			}
			p := Period{Begin: float64(i + 1 - length), End: float64(i + 1), Mean: sum / float64(length)}
			if rng.IntN(10) == 0 {
				r := p
				r.Mean = sumBalance / float64(length) / b.Size
				readings = append(readings, r)
			}
			if sum, sumBalance = 0, 0; len(loads) == 0 || rng.IntN(20) > 0 {
				loads, balances = append(loads, p), append(balances, balance)
			}
		}
		for _, tt := range []struct {
			start    float64
			readings Series
		}{{start, nil}, {math.NaN(), nil}, {start, readings}, {math.NaN(), readings}} {
			got := Follow(bucketOf(100, b), tt.start, nil, loads, tt.readings)
			if got.Overdrawn > 0 {
				t.Errorf("series %d: overdrawn in %d periods", k, got.Overdrawn)
			}
			for i, c := range got.Periods {
				if e := 1e-6 * b.Size; balances[i] < c.Balance.Lo-e || balances[i] > c.Balance.Hi+e {
					t.Fatalf("series %d, period %d of %d s: balance %g, bounds %v", k, i, length, balances[i],
						c.Balance)
				}
				if loads[i].Mean > c.Limit.Hi*(1+1e-9) {
					t.Fatalf("series %d, period %d: load %g, limit %v", k, i, loads[i].Mean, c.Limit)
				}
			}
		}
	}
}

// TestBucketBoundsHoldTheTruth looks at a demand on a bucket, second by second, through periods that may be longer than
// the bucket lasts. A second is critical by its own limit.
func TestBucketBoundsHoldTheTruth(t *testing.T) {
	const base = 100.
	rng := rand.New(rand.NewPCG(8, 10))
	for k := range 3000 {
		b := levels.Bucket{Size: 50 * math.Exp(rng.Float64()*6), Burst: base * []float64{1.5, 3, 10}[rng.IntN(3)],
			Fill: base * []float64{1, 1, .5}[rng.IntN(3)]}
		length := []int{10, 60, 300, 1 + rng.IntN(600)}[rng.IntN(4)]
		demand, by := draw(rng, 3600/length*length), base*[]float64{1, .5, 3}[rng.IntN(3)]
		o := Sampling{Above: []float64{.95, .9, .7, 1}[rng.IntN(4)], Inclusive: rng.IntN(2) == 0}
		start, idle := []float64{0, 1, rng.Float64()}[rng.IntN(3)], float64(rng.IntN(2))
		loads := make(Series, len(demand)/length)
		var above, run, longest float64
		balance := start * b.Size
		for i, d := range demand {
			limit := min(b.Burst, base+balance)
			x := min(d*by, limit)
			balance = max(0, min(b.Size, balance+b.Fill-x))
			if run++; !o.critical(x / limit) {
				run = 0
			} else {
				above++
			}
			longest = max(longest, run)
			p := &loads[i/length]
			p.Begin, p.End = float64(i/length*length), float64((i/length+1)*length)
			if p.Mean += x / float64(length); x == 0 {
				p.Idle += idle / float64(length)
			}
		}
		for _, begin := range []float64{start, math.NaN()} {
			c := Follow(bucketOf(base, b), begin, nil, loads, nil)
			got, most := c.Least.Critical(o), c.Most.Critical(o)
			hi, share := max(got.TCPT.Hi, most.TCPT.Hi), 100*above/float64(len(demand))
			if e := 1e-6; share < got.TCPT.Lo-e || share > hi+e || longest < got.MCPT.Lo-e ||
				longest > max(got.MCPT.Hi, most.MCPT.Hi)+e {
				t.Errorf("series %d, %d s, %+v, from %g: TCPT %.4f %%, MCPT %g s; bounds %+v to %.4f %% and %g s", k, length, b,
					begin, share, longest, got, hi, max(got.MCPT.Hi, most.MCPT.Hi))
			}
		}
	}
}

// TestSustainedIsNotClipped: 60 % of the burst is twice what the bucket gains. It runs out, and until then nothing is
// clipped.
func TestSustainedIsNotClipped(t *testing.T) {
	const file = `
model: own
limits:
- {of: ops, rate: 100, bucket: {size: 100000, burst: 400}}
- {of: bytes, rate: 100MiB}
`
	p := params(nil, Chosen{Name: "own", Text: file})
	for name, tt := range map[string]struct {
		credits string
		load    float64
		atLeast bool
	}{"credits are left": {"full", 240, false}, "at the base rate": {"empty", 100, true}} {
		p.Credits = tt.credits
		r := resultOf(t, p, recordedOf("db-1", "v", 1, reads(4096, slicesOf(tt.load, 60)...)))
		if len(r.Advice) == 0 || r.Advice[0].AtLeast != tt.atLeast {
			t.Errorf("%s: %+v, want at_least %t", name, r.Advice, tt.atLeast)
		}
	}
}

// TestGivenCreditsAreKnown: a long period hides when a bucket ran empty, whatever it had at the beginning.
func TestGivenCreditsAreKnown(t *testing.T) {
	const file = `
model: own
limits: [{of: ops, rate: 100, bucket: {size: 100000, burst: 400}}]
`
	for credits, words := range map[string]string{"": "credits at the beginning are not", "full": "a mean hides when"} {
		p := params(nil, Chosen{Name: "own", Text: file})
		p.Credits = credits
		says(t, resultOf(t, p, recordedOf("db-1", "v", 300, reads(4096, 200, 300, 250, 100, 100))), words)
	}
}
