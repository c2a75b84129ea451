package evaluation

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// pausedRun measures nodes that are alike to 0.1 %. While all run, the machine
// under them pauses now and then: every half second of a parallel trial all
// have the same share of their speed.
func pausedRun(rng *rand.Rand, nodes, trials int, noise float64) model.RunData {
	const halves = 20
	b := newBuilder(nodes)
	course := func(shares []float64) polyline {
		rate := 1000 * (1 + .001*rng.NormFloat64())
		p := polyline{[]float64{0}, []float64{0}}
		for i, share := range shares {
			p.times = append(p.times, p.times[i]+.5)
			p.work = append(p.work, p.work[i]+.5*rate*share)
		}
		return p
	}
	steady := make([]float64, halves)
	for i := range steady {
		steady[i] = 1
	}
	for trial := 1; trial <= trials; trial++ {
		for i := range nodes {
			b.Step(model.Serial, trial, result(b, i, course(steady), .1, .1))
		}
		shares := make([]float64, halves)
		for i := range shares {
			shares[i] = 1 + noise*rng.NormFloat64()
		}
		var rs []model.Result
		for i := range nodes {
			rs = append(rs, result(b, i, course(shares), .1, .1))
		}
		b.Step(model.Parallel, trial, rs...)
	}
	return b.Data
}

// What all nodes go through together belongs into the interval: the truth, no
// degradation on average, lies in it as often as promised, although the nodes
// agree with each other far better.
func TestCommonVariationIsInTheInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 15))
	const runs = 400
	for _, trials := range []int{1, 3} {
		held, byNodes := 0, 0.0
		for range runs {
			f := one(t, pausedRun(rng, 4, trials, .02), Options{})
			if f.CI.Contains(0) {
				held++
			}
			byNodes += (f.CI[1] - f.CI[0]) / 2 / runs
		}
		t.Logf("%d trials: held %d of %d, half-width %.2f points", trials, held, runs, byNodes)
		if share := float64(held) / runs; share < .92 || share > .99 {
			t.Errorf("%d trials: the interval held the truth in %.3f of %d runs, want 0.92 to 0.99", trials, share, runs)
		}
	}
}

// Rows that vary together, against each other, and by themselves.
func TestCommonVariance(t *testing.T) {
	up, down := []float64{9, 11, 9, 9, 11, 11, 9, 11}, []float64{11, 9, 11, 11, 9, 9, 11, 9}
	level := []float64{10, 10, 10, 10, 10, 10, 10, 10}
	for _, c := range []struct {
		name string
		rows [][]float64
		want float64
	}{
		// The total of equal rows has four times the variance of one; they explain
		// two of these: the rest, of the mean of 8, over 20².
		{"together", [][]float64{up, up}, 2 * longRun(up) / 8 / 400},
		{"against each other", [][]float64{up, down}, 0},
		{"one by itself", [][]float64{up, level}, 0},
		{"not at all", [][]float64{level, level}, 0},
	} {
		if got := commonVariance(c.rows); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: commonVariance = %v, want %v", c.name, got, c.want)
		}
	}
}

// On independent values longRun estimates their variance, and on averages of
// neighbours, as misplaced batches are, the variance of what was averaged.
func TestLongRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 23))
	const n, runs = 19, 20000
	var white, averaged float64
	for range runs {
		xs, ys := make([]float64, n), make([]float64, n)
		last := rng.NormFloat64()
		for i := range xs {
			xs[i] = rng.NormFloat64()
			ys[i] = (last + xs[i]) / 2
			last = xs[i]
		}
		white += longRun(xs) / runs
		averaged += longRun(ys) / runs
	}
	if math.Abs(white-1) > .03 || math.Abs(averaged-1) > .08 {
		t.Errorf("longRun is %.3f of white noise and %.3f of its running means, want 1 within 0.03 and 0.08", white, averaged)
	}
}
