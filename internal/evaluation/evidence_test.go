package evaluation

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// evidenceRuns is how many runs of each kind TestEvidence draws.
var evidenceRuns = flag.Int("evidence-runs", 40, "how many disturbed runs to draw of each kind")

// disturbedWorld is a machine on which other programs come and go while nodes are
// measured.
type disturbedWorld struct {
	nodes, trials int
	cores         float64
	seconds       int     // of a task
	kept          float64 // share of the capacity that is there for all at once
	noise         float64 // of the rate in 0.1 s, relative
	level         float64 // what others take of the machine while they work
	stretch       float64 // mean time that they work, or rest, in seconds
	always        bool    // they do not rest
	matters       bool    // the metric loses what they take
	lag           int     // so many tenths of a second later
}

func drawWorld(rng *rand.Rand, matters bool) disturbedWorld {
	w := disturbedWorld{
		nodes: 3 + rng.IntN(5), trials: 2 + rng.IntN(4), cores: float64(int(2) << rng.IntN(4)), seconds: 3 + rng.IntN(8), kept: 1,
		noise: .05 * rng.Float64(), lag: rng.IntN(4), level: .15 + .8*rng.Float64(), stretch: .5 + 4*rng.Float64(), matters: matters,
	}
	if rng.IntN(2) == 0 {
		w.kept = .3 + .5*rng.Float64()
	}
	return w
}

// measure is the run. Others take what they want; the rest of the machine is full.
func (w disturbedWorld) measure(rng *rand.Rand) model.RunData {
	b := newBuilder(w.nodes)
	for i := range b.Data.Nodes { // of one machine
		b.Data.Nodes[i].Facts.BootID = "m"
	}
	for trial := 1; trial <= w.trials; trial++ {
		for i := range w.nodes {
			b.Step(model.Serial, trial, w.step(b, rng, []int{i}, 1)...)
		}
		all := make([]int, w.nodes)
		for i := range all {
			all[i] = i
		}
		b.Step(model.Parallel, trial, w.step(b, rng, all, w.kept)...)
	}
	return b.Data
}

// step is what some nodes measure at once, each this share of its capacity.
func (w disturbedWorld) step(b *builder, rng *rand.Rand, nodes []int, kept float64) []model.Result {
	const tick = .1 // seconds
	n := int(float64(w.seconds)/tick + .5)
	others := make([]float64, n) // share of the machine
	works := w.always || rng.IntN(2) == 0
	for i, left := 0, 0.0; i < n; i++ {
		if left -= tick; left <= 0 && !w.always {
			works, left = !works, w.stretch*rng.ExpFloat64()
		}
		if works {
			others[i] = w.level * (1 + .03*rng.NormFloat64())
			others[i] = min(max(others[i], 0), .97)
		}
	}
	lines := make([]polyline, len(nodes))
	for k := range lines {
		lines[k] = polyline{[]float64{0}, []float64{0}}
	}
	used := make([]float64, n+1) // by tasks, in seconds of a core
	for i := range n {
		rate := kept
		if w.matters {
			rate *= 1 - others[max(0, i-w.lag)]
		}
		pace := 0.0
		for k := range lines {
			own := rate * max(0, 1+w.noise*rng.NormFloat64())
			pace += own / kept / float64(len(nodes))
			lines[k].times = append(lines[k].times, float64(i+1)*tick)
			lines[k].work = append(lines[k].work, lines[k].work[i]+100*own*tick)
		}
		if w.matters { // they want all that is left
			used[i+1] = used[i] + tick*w.cores*(1-others[i])
		} else {
			used[i+1] = used[i] + tick*w.cores*.03*pace
		}
	}
	var out []model.Result
	for k, node := range nodes {
		r := result(b, node, lines[k], .2, .05)
		w.watch(rng, &r, others, used, tick, 1/float64(len(nodes)))
		out = append(out, r)
	}
	return out
}

// watch adds what the monitor reads once a second, in ticks of 10 ms, and what
// others used during the task: share of the tasks' time was its own.
func (w disturbedWorld) watch(rng *rand.Rand, r *model.Result, others, used []float64, tick, share float64) {
	series := map[string]*model.HostSeries{}
	for _, metric := range []string{"cpu.user", "cpu.idle", "cpu.steal", "cpu.cores"} {
		series[metric] = &model.HostSeries{Metric: metric, Counter: metric != "cpu.cores"}
	}
	busy, total := 0.0, 0.0
	read := func(at float64) {
		ran := math.Floor(100*busy+rng.Float64()) / 100
		for metric, v := range map[string]float64{"cpu.user": ran, "cpu.idle": at*w.cores - ran, "cpu.steal": 0, "cpu.cores": w.cores} {
			series[metric].Offsets, series[metric].Values = append(series[metric].Offsets, int64(at*1e9)), append(series[metric].Values, v)
		}
	}
	read(0)
	for i := range others {
		took := others[i] * w.cores * tick
		total += took
		busy += took + used[i+1] - used[i]
		if at := float64(i+1) * tick; math.Abs(at-math.Round(at)) < tick/2 {
			read(math.Round(at))
		}
	}
	for _, metric := range []string{"cpu.user", "cpu.idle", "cpu.steal", "cpu.cores"} {
		r.Host = append(r.Host, *series[metric])
	}
	seconds := float64(len(others)) * tick
	all := used[len(used)-1]
	r.Samples = append(r.Samples, model.Sample{Metric: model.MetricOtherCPU, Unit: "core", Value: (total + (1-share)*all) / seconds, Better: model.Lower, Info: true})
}

// TestEvidence: other programs disturbed what they were seen to disturb. Where the
// metric did not move with them, there is a verdict; where it did, none is wrong,
// and the truth is among what is possible.
func TestEvidence(t *testing.T) {
	for _, c := range []struct {
		name            string
		always, matters bool
		silent          float64 // share of runs that may have no verdict
	}{
		{name: "they come and go, and take nothing that the metric wants", silent: .1},
		{name: "they come and go, and the metric loses what they take", matters: true, silent: 1},
		{name: "they stay, and take nothing that the metric wants", always: true, silent: .3},
		{name: "they stay, and the metric loses what they take", always: true, matters: true, silent: 1},
	} {
		rng := rand.New(rand.NewPCG(4, 97))
		words, held, wrong, runs := make(map[Verdict]int), 0, 0, float64(*evidenceRuns)
		for range *evidenceRuns {
			w := drawWorld(rng, c.matters)
			w.always = c.always
			f := one(t, w.measure(rng), Options{Resamples: 100})
			words[f.Verdict]++
			truth := 100 * (1 - w.kept)
			if f.Possible.Contains(truth) {
				held++
			}
			if f.Verdict == Gain || f.Verdict == Degraded && truth == 0 || f.Verdict == None && truth > DefaultTolerance {
				wrong++
				t.Logf("%s: %+v: %s %v, possibly %v, %q; the truth is %.1f", c.name, w, f.Verdict, *f.CI, *f.Possible,
					texts(f.Doubts), truth)
			}
		}
		t.Logf("%s: verdicts %v, %d wrong; the truth is possible in %d of %.0f", c.name, words, wrong, held, runs)
		if silent := float64(words[Unknown] + words[Unclear]); float64(held) < .95*runs || float64(wrong) > .01*runs || silent > c.silent*runs {
			t.Errorf("%s: the truth is possible in %d of %.0f; %d verdicts are wrong, %.0f missing", c.name, held, runs, wrong, silent)
		}
	}
}
