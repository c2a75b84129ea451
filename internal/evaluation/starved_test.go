package evaluation

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// starvedRuns is how many runs TestStarved draws.
var starvedRuns = flag.Int("starved-runs", 200, "how many labs with a stranger to draw")

// starvedLab is hosts with quotas of one machine's processors. Most want all of it;
// some have fewer threads. While all work, something else wants processors, too.
type starvedLab struct {
	trials        int
	cores         float64
	quotas, wants []float64 // of each host
	stranger      float64   // processors that it wants
	weight        float64   // that it has beside those of a host's task, where processors are short
	idle          float64   // share of the machine that is idle although processors are short
	noise         float64   // of the work in a second of a core
	always        bool      // it works while hosts work alone, too
}

func drawStarved(rng *rand.Rand) starvedLab {
	l := starvedLab{trials: 3 + rng.IntN(4), cores: float64(int(2) << rng.IntN(4)), idle: .03 * rng.Float64(), noise: .01 * rng.Float64()}
	wanted := .5 + .4*rng.Float64() // of all cores
	if rng.IntN(2) == 0 {
		wanted = 1 / (.3 + .5*rng.Float64())
	}
	nodes := 2 + rng.IntN(6)
	for range nodes {
		quota := wanted * l.cores / float64(nodes)
		want := quota
		if rng.IntN(3) == 0 {
			quota *= .5 + rng.Float64()
			want = quota * (.3 + .7*rng.Float64())
		}
		l.quotas, l.wants = append(l.quotas, quota), append(l.wants, want)
	}
	l.stranger, l.weight, l.always = l.cores*(.1+.5*rng.Float64()), .3+rng.Float64(), rng.IntN(4) == 0
	return l
}

// divide is what share of what it wants each of some hosts gets of the processors, and
// what the stranger gets.
func (l starvedLab) divide(hosts []int, stranger float64) (share, others float64) {
	all, wanted := l.cores*(1-l.idle), 0.0
	for _, i := range hosts {
		wanted += l.wants[i]
	}
	if wanted+stranger <= all {
		return 1, stranger
	}
	// Each has a share by its weight; what one does not want, the other has.
	others = min(stranger, max(all-wanted, all*l.weight*stranger/(l.weight*stranger+wanted)))
	return min(1, (all-others)/wanted), others
}

// truth is the index without the stranger.
func (l starvedLab) truth() float64 {
	alone, together := 0.0, 0.0
	share, _ := l.divide(l.all(), 0)
	for _, i := range l.all() {
		own, _ := l.divide([]int{i}, 0)
		alone, together = alone+own*l.wants[i], together+share*l.wants[i]
	}
	return 100 * (1 - together/alone)
}

func (l starvedLab) all() []int {
	out := make([]int, len(l.wants))
	for i := range out {
		out[i] = i
	}
	return out
}

func (l starvedLab) measure(rng *rand.Rand) model.RunData {
	const seconds, perCore = 3, 1e4
	b := newBuilder(len(l.wants))
	for i := range b.Data.Nodes {
		b.Data.Nodes[i].Facts.CPULimit, b.Data.Nodes[i].Facts.BootID = l.quotas[i], "m"
		b.Data.Nodes[i].Labels = map[string]string{model.LabelFleet: model.FleetLab}
		b.Data.Nodes[i].Facts.Cores = int(l.cores)
	}
	step := func(trial int, phase model.Phase, hosts []int, stranger float64) {
		share, others := l.divide(hosts, stranger)
		busy := others
		for _, i := range hosts {
			busy += share * l.wants[i]
		}
		var rs []model.Result
		for _, i := range hosts {
			each := share * l.wants[i] * (1 - .005*rng.Float64()) // the ends of a task cut through a period of the quota
			work := perCore * each * (1 + l.noise*rng.NormFloat64())
			p := polyline{[]float64{0}, []float64{0}}
			for k := range 10 * seconds {
				p.times = append(p.times, float64(k+1)/10)
				p.work = append(p.work, p.work[k]+work*(1+.03*rng.NormFloat64())/10)
			}
			r := result(b, i, p, .2, .1)
			for j := range r.Samples {
				r.Samples[j].Resource = model.ResourceCPU
			}
			r.Samples = append(r.Samples, model.Sample{Metric: model.MetricOtherCPU, Unit: "core", Value: busy - each, Better: model.Lower, Info: true})
			for _, c := range []struct {
				metric    string
				perSecond float64
			}{{"cpu.user", busy}, {"cpu.idle", l.cores - busy}, {"cpu.steal", 0}, {"cgroup.cpu", each}} {
				s := model.HostSeries{Metric: c.metric, Counter: true}
				for k := range seconds + 1 {
					ticks := math.Floor(100*c.perSecond*float64(k)+rng.Float64()) / 100
					s.Offsets, s.Values = append(s.Offsets, int64(k)*1e9), append(s.Values, ticks)
				}
				r.Host = append(r.Host, s)
			}
			r.Host = append(r.Host, model.HostSeries{Metric: "cpu.cores", Offsets: []int64{0}, Values: []float64{l.cores}})
			rs = append(rs, r)
		}
		b.Step(phase, trial, rs...)
	}
	for trial := 1; trial <= l.trials; trial++ {
		alone := 0.0
		if l.always {
			alone = l.stranger
		}
		for i := range l.wants {
			step(trial, model.Serial, []int{i}, alone)
		}
		step(trial, model.Parallel, l.all(), l.stranger)
	}
	return b.Data
}

// TestStarved: hosts that want all of their quota lose to a stranger what it took of
// processors that were short. Nearly always there is a verdict without that, and it
// is right.
func TestStarved(t *testing.T) {
	runs := *starvedRuns
	rng := rand.New(rand.NewPCG(25, 3))
	words, wrong, held := make(map[Verdict]int), 0, 0
	for range runs {
		l := drawStarved(rng)
		f := one(t, l.measure(rng), Options{Resamples: 100})
		words[f.Verdict]++
		truth := l.truth()
		if f.Possible[0]-1 <= truth && truth <= f.Possible[1]+1 {
			held++
		} else {
			t.Logf("%+v: %v %v, possibly %v; the truth is %.1f; %q", l, f.Verdict, *f.CI, *f.Possible, truth, texts(f.Doubts))
		}
		if f.Verdict == Gain || f.Verdict == Degraded && truth < .5 || f.Verdict == None && truth > DefaultTolerance {
			wrong++
			t.Logf("wrong: %+v: %v %v, possibly %v; the truth is %.1f; %q", l, f.Verdict, *f.CI, *f.Possible, truth,
				texts(f.Doubts))
		}
	}
	t.Logf("%v; %d wrong; the truth is possible in %d of %d", words, wrong, held, runs)
	if silent := words[Unknown] + words[Unclear]; silent > runs/10 || wrong > 0 || held < runs*95/100 {
		t.Errorf("%d of %d have no verdict, %d are wrong, the truth is possible in %d", silent, runs, wrong, held)
	}
}
