package corpus

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// builder is a run in the making.
type builder = simulated.Builder

// seeded is a generator that is the same each time.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0xc0)) }

// fleet measures nodes alone and all at once, so many times over.
func fleet(nodes, trials int, of func(b *builder, trial, node int, phase model.Phase) model.Result) *builder {
	b := simulated.New(nodes)
	for trial := 1; trial <= trials; trial++ {
		for i := range nodes {
			b.Step(model.Serial, trial, of(b, trial, i, model.Serial))
		}
		var all []model.Result
		for i := range nodes {
			all = append(all, of(b, trial, i, model.Parallel))
		}
		b.Step(model.Parallel, trial, all...)
	}
	return b
}

// keeping is a fleet of which each node keeps a share, with noise, in tasks without
// progress.
func keeping(seed uint64, nodes, trials int, kept, noise float64) *builder {
	rng := seeded(seed)
	return fleet(nodes, trials, func(b *builder, _, node int, phase model.Phase) model.Result {
		v := (100 + float64(node)) * math.Exp(noise*rng.NormFloat64())
		if phase == model.Parallel {
			v *= kept
		}
		return b.Reported(node, 0, 10, v)
	})
}

// counted is a task of ten seconds with progress each quarter of a second.
func counted(b *builder, node int, rate func(second float64) float64) model.Result {
	return progress(b.Reported(node, 0, 10, 1), rate)
}

// progress gives a task its counter, and the value that this comes to.
func progress(r model.Result, rate func(second float64) float64) model.Result {
	const step = .25
	s := model.Series{Metric: "rate", Unit: "op", Offsets: []int64{0}, Values: []float64{0}}
	sum, length := 0.0, r.Ended.Sub(r.Started).Seconds()
	for at := step; at <= length; at += step {
		sum += step * rate(at-step/2)
		s.Offsets, s.Values = append(s.Offsets, int64(at*1e9)), append(s.Values, sum)
	}
	r.Series, r.Samples[0].Value = []model.Series{s}, sum/length
	return r
}

// constant is a rate with a little noise from one quarter of a second to the next.
func constant(rng *rand.Rand, v, noise float64) func(float64) float64 {
	return func(float64) float64 { return v * math.Exp(noise*rng.NormFloat64()) }
}

// counting is keeping with progress; each trial may have a share of its own.
func counting(seed uint64, nodes, trials int, kept func(trial int) float64, noise float64) *builder {
	rng := seeded(seed)
	return fleet(nodes, trials, func(b *builder, trial, node int, phase model.Phase) model.Result {
		v := 100 + float64(node)
		if phase == model.Parallel {
			v *= kept(trial)
		}
		return counted(b, node, constant(rng, v, noise))
	})
}

// always is the same share in each trial.
func always(v float64) func(int) float64 { return func(int) float64 { return v } }

// lastOf is the result of the last task of a run.
func lastOf(b *builder) *model.Result { return &b.Data.Results[len(b.Data.Results)-1] }

// grown is a counter of the host that grows evenly from before the task until after it.
func grown(metric string, by float64) model.HostSeries {
	return model.HostSeries{Metric: metric, Counter: true, Offsets: []int64{-1e9, 11e9}, Values: []float64{0, by}}
}

// hostSees gives tasks of a phase what the monitor saw: counters by name.
func hostSees(b *builder, phase model.Phase, counters map[string]float64) *builder {
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		if stepOf(b, r.Step).Phase != phase {
			continue
		}
		for _, metric := range slices.Sorted(maps.Keys(counters)) {
			h := grown(metric, counters[metric])
			if metric == observe.MetricCores {
				h.Counter, h.Values = false, []float64{counters[metric], counters[metric]}
			}
			r.Host = append(r.Host, h)
		}
		if others, ok := counters["others"]; ok {
			r.Host = slices.DeleteFunc(r.Host, func(h model.HostSeries) bool { return h.Metric == "others" })
			r.Samples = append(r.Samples, model.Sample{Metric: model.MetricOtherCPU, Unit: "core", Value: others,
				Better: model.Lower, Info: true})
		}
	}
	return b
}

func stepOf(b *builder, id model.StepID) *model.Step {
	for i := range b.Data.Steps {
		if b.Data.Steps[i].ID == id {
			return &b.Data.Steps[i]
		}
	}
	return nil
}

// experimentOf makes a run one of a file.
func experimentOf(b *builder, text string) *builder {
	r := &b.Data.Run
	r.Kind, r.State, r.SourceName, r.Version = model.KindExperiment, model.RunDone, "corpus.yaml", "v0"
	r.Source = "fleet: {local: {nodes: 2}}\nworkloads: [{name: work, kind: cpu, duration: 1s}]\n" + text
	return b
}

// defect is a run in which something is wrong.
type defect struct {
	name   string
	change func(b *builder)
}

// defects of a run of six nodes without progress and one trial.
var defects = []defect{
	{"sound", func(*builder) {}},
	{"zero", func(b *builder) { lastOf(b).Samples[0].Value = 0 }},
	{"infinite", func(b *builder) { lastOf(b).Samples[0].Value = math.Inf(1) }},
	{"no sample", func(b *builder) { lastOf(b).Samples = nil }},
	{"serial value missing", func(b *builder) { b.Data.Results[2].Samples = nil }},
	{"sample twice", func(b *builder) { lastOf(b).Samples = append(lastOf(b).Samples, lastOf(b).Samples[0]) }},
	{"other unit", func(b *builder) { lastOf(b).Samples[0].Unit = "kop/s" }},
	{"result missing", func(b *builder) { b.Data.Results = b.Data.Results[:11] }},
	{"serial step invalid", func(b *builder) {
		b.Data.Steps[2].State, b.Data.Steps[2].Reason = model.StepInvalid, "timed out"
	}},
	{"parallel step invalid", func(b *builder) { b.Data.Steps[6].State = model.StepInvalid }},
	{"all steps invalid", func(b *builder) {
		for i := range b.Data.Steps {
			b.Data.Steps[i].State = model.StepInvalid
		}
	}},
	{"no times", func(b *builder) { lastOf(b).Started = time.Time{} }},
	{"low overlap", func(b *builder) { lastOf(b).Ended = b.Data.Results[6].Started.Add(4 * time.Second) }},
	{"poor overlap", func(b *builder) { lastOf(b).Ended = lastOf(b).Ended.Add(-2 * time.Second) }},
	{"errors", func(b *builder) {
		lastOf(b).Samples = append(lastOf(b).Samples, model.Sample{Metric: "objectstore_errors", Value: 12, Info: true,
			Labels: map[string]string{"kind": "slow_down"}})
	}},
	{"unequal processors", func(b *builder) { b.Data.Nodes[1].Facts.CPUModel = "Model Y" }},
	{"no facts", func(b *builder) { b.Data.Nodes[1].Facts = model.Facts{} }},
	{"retried", func(b *builder) {
		b.Data.Steps[0].Attempt = 2
		again := b.Data.Results[0]
		again.Attempt = 2
		b.Data.Results[0].Outcome = model.OutcomeTimeout
		b.Data.Results = append(b.Data.Results, again)
	}},
	{"progress of some", func(b *builder) {
		lastOf(b).Series = []model.Series{{Metric: "rate", Unit: "op", Offsets: []int64{0, 2e9, 6e9, 10e9},
			Values: []float64{0, 106, 318, 530}}}
	}},
	{"progress that disagrees", func(b *builder) {
		lastOf(b).Series = []model.Series{{Metric: "rate", Unit: "op", Offsets: []int64{0, 2e9, 6e9, 10e9},
			Values: []float64{0, 200, 600, 1000}}}
	}},
	{"two groups", func(b *builder) {
		for i := 6; i < 9; i++ {
			b.Data.Results[i].Samples[0].Value /= 4
		}
	}},
	{"one is slow alone", func(b *builder) {
		b.Data.Results[1].Samples[0].Value /= 3
		b.Data.Results[7].Samples[0].Value /= 3
	}},
	{"a node alone only", func(b *builder) {
		b.Data.Results = b.Data.Results[:11]
		b.Data.Steps[6].Tasks = b.Data.Steps[6].Tasks[:5]
	}},
	{"a node together only", func(b *builder) { b.Data.Steps = slices.Delete(b.Data.Steps, 0, 1) }},
	{"only serial", func(b *builder) { b.Data.Steps = b.Data.Steps[:6] }},
	{"only parallel", func(b *builder) { b.Data.Steps = b.Data.Steps[6:] }},
	{"no direction", func(b *builder) {
		for i := range b.Data.Results {
			b.Data.Results[i].Samples[0].Better = ""
		}
	}},
	{"durations", func(b *builder) {
		for i := range b.Data.Results {
			s := &b.Data.Results[i].Samples[0]
			s.Better, s.Unit, s.Value = model.Lower, "s", 1/s.Value
		}
	}},
	{"cancelled", func(b *builder) {
		b.Data.Run.State, b.Data.Run.Reason = model.RunCancelled, "by ana"
		b.Data.Steps[6].State = model.StepPending
	}},
	{"running", func(b *builder) { b.Data.Run.State = model.RunRunning }},
	{"node changed in between", func(b *builder) { nodeChanged(b, b.Data.Results[3].Started) }},
	{"node changed afterwards", func(b *builder) { nodeChanged(b, lastOf(b).Ended.Add(time.Hour)) }},
	{"node unreachable", func(b *builder) { event(b, model.EventUnreachable, "node n01 could not be reached for 12 s") }},
	{"node slow", func(b *builder) { event(b, model.EventNodeSlow, "node n01 was heard late, by 9 s") }},
	{"server slow", func(b *builder) { event(b, model.EventServerSlow, "the server stood still for 9 s") }},
	{"one node", func(b *builder) {
		b.Data.Steps = []model.Step{b.Data.Steps[0], b.Data.Steps[6]}
		b.Data.Steps[1].Tasks = b.Data.Steps[1].Tasks[:1]
	}},
	{"expected", func(b *builder) { experimentOf(b, "study: {kind: cdi, expect: {work: 40}}\n") }},
}

func nodeChanged(b *builder, at time.Time) {
	b.Data.Events = append(b.Data.Events, model.Event{Run: b.Data.Run.ID, Time: at, Kind: model.EventNodeChanged,
		Node: simulated.NodeName(1), Text: "its kernel is another"})
}

func event(b *builder, kind model.EventKind, text string) {
	b.Data.Events = append(b.Data.Events, model.Event{Run: b.Data.Run.ID, Time: b.Now, Kind: kind,
		Node: simulated.NodeName(1), Text: text})
}

// disturbing is what the monitor can see of a node while all work at once.
var disturbing = map[string]map[string]float64{
	"steal":      {observe.MetricUser: 20, observe.MetricIdle: 2, observe.MetricSteal: 2},
	"swap":       {observe.MetricSwapIn: 12 << 20, observe.MetricSwapOut: 12 << 20},
	"killed":     {observe.MetricOOMKills: 1.2},
	"drops":      {observe.MetricRxPackets: 60000, observe.MetricTxPackets: 60000, observe.MetricTxDrops: 600},
	"sent again": {observe.MetricSegments: 120000, observe.MetricRetransmits: 3600},
	"throttled":  {observe.MetricThrottled: 6, observe.MetricCgroupCPU: 12},
	"others": {observe.MetricUser: 24, observe.MetricIdle: 0, observe.MetricCores: 2, observe.MetricCgroupCPU: 18,
		"others": .5},
	"others, a little": {observe.MetricUser: 23.5, observe.MetricIdle: .5, observe.MetricCores: 2,
		observe.MetricCgroupCPU: 23, "others": .06},
}

// lossCases are questions about the loss of capacity.
func lossCases() (out []question) {
	add := func(name, params string, b *builder) {
		out = append(out, question{name: "cdi/" + name, study: "cdi", params: params, runs: []model.RunData{b.Data}})
	}
	for _, d := range defects {
		b := simulated.Plain(6, .5)
		d.change(b)
		add("defect/"+d.name, "", b)
	}
	for _, name := range slices.Sorted(maps.Keys(disturbing)) {
		add("disturbed/"+name, "", hostSees(keeping(4, 6, 3, .9, .01), model.Parallel, disturbing[name]))
		add("disturbed, no loss/"+name, "", hostSees(keeping(5, 4, 2, 1, .01), model.Serial, disturbing[name]))
	}
	for _, x := range []struct {
		name        string
		trials      int
		kept, noise float64
	}{
		{"degraded", 3, .6, .01}, {"degraded, one trial", 1, .6, .01}, {"none", 3, 1, .005}, {"gain", 3, 1.5, .01},
		{"unclear", 2, .97, .15}, {"too wide", 2, .8, 1.2}, {"a little", 4, .97, .003},
	} {
		add("kept/"+x.name, "", keeping(1, 6, x.trials, x.kept, x.noise))
		add("progress/"+x.name, "", counting(2, 4, x.trials, always(x.kept), x.noise))
	}
	add("progress/trials differ", "", counting(3, 4, 3, func(trial int) float64 { return []float64{.9, .5, .85}[trial-1] }, .002))
	add("progress/uncontended end", "", uncontended())
	add("progress/pause", "", paused(6))
	add("progress/pause of one", "", paused(1))
	add("progress/refused", "", brokenProgress())
	add("nothing scatters", "", fleet(4, 3, func(b *builder, _, node int, phase model.Phase) model.Result {
		return b.Reported(node, 0, 10, map[model.Phase]float64{model.Serial: 100, model.Parallel: 50}[phase])
	}))
	add("different nodes", "", differentNodes())
	add("incomplete trials", "", incompleteTrials(2))
	add("no complete trial", "", incompleteTrials(1, 2, 3))
	add("pairs", "", simulated.Pairs(seeded(6), 4, 2, .7, .02, false))
	add("pairs that serve", "", simulated.Pairs(seeded(7), 3, 3, .9, .01, true))
	add("values beyond all bounds", "", counts(keeping(14, 4, 2, .9, .01), "", "op/s", 1.7e306))
	taken := counts(keeping(15, 4, 3, .75, .01), model.ResourceCPU, "op/s", 1)
	for i := range taken.Data.Nodes {
		taken.Data.Nodes[i].Facts.BootID = fmt.Sprintf("boot %d", i)
	}
	hostSees(taken, model.Serial, map[string]float64{observe.MetricUser: 24, observe.MetricIdle: 0, observe.MetricCores: 2, observe.MetricCgroupCPU: 23.9})
	add("processors taken by others", "", hostSees(taken, model.Parallel, disturbing["others"]))
	add("clock badly known", "", clocks(20*time.Millisecond, 0))
	add("clock set", "", clocks(time.Millisecond, 4*time.Second))
	add("woken cores", "", woken())
	add("two workloads", "", twoWorkloads())
	add("no phases", "", &builder{Data: model.RunData{Run: model.Run{ID: "01J00000000000000000000000"}}})
	for _, x := range []struct{ name, params string }{
		{"kept", `{"fail_above": 60}`}, {"missed", `{"fail_above": 10}`}, {"cannot be told", `{"fail_above": 40}`},
		{"bad number", `{"fail_above": "many"}`}, {"bad tolerance", `{"tolerance": 0}`}, {"unknown key", `{"fail_over": 3}`},
		{"tolerance", `{"tolerance": 50}`},
	} {
		add("gate/"+x.name, x.params, keeping(1, 6, 3, .6, .03))
	}
	add("gate/unknown", `{"fail_above": 10}`, simulated.Plain(1, .5))
	add("gate/of the file", "", experimentOf(keeping(1, 6, 3, .6, .01), "study: {kind: cdi, fail_above: 5}\n"))
	add("gate/disturbed", `{"fail_above": 15}`, hostSees(keeping(4, 6, 3, .9, .01), model.Parallel, disturbing["others"]))
	return append(out, lossTables()...)
}

// uncontended is a fleet of which half ends after half of the time.
func uncontended() *builder {
	rng := seeded(8)
	return fleet(4, 2, func(b *builder, _, node int, phase model.Phase) model.Result {
		if phase == model.Serial {
			return counted(b, node, constant(rng, 100, .005))
		}
		if node < 2 {
			return progress(b.Reported(node, 0, 6, 1), constant(rng, 50, .005))
		}
		return counted(b, node, func(at float64) float64 { return map[bool]float64{true: 50, false: 100}[at < 6] })
	})
}

// paused is a fleet of which so many nodes stand still for a second together.
func paused(many int) *builder {
	rng := seeded(9)
	return fleet(6, 2, func(b *builder, _, node int, phase model.Phase) model.Result {
		r := counted(b, node, constant(rng, 100, .005))
		if phase == model.Parallel && node < many {
			s := &r.Series[0]
			for k := len(s.Offsets) - 1; k >= 0; k-- {
				if at := s.Offsets[k]; at > 4e9 && at < 5.5e9 {
					s.Offsets, s.Values = slices.Delete(s.Offsets, k, k+1), slices.Delete(s.Values, k, k+1)
				}
			}
		}
		return r
	})
}

// brokenProgress has a counter that goes back.
func brokenProgress() *builder {
	b := counting(10, 3, 1, always(.8), .01)
	s := &lastOf(b).Series[0]
	s.Values[len(s.Values)/2] = 0
	return b
}

// differentNodes has another node in the second trial.
func differentNodes() *builder {
	b := simulated.Plain(2, .5)
	b.Step(model.Serial, 2, b.Reported(0, 0, 10, 100))
	b.Step(model.Serial, 2, b.Reported(2, 0, 10, 101))
	b.Step(model.Parallel, 2, b.Reported(0, 0, 10, 50), b.Reported(2, 0, 10, 51))
	return b
}

// incompleteTrials has lost a serial step in each of these trials, of three.
func incompleteTrials(trials ...int) *builder {
	b := keeping(11, 3, 3, .7, .01)
	for _, trial := range trials {
		b.Data.Steps[4*(trial-1)+1].State = model.StepInvalid
	}
	return b
}

// clocks are known so badly, or were set by so much after the first trial.
func clocks(unsure, set time.Duration) *builder {
	b := keeping(12, 3, 2, .9, .01)
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		if r.ClockError = unsure; i >= len(b.Data.Results)/2 {
			r.ClockOffset = set
		}
		if i%3 == 2 {
			r.Started = r.Started.Add(unsure)
		}
	}
	return b
}

// woken are hosts of a lab with a quota: alone a core sleeps in between, and is slower.
func woken() *builder {
	rng := seeded(13)
	b := fleet(4, 3, func(b *builder, _, node int, phase model.Phase) model.Result {
		used := 10 * .3 * (1 + .02*rng.NormFloat64())
		speed := map[model.Phase]float64{model.Serial: 1, model.Parallel: 1.06}[phase]
		r := counted(b, node, constant(rng, 1e3*used*speed, .001))
		r.Host = []model.HostSeries{{Metric: observe.MetricCgroupCPU, Counter: true, Offsets: []int64{0, 10e9}, Values: []float64{0, used}}}
		return r
	})
	for i := range b.Data.Nodes {
		b.Data.Nodes[i].Facts.CPULimit, b.Data.Nodes[i].Labels = .3, map[string]string{model.LabelFleet: model.FleetLab}
	}
	return b
}

// twoWorkloads are one that loses half and one that loses nothing.
func twoWorkloads() *builder {
	b := keeping(14, 6, 2, .5, .01)
	n := len(b.Data.Steps)
	other := keeping(15, 6, 2, 1, .01)
	for _, s := range other.Data.Steps {
		var results []model.Result
		for _, r := range other.Data.Results {
			if r.Step == s.ID {
				results = append(results, r)
			}
		}
		b.Step(s.Phase, s.Trial, results...)
	}
	for i := n; i < len(b.Data.Steps); i++ {
		b.Data.Steps[i].Workload = "other"
	}
	return b
}

// lossTables are questions about tables of the user's own.
func lossTables() (out []question) {
	add := func(name, params, text string) {
		out = append(out, question{name: "cdi/table/" + name, study: "cdi", params: params, table: &file{"numbers.csv", text}})
	}
	rng := seeded(16)
	wide, long := "node,serial,parallel\n", "node,phase,value,trial,unit\n"
	for i := range 8 {
		v := 100 * math.Exp(.02*rng.NormFloat64())
		wide += fmt.Sprintf("n%d,%.3f,%.3f\n", i, v, .7*v*math.Exp(.02*rng.NormFloat64()))
		for trial := range 3 {
			long += fmt.Sprintf("n%d,serial,%.3f,%d,MB/s\nn%d,parallel,%.3f,%d,MB/s\n", i, v*math.Exp(.01*rng.NormFloat64()), trial+1,
				i, .9*v*math.Exp(.01*rng.NormFloat64()), trial+1)
		}
	}
	add("a line a node", "", wide)
	add("a line a value", "", long)
	add("a line a value, gate", `{"fail_above": 5}`, long)
	add("a trial without a node", "", strings.Replace(long, "n3,parallel", "n9,parallel", 1))
	add("means", "", "workload,metric,unit,nodes,serial_mean,parallel_mean\nio,write,MB/s,8,200,120\nnet,receive,Mbit/s,8,940,935\n")
	add("means, gate", `{"fail_above": 5}`, "workload,metric,unit,nodes,serial_mean,parallel_mean\nio,write,MB/s,8,200,120\n")
	add("copied means", "", "node,serial,parallel\na,100,90\nb,100,90\nc,100,90\n")
	add("constant trials", "", "node,phase,value,trial\na,serial,88.5,1\nb,serial,88.5,1\na,parallel,44.2,1\nb,parallel,44.2,1\n"+
		"a,serial,88.5,2\nb,serial,88.5,2\na,parallel,44.2,2\nb,parallel,44.2,2\n")
	add("no header", "", "1,2,3\n4,5,6\n")
	add("no number", "", "node,serial,parallel\na,much,little\n")
	add("empty", "", "")
	add("one node", "", "node,serial,parallel\na,100,60\n")
	add("lower is better", "", "node,phase,value,better\na,serial,10,lower\nb,serial,11,lower\nc,serial,10.5,lower\na,parallel,21,lower\nb,parallel,20,lower\nc,parallel,22,lower\n")
	return out
}
