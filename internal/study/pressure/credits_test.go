package pressure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

// gp2 is that of 100 GiB: a burst of 2,000 s, and 18,000 s to fill.
func gp2(start float64) Bucket {
	return Bucket{Size: 5.4e6, Burst: 3000, Base: 300, Fill: 300, Start: start}
}

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
	unknown := stats.Interval{Lo: math.NaN(), Hi: math.NaN()}
	reading := func(at, share float64) Series { return Series{{at - 60, at, share, 0, 0}} }
	tests := []struct {
		name      string
		bucket    Bucket
		loads     Series
		readings  Series
		balance   stats.Interval // at the end
		limit     stats.Interval // of the last period
		overdrawn int
	}{
		{"a full one bursts for 2,000 s", gp2(1), steady(3000, 1980), nil, stats.Interval{Lo: 54000, Hi: 54000},
			stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"and is empty then", gp2(1), append(steady(3000, 1980), Period{1980, 2000, 3000, 0, 0}, Period{2000,
			2060, 300, 0, 0}), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 0},
		{"an empty one is full after 18,000 s", gp2(0), steady(0, 18000), nil, full, stats.Interval{Lo: 3000,
			Hi: 3000}, 0},
		{"not known, then certainly full", gp2(math.NaN()), steady(0, 18000), nil, full,
			stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"not known, then certainly empty", gp2(math.NaN()), append(steady(3000, 1980), Period{1980, 2000, 3000,
			0, 0}, Period{2000, 2060, 300, 0, 0}), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 0},
		{"not known at the base rate", gp2(math.NaN()), steady(300, 600), nil, any, stats.Interval{Lo: 300,
			Hi: 3000}, 0},
		{"read", gp2(math.NaN()), steady(300, 600), reading(600, .5), stats.Interval{Lo: 2.7e6 - 81000,
			Hi: 2.7e6 + 9000}, stats.Interval{Lo: 300, Hi: 3000}, 0},
		{"a reading that contradicts", gp2(0), steady(300, 600), reading(600, .5),
			stats.Interval{Lo: 2.7e6 - 81000, Hi: 2.7e6 + 9000}, stats.Interval{Lo: 300, Hi: 300}, 0},
		{"a gap", gp2(.5), Series{{0, 60, 300, 0, 0}, {120, 180, 300, 0, 0}}, nil,
			stats.Interval{Lo: 2.7e6 - 162000, Hi: 2.7e6 + 18000}, stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"the order within a period", gp2(1), Series{{0, 60, 300, 0, 0}}, nil, stats.Interval{Lo: 5.4e6 - 16200,
			Hi: 5.4e6}, stats.Interval{Lo: 3000, Hi: 3000}, 0},
		{"more than the bucket allows", gp2(0), steady(330, 180), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 3},
		{"a little more by chance", gp2(0), steady(303, 180), nil, empty, stats.Interval{Lo: 300, Hi: 300}, 0},
		{"what fills it is not known", Bucket{Size: math.NaN(), Burst: 3000, Base: 300, Fill: math.NaN(),
			Start: 1}, steady(400, 180), nil, unknown, stats.Interval{Lo: 300, Hi: 3000}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Follow(tt.bucket, tt.loads, tt.readings)
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
	got := Follow(gp2(1), append(steady(0, 1200), Series{{3600, 7200, 600, 0, 0}}...), nil)
	near(t, "demand of the last hour", got.Demand, 600)
	if got.RunsOut == nil {
		t.Fatal("it does not run out")
	}
	near(t, "demand of a longer period", Follow(gp2(1), Series{{0, 7200, 500, 0, 0}}, nil).Demand, 500)
	near(t, "latest", got.RunsOut.Hi, 7200+(5.4e6-300*3600)/300)
	if got := Follow(gp2(1), steady(299, 600), nil); got.RunsOut != nil {
		t.Errorf("below the base rate it runs out at %v", *got.RunsOut)
	}
	if got := Follow(gp2(1), nil, nil); got.RunsOut != nil || len(got.Periods) != 0 {
		t.Errorf("of no loads: %+v", got)
	}
	least, most := Follow(gp2(math.NaN()), steady(300, 60), nil).Pressure(steady(300, 60))
	near(t, "least pressure of the moment", least[0].Mean, .1)
	near(t, "its ceiling", least[0].Ceiling, 1)
	near(t, "most", most[0].Mean, 1)
	near(t, "its ceiling", most[0].Ceiling, 10)
}

// TestFollowHoldsTheTruth draws a demand and a bucket, second by second.
func TestFollowHoldsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for k := range 300 {
		b := Bucket{Size: 1000 + rng.Float64()*20000, Burst: 300, Base: 100, Fill: 100, Start: rng.Float64()}
		demand, balance, length := draw(rng, 3600), b.Start*b.Size, 2+rng.IntN(120)
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
		}{{b.Start, nil}, {math.NaN(), nil}, {b.Start, readings}, {math.NaN(), readings}} {
			b.Start = tt.start
			got := Follow(b, loads, tt.readings)
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
