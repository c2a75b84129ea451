package evaluation

import (
	"math"
	"math/rand/v2"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// What package simulated makes, by short names.
type (
	builder   = simulated.Builder
	sweepCase = simulated.Sweep
)

var (
	newBuilder = simulated.New
	nodeName   = simulated.NodeName
	plain      = simulated.Plain
	pairsRun   = simulated.Pairs
	fleetCap   = simulated.Cap
)

var epoch = simulated.Epoch

// polyline is the true progress of a task: work done at times in seconds,
// linear between the corners.
type polyline struct{ times, work []float64 }

func (p polyline) start() float64 { return p.times[0] }
func (p polyline) end() float64   { return p.times[len(p.times)-1] }

// at is the work done at time t.
func (p polyline) at(t float64) float64 {
	for i := 1; i < len(p.times); i++ {
		if t <= p.times[i] {
			share := (t - p.times[i-1]) / (p.times[i] - p.times[i-1])
			return p.work[i-1] + share*(p.work[i]-p.work[i-1])
		}
	}
	return p.work[len(p.work)-1]
}

// job is what a simulated task has to do.
type job struct {
	start float64 // s
	work  float64 // op
	solo  float64 // op/s when nothing is in the way
}

// shared lets jobs share a resource of total op/s evenly, none faster than its
// solo rate, and returns their progress.
func shared(jobs []job, total float64) []polyline {
	lines := make([]polyline, len(jobs))
	done := make([]float64, len(jobs))
	for i, j := range jobs {
		lines[i] = polyline{[]float64{j.start}, []float64{0}}
	}
	for now := 0.0; ; {
		active, next := 0, math.Inf(1)
		for i, j := range jobs {
			if j.start > now {
				next = min(next, j.start)
			} else if done[i] < j.work {
				active++
			}
		}
		rate := func(j job) float64 { return min(j.solo, total/float64(active)) }
		for i, j := range jobs {
			if j.start <= now && done[i] < j.work {
				next = min(next, now+(j.work-done[i])/rate(j))
			}
		}
		if math.IsInf(next, 1) {
			return lines
		}
		for i, j := range jobs {
			if j.start <= now && done[i] < j.work {
				done[i] += rate(j) * (next - now)
				if j.work-done[i] < 1e-9 {
					done[i] = j.work
				}
				lines[i].times = append(lines[i].times, next)
				lines[i].work = append(lines[i].work, done[i])
			}
		}
		now = next
	}
}

// result is a task that made this progress and published it every interval
// seconds, the first time after a delay of its own, and at its end.
func result(b *builder, node int, p polyline, interval, delay float64) model.Result {
	series := model.Series{Metric: "rate", Unit: "op"}
	point := func(t float64) {
		series.Offsets = append(series.Offsets, int64(math.Round((t-p.start())*1e9)))
		series.Values = append(series.Values, p.at(t))
	}
	for t := p.start() + delay; t < p.end(); t += interval {
		point(t)
	}
	point(p.end())
	r := b.Reported(node, p.start(), p.end(), p.at(p.end())/(p.end()-p.start()))
	r.Series = []model.Series{series}
	return r
}

// constant is steady progress for ten seconds.
func constant(start, rate float64) polyline {
	const seconds = 10
	return polyline{[]float64{start, start + seconds}, []float64{0, rate * seconds}}
}

// noisyRun measures nodes with this spread of their speeds (SD of the
// logarithm). Each keeps the share kept of its capacity in the parallel phase,
// with this relative noise in every task.
func noisyRun(rng *rand.Rand, nodes, trials int, spread, kept, noise float64) model.RunData {
	b := newBuilder(nodes)
	solo := make([]float64, nodes)
	for i := range solo {
		solo[i] = 1000 * math.Exp(spread*rng.NormFloat64())
	}
	measure := func(i int, share float64) model.Result {
		rate := solo[i] * share * (1 + noise*rng.NormFloat64())
		return result(b, i, constant(.001*rng.Float64(), rate), 1, rng.Float64())
	}
	for trial := 1; trial <= trials; trial++ {
		for i := range nodes {
			b.Step(model.Serial, trial, measure(i, 1))
		}
		rs := make([]model.Result, nodes)
		for i := range rs {
			rs[i] = measure(i, kept)
		}
		b.Step(model.Parallel, trial, rs...)
	}
	return b.Data
}
