package pressure

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestCritical(t *testing.T) {
	golden := []float64{.60, .90, .97, .50, .20} // docs/methods.md, Service levels
	at := func(s Series, change func(Series) Series) Series { return change(s) }
	tests := []struct {
		name       string
		series     Series
		o          Sampling
		tcpt, mcpt [3]float64 // sampled, and bounds
		tolerant   float64
	}{
		{"golden", seriesOf(60, golden...), Sampling{Above: .95, Ceiling: 1}, [3]float64{20, 8, 66.3158},
			[3]float64{60, 24. / 37, 148.4211}, 60},
		{"one minute of .60 hides 63 %", seriesOf(60, .6), Sampling{Above: .95, Ceiling: 1}, [3]float64{0, 0,
			63.1579},
			[3]float64{0, 0, 37.8947}, 0},
		{"always at the ceiling hides nothing", seriesOf(60, 1, 1), Sampling{Above: .95, Ceiling: 1},
			[3]float64{100, 100, 100}, [3]float64{120, 120, 120}, 120},
		{"no work hides nothing", seriesOf(60, 0, 0), Sampling{Above: .95, Ceiling: 1}, [3]float64{},
			[3]float64{}, 0},
		{"at the threshold, strictly", seriesOf(10, 1, 1), Sampling{Above: 1, Ceiling: 1}, [3]float64{},
			[3]float64{}, 0},
		{"at the threshold, inclusive", seriesOf(10, 1, 1), Sampling{Above: 1, Ceiling: 1, Inclusive: true},
			[3]float64{100, 100, 100}, [3]float64{20, 20, 20}, 20},
		{"at the threshold, strictly, but for rounding", seriesOf(10, 1+1e-15), Sampling{Above: 1, Ceiling: 1}, [3]float64{},
			[3]float64{}, 0},
		{"no ceiling", seriesOf(60, .97), Sampling{Above: .95, Ceiling: math.Inf(1)}, [3]float64{100, 0, 100},
			[3]float64{60, 0, 60}, 60},
		{"the largest value seen is the ceiling, and at least 1", seriesOf(60, .97, 1.2), Sampling{Above: .95},
			[3]float64{100, 54, 100}, [3]float64{120, 60, 120}, 120},
		{"a gap ends a run", at(seriesOf(10, 1, 1, 1, 1), func(s Series) Series { return append(s[:2], s[3]) }),
			Sampling{Above: .95, Ceiling: 1}, [3]float64{100, 100, 100}, [3]float64{20, 20, 20}, 20},
		{"less than half a period is no gap", at(seriesOf(10, 1, 1, 1),
			func(s Series) Series { s[1].Begin += 4; return s }),
			Sampling{Above: .95, Ceiling: 1}, [3]float64{100, 100, 100}, [3]float64{26, 26, 26}, 26},
		{"half idle", at(seriesOf(60, .49), func(s Series) Series { s[0].Idle = .5; return s }),
			Sampling{Above: .95, Ceiling: 1}, [3]float64{0, 30, 50}, [3]float64{0, 18. / 43, 30}, 0},
		{"an idle share that leaves no time for the work", at(seriesOf(60, 1),
			func(s Series) Series { s[0].Idle = .97; return s }),
			Sampling{Above: .95, Ceiling: 1}, [3]float64{100, 3, 100}, [3]float64{60, 1.8 / 59, 60}, 60},
		{"a ceiling of its own", at(seriesOf(60, .97), func(s Series) Series { s[0].Ceiling = 2; return s }),
			Sampling{Above: .95, Ceiling: 1}, [3]float64{100, 0, 100}, [3]float64{60, 0, 60}, 60},
		{"nearly always at a ceiling of its own", at(seriesOf(60, 1.95),
			func(s Series) Series { s[0].Ceiling = 2; return s }),
			Sampling{Above: .95, Ceiling: 1}, [3]float64{100, 50, 100}, [3]float64{60, 30. / 31, 60}, 60},
		{"single dips", seriesOf(1, 1, .5, 1, 1, .5, 1, .5, .5, 1), Sampling{Above: .95, Ceiling: 1},
			[3]float64{500. / 9, 500. / 9, 100 * (5 + 4*.5/.95) / 9}, [3]float64{2, 2, 2 + 2*.5/.95}, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.series.Critical(tt.o)
			for i, v := range []float64{got.TCPT.Percent, got.TCPT.Lo, got.TCPT.Hi} {
				if math.Abs(v-tt.tcpt[i]) > 1e-4 {
					t.Errorf("TCPT %d = %.6f %%, want %.6f", i, v, tt.tcpt[i])
				}
			}
			for i, v := range []float64{got.MCPT.Seconds, got.MCPT.Lo, got.MCPT.Hi} {
				if math.Abs(v-tt.mcpt[i]) > 1e-4 {
					t.Errorf("MCPT %d = %.6f s, want %.6f", i, v, tt.mcpt[i])
				}
			}
			near(t, "tolerant", got.MCPT.Tolerant, tt.tolerant)
			if got.MCPT.Seconds > 0 {
				near(t, "length of the marked run", tt.series.Between(got.Begin, got.End).Seconds(), got.MCPT.Seconds)
			}
		})
	}
}

// truth is a pressure of each second, seen through periods.
type truth struct {
	seconds []float64
	series  Series
	above   float64 // s in the periods of the series
	longest float64
}

// look cuts seconds into periods of about this length from an offset, leaves out some, and measures what is true in
// the others.
func look(rng *rand.Rand, seconds []float64, length, offset float64, o Sampling, idle bool) truth {
	out := truth{seconds: seconds}
	uneven, gaps := rng.IntN(3) == 0, rng.IntN(3) == 0
	run, ended := 0.0, math.Inf(-1)
	for begin := offset; ; {
		step := length
		if uneven {
			step *= .8 + .4*rng.Float64()
		}
		end := begin + step
		if end > float64(len(seconds)) {
			return out
		}
		if gaps && rng.IntN(4) == 0 {
			begin = end
			continue
		}
		p := Period{Begin: begin, End: end}
		if begin != ended {
			run = 0
		}
		for at := begin; at < end; {
			next := min(math.Floor(at)+1, end)
			v, d := seconds[int(at)], next-at
			p.Mean += v * d / step
			if idle && v == 0 {
				p.Idle += d / step
			}
			if run += d; !o.critical(v) {
				run = 0
			} else {
				out.above += d
			}
			out.longest = max(out.longest, run)
			at = next
		}
		out.series = append(out.series, p)
		begin, ended = end, end
	}
}

func TestBoundsHoldTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 27))
	for k := range 1000 {
		o := Sampling{Above: []float64{.95, .95, .7, 1, 1.1}[rng.IntN(5)], Inclusive: rng.IntN(2) == 0}
		seconds := draw(rng, 700+rng.IntN(1500))
		if o.Ceiling = math.Inf(1); rng.IntN(3) > 0 {
			o.Ceiling = 1
			for _, v := range seconds {
				o.Ceiling = max(o.Ceiling, v)
			}
		}
		length, offset := float64(2+rng.IntN(1+rng.IntN(599))), float64(rng.IntN(40))
		if rng.IntN(2) == 0 {
			length, offset = 2+rng.Float64()*60, rng.Float64()*40
		}
		tr := look(rng, seconds, length, offset, o, rng.IntN(2) == 0)
		if len(tr.series) == 0 {
			continue
		}
		got, observed := tr.series.Critical(o), tr.series.Seconds()
		const e = 1e-6
		if x := 100 * tr.above / observed; x < got.TCPT.Lo-e || x > got.TCPT.Hi+e {
			t.Errorf("series %d, %g s, c %g: TCPT is %.4f %%, bounds %.4f to %.4f", k, length, o.Above, x,
				got.TCPT.Lo, got.TCPT.Hi)
		}
		if tr.longest < got.MCPT.Lo-e || tr.longest > got.MCPT.Hi+e {
			t.Errorf("series %d, %g s, c %g: MCPT is %.4f s, bounds %.4f to %.4f", k, length, o.Above,
				tr.longest, got.MCPT.Lo, got.MCPT.Hi)
		}
		all := got.TCPT.Percent / 100 * observed
		if got.MCPT.Seconds > all+e || all > observed+e || got.MCPT.Tolerant < got.MCPT.Seconds-e {
			t.Errorf("series %d: MCPT %g, tolerant %g, TCPT %g s of %g s", k, got.MCPT.Seconds, got.MCPT.Tolerant,
				all, observed)
		}
	}
}

// TestBoundsAreAttained looks at all ways to place k₁ critical seconds in one period of six, and k₂ in the next.
func TestBoundsAreAttained(t *testing.T) {
	const n, c, peak = 6, .95, 2.
	type extremes struct{ least, most int }
	runs := map[[2]int]extremes{}
	for mask := range 1 << (2 * n) {
		var counts [2]int
		run, longest := 0, 0
		for i := range 2 * n {
			if run++; mask>>i&1 == 0 {
				run = 0
			} else {
				counts[i/n]++
			}
			longest = max(longest, run)
		}
		e, seen := runs[counts]
		if !seen {
			e.least = longest
		}
		runs[counts] = extremes{min(e.least, longest), max(e.most, longest)}
	}
	for k, want := range runs {
		share := [2]float64{float64(k[0]) / n, float64(k[1]) / n}
		// As few as possible: they are at the ceiling, the others at the threshold.
		few := seriesOf(n, share[0]*peak+(1-share[0])*c, share[1]*peak+(1-share[1])*c)
		got := few.Critical(Sampling{Above: c, Ceiling: peak})
		near(t, "least TCPT", got.TCPT.Lo, 100*(share[0]+share[1])/2)
		if least := math.Ceil(got.MCPT.Lo - 1e-9); least != float64(want.least) {
			t.Errorf("%v critical seconds: MCPT ≥ %g, and the shortest longest run has %d s", k, got.MCPT.Lo,
				want.least)
		}
		// As many as possible: they are just above the threshold, the others idle.
		const barely = c * (1 + 1e-10)
		got = seriesOf(n, share[0]*barely, share[1]*barely).Critical(Sampling{Above: c, Ceiling: peak})
		near(t, "largest TCPT", got.TCPT.Hi, 100*(share[0]+share[1])/2)
		near(t, "largest MCPT", got.MCPT.Hi, float64(want.most))
	}
}
