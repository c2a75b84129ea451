package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func longTail(rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) }

// shares compares in how many runs something held with the row of a table in
// docs/methods.md, in percent for each number of values. The rows are of ten times as
// many runs, as
//
//	go test ./internal/stats -run 'IntervalCoverage|SquaredCoverage|Alarms' -v -update
//
// prints them.
func shares(t *testing.T, name string, sizes []int, runs int, held func(rng *rand.Rand, n int) bool) []float64 {
	t.Helper()
	if *update {
		runs *= 10
	}
	want, row := documentedRow(t, name, len(sizes)), "| "+name
	out := make([]float64, len(sizes))
	for i, n := range sizes {
		rng := rand.New(rand.NewPCG(11, uint64(n)))
		count := 0
		for range runs {
			if held(rng, n) {
				count++
			}
		}
		got := float64(count) / float64(runs)
		out[i] = got
		row += fmt.Sprintf(" | %.1f", 100*got)
		if !*update {
			near(t, fmt.Sprintf("%s of %d", name, n), got, want[i]/100, float64(runs))
		}
	}
	if *update {
		t.Log(row + " |")
	}
	return out
}

// documentedRow is the numbers of a row of docs/methods.md.
func documentedRow(t *testing.T, name string, columns int) []float64 {
	t.Helper()
	text, err := os.ReadFile("../../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, columns)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if cells[0] != "| "+name || len(cells) != columns+1 {
			continue
		}
		for i := range out {
			if out[i], err = strconv.ParseFloat(strings.TrimSuffix(cells[i+1], " |"), 64); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	if !*update {
		t.Fatalf("docs/methods.md has no row %q of %d columns", name, columns)
	}
	return out
}

// TestCOVIntervalCoverage makes the table of docs/methods.md anew.
func TestCOVIntervalCoverage(t *testing.T) {
	for _, c := range []struct {
		name  string
		draw  func(*rand.Rand) float64
		truth float64
	}{
		{"normal", normalLevel, .1},
		{"lognormal, σ = 0.4", lognormalLevel, math.Sqrt(math.Expm1(.16))},
		{"two bands, 50 % at half", bimodalLevel, math.Sqrt(10./9*(1+.03*.03) - 1)},
		{"two bands, 30 % at half", bands, math.Sqrt(.775*(1+.02*.02)-.85*.85) / .85},
		{"lognormal, σ = 1", longTail, math.Sqrt(math.E - 1)},
	} {
		shares(t, "COV: "+c.name, []int{5, 10, 20, 50, 200}, 80, func(rng *rand.Rand, n int) bool {
			iv, err := COVInterval(each(c.draw)(rng, n), .95, 0)
			return err == nil && iv.Contains(c.truth)
		})
	}
}

// TestLongTails makes the table of docs/methods.md anew.
func TestLongTails(t *testing.T) {
	for _, c := range []struct {
		name string
		draw func(*rand.Rand) float64
	}{
		{"normal", normalLevel},
		{"lognormal, σ = 0.4", lognormalLevel},
		{"two bands, 30 % at half", bands},
		{"exponential", (*rand.Rand).ExpFloat64},
		{"lognormal, σ = 1", longTail},
	} {
		shares(t, "long tail: "+c.name, []int{20, 50, 200, 1000}, 100, func(rng *rand.Rand, n int) bool {
			xs := each(c.draw)(rng, n)
			slices.Sort(xs)
			_, _, long := LongTail(xs)
			return long
		})
	}
}

// grouping is levels of a fact and what they do to values.
type grouping struct {
	name   string
	levels int
	value  func(rng *rand.Rand, code int) float64
	truth  float64
}

func groupings() []grouping {
	hour := func(code int) float64 { return math.Sin(2*math.Pi*float64(code)/24) / 3 * math.Sqrt2 }
	return []grouping{
		{"nothing, 2 levels", 2, func(rng *rand.Rand, _ int) float64 { return rng.NormFloat64() }, 0},
		{"nothing, 24 levels", 24, func(rng *rand.Rand, _ int) float64 { return rng.NormFloat64() }, 0},
		{"half, 2 levels", 2, func(rng *rand.Rand, code int) float64 { return float64(2*code) + rng.NormFloat64() }, .5},
		// Exponential values: variance 1.
		{"half, skewed", 2, func(rng *rand.Rand, code int) float64 { return float64(2*code) + rng.ExpFloat64() }, .5},
		// Variances .1 and 1.9: 1 on average.
		{"half, unequal spread", 2, func(rng *rand.Rand, code int) float64 {
			return float64(2*code) + math.Sqrt(.1+1.8*float64(code-1))*rng.NormFloat64()
		}, .5},
		{"a tenth, 24 levels", 24, func(rng *rand.Rand, code int) float64 { return hour(code) + rng.NormFloat64() }, .1},
		{"nearly all, 2 levels", 2, func(rng *rand.Rand, code int) float64 { return float64(2*code) + rng.NormFloat64()/5 }, 1 / 1.04},
	}
}

// TestEtaSquaredCoverage makes the table of docs/methods.md anew.
func TestEtaSquaredCoverage(t *testing.T) {
	for _, g := range groupings() {
		shares(t, g.name, []int{60, 200, 1000}, 200, func(rng *rand.Rand, n int) bool {
			values, codes := make([]float64, n), make([]uint16, n)
			for i := range values {
				code := 1 + rng.IntN(g.levels)
				codes[i], values[i] = uint16(code), g.value(rng, code)
			}
			e, err := EtaSquared(values, codes, g.levels+1, DefaultLevel)
			return err == nil && e.CI.Contains(g.truth)
		})
	}
}

// TestBlockIntervalCoverage makes the table of docs/methods.md anew.
func TestBlockIntervalCoverage(t *testing.T) {
	for _, phi := range []float64{0, .5, .8} {
		for _, ofMean := range []bool{true, false} {
			name, statistic, truth := fmt.Sprintf("mean, φ = %.1f", phi), mean, 100.
			if !ofMean {
				name, truth = fmt.Sprintf("COV, φ = %.1f", phi), .1
				statistic = func(xs []float64) float64 { v, _ := COV(xs); return v }
			}
			shares(t, name, []int{50, 200}, 100, func(rng *rand.Rand, n int) bool {
				xs := dependent(phi)(rng, n)
				_, block, err := EffectiveSize(xs)
				if err != nil {
					t.Fatal(err)
				}
				iv, err := BlockInterval(xs, statistic, block, .95, 300, rng.Uint64())
				return err == nil && iv.Contains(truth)
			})
		}
	}
}

// TestSpearmanAlarms makes the table of docs/methods.md anew: how often two series
// that are not related seem so.
func TestSpearmanAlarms(t *testing.T) {
	for _, phi := range []float64{0, .5, .8, .95} {
		shares(t, fmt.Sprintf("not related, φ = %v", phi), []int{10, 40, 100}, 200, func(rng *rand.Rand, n int) bool {
			_, p, _, err := SpearmanOfSeries(dependent(phi)(rng, n), dependent(phi)(rng, n))
			if err != nil {
				t.Fatal(err)
			}
			return p < .05
		})
	}
}

// TestSpearmanIntervalCoverage makes the table of docs/methods.md anew: how often the
// interval of a rank correlation holds that of the population, 6/π·asin(ρ/2) of
// normal values, also where both depend on their past; of two levels, each in half of
// the cases with noise of its own about it, it is 3/4. Series that are worth too few
// pairs have no interval, and do not count.
func TestSpearmanIntervalCoverage(t *testing.T) {
	holds := func(xs, ys []float64, truth float64) (held, known bool) {
		rho, _, effective, err := SpearmanOfSeries(xs, ys)
		if err != nil {
			t.Fatal(err)
		}
		iv, err := SpearmanInterval(rho, len(xs), effective, .95)
		return err == nil && iv.Contains(truth), err == nil
	}
	covers := func(name string, draw func(rng *rand.Rand, n int) (xs, ys []float64), truth float64) {
		shares(t, name, []int{8, 16, 40, 100}, 200, func(rng *rand.Rand, n int) bool {
			for {
				xs, ys := draw(rng, n)
				if held, known := holds(xs, ys, truth); known {
					return held
				}
			}
		})
	}
	for _, phi := range []float64{0, .5, .8} {
		for _, rho := range []float64{0, .5, .9} {
			covers(fmt.Sprintf("related by %v, φ = %v", rho, phi), func(rng *rand.Rand, n int) (xs, ys []float64) {
				xs, ys = autoregressive(rng, phi, n), autoregressive(rng, phi, n)
				for i, x := range xs {
					ys[i] = rho*x + math.Sqrt(1-rho*rho)*ys[i]
				}
				return xs, ys
			}, 6/math.Pi*math.Asin(rho/2))
		}
	}
	covers("two levels", func(rng *rand.Rand, n int) (xs, ys []float64) {
		for range n {
			level := 10 * float64(rng.IntN(2))
			xs, ys = append(xs, level+rng.NormFloat64()), append(ys, level+rng.NormFloat64())
		}
		return xs, ys
	}, .75)
}

// TestDriftAlarms makes the table of docs/methods.md anew: how often a series
// without a trend has one.
func TestDriftAlarms(t *testing.T) {
	for _, n := range noises() {
		shares(t, "trend in "+n.name, []int{30, 100}, 200, func(rng *rand.Rand, length int) bool {
			times := make([]float64, length)
			for i := range times {
				times[i] = float64(i)
			}
			_, p, err := Drift(times, n.draw(rng, length), .95)
			if err != nil {
				t.Fatal(err)
			}
			return p < .05
		})
	}
}

// TestOutlierShares makes the table of docs/methods.md anew: how many values of pure
// noise lie outside the fences.
func TestOutlierShares(t *testing.T) {
	for _, c := range []struct {
		name string
		draw func(*rand.Rand) float64
	}{
		{"normal", normalLevel},
		{"lognormal, σ = 0.4", lognormalLevel},
		{"lognormal, σ = 1", longTail},
		{"exponential", (*rand.Rand).ExpFloat64},
		{"two bands, 30 % at half", bands},
	} {
		row, rng := "| "+c.name, rand.New(rand.NewPCG(5, 1))
		for _, n := range []int{20, 200, 20_000} {
			runs, outside := 100_000/n, 0
			for range runs {
				xs := each(c.draw)(rng, n)
				slices.Sort(xs)
				lo, hi := OutlierFences(xs)
				for _, x := range xs {
					if x < lo || x > hi {
						outside++
					}
				}
			}
			row += fmt.Sprintf(" | %.1f", 100*float64(outside)/float64(runs*n))
		}
		documented(t, "share outside the fences", row+" |")
	}
	for _, xs := range [][]float64{{1, 2, 100}, {5, 5, 5, 5}} {
		if lo, hi := OutlierFences(xs); lo != xs[0] || hi != xs[len(xs)-1] {
			t.Errorf("OutlierFences(%v) = %v, %v, want its ends", xs, lo, hi)
		}
	}
}
