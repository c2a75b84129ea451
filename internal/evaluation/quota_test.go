package evaluation

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// quotaRun measures hosts of a lab with this quota, of which they get a share when
// all work; and a second of a core does as many times the work then.
func quotaRun(rng *rand.Rand, nodes, trials int, quota, share, speed float64) model.RunData {
	b := newBuilder(nodes)
	for i := range b.Data.Nodes {
		b.Data.Nodes[i].Facts.CPULimit, b.Data.Nodes[i].Labels = quota, map[string]string{model.LabelFleet: model.FleetLab}
	}
	measure := func(i int, share, speed float64) model.Result {
		used := 10 * quota * share * (1 + .02*rng.NormFloat64()) // the ends of a task cut through a period
		r := result(b, i, constant(0, 1e4*used*speed*(1+.005*rng.NormFloat64())), .2, .1)
		r.Host = []model.HostSeries{{Metric: "cgroup.cpu", Counter: true, Offsets: []int64{0, 10e9}, Values: []float64{0, used}}}
		return r
	}
	for trial := 1; trial <= trials; trial++ {
		var rs []model.Result
		for i := range nodes {
			b.Step(model.Serial, trial, measure(i, 1, 1))
		}
		for i := range nodes {
			rs = append(rs, measure(i, share, speed))
		}
		b.Step(model.Parallel, trial, rs...)
	}
	return b.Data
}

// TestWokenCores: that cores sleep while one host works alone is no gain of all
// together; that they do less together is a loss, and so is a smaller share.
func TestWokenCores(t *testing.T) {
	const runs = 60
	for _, c := range []struct {
		name         string
		share, speed float64
		truth        float64
		want         Verdict
	}{
		{"alike", 1, 1, 0, None},
		{"woken alone", 1, 1.05, 0, None},
		{"slept half of the time", 1, 1.12, 0, None},
		{"woken alone, a loss of the processor", .6, 1.05, 40, Degraded},
		{"cores slow each other down", 1, .9, 10, Degraded},
	} {
		rng, held, right, off := rand.New(rand.NewPCG(13, 32)), 0, 0, 0
		for range runs {
			f := one(t, quotaRun(rng, 3+rng.IntN(3), 2+rng.IntN(4), .2+.4*rng.Float64(), c.share, c.speed), Options{Resamples: 100})
			if f.CI.Contains(c.truth) {
				held++
			}
			if math.Abs(*f.CDI-c.truth) > 3 {
				off++
			}
			if f.Verdict == c.want {
				right++
			}
			if d := code(f, "woken_cores"); (d != nil) != (c.speed > 1.03) && c.speed != 1 {
				t.Errorf("%s: %+v", c.name, f.Doubts)
			}
		}
		t.Logf("%s: the interval held the truth in %d of %d, %s in %d, more than 3 points off in %d", c.name, held, runs, c.want, right, off)
		if float64(held) < .92*runs || float64(right) < .93*runs || off > 2 {
			t.Errorf("%s: the interval held the truth in %d of %d, %s in %d, more than 3 points off in %d", c.name, held, runs, c.want, right, off)
		}
	}
}
