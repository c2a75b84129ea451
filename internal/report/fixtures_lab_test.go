package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/model"
)

// labLoad is one workload of the synthetic lab.
type labLoad struct {
	name, metric, unit, counter, resource string
	serial                                float64 // of one subject
	// total is what n subjects do together.
	total func(n int) float64
	pairs bool
	sizes []int // of a sweep, besides one and all
	// host is the rate of each counter, and the value of each state, of a node
	// that does its share of what it does alone.
	host  func(share float64) map[string]float64
	noise float64
}

// simLab is a run of several workloads on 8 hosts behind one uplink, with what
// the monitor saw.
type simLab struct {
	nodes, trials int
	seconds       float64
	loads         []labLoad
	rng           *rand.Rand
	at            time.Time
	d             model.RunData
	results       HTMLOptions
	findings      []model.Finding
}

// uplink is 4 links of 200 Mbit/s into 300: the case, CDI 62.5 %.
func uplink(n int) float64 { return min(float64(n)*200e6/8, 300e6/8) }

func linear(serial float64) func(int) float64 {
	return func(n int) float64 { return serial * float64(n) }
}

func idleHost() map[string]float64 {
	return map[string]float64{
		"cpu.user": 0.05, "cpu.system": 0.03, "cpu.iowait": 0, "cpu.steal": 0, "cpu.softirq": 0.01, "cpu.idle": 3.91,
		"cpu.cores": 4, "sched.running": 1, "memory.total": 8 << 30, "memory.available": 7.1 * (1 << 30),
		"disk.read_bytes": 0, "disk.write_bytes": 40e3, "net.rx_bytes": 2e3, "net.tx_bytes": 2e3,
		"net.rx_packets": 20, "net.tx_packets": 20, "net.rx_drops": 0, "net.tx_drops": 0,
		"tcp.segments_out": 20, "tcp.retransmits": 0, "memory.swap_in": 0, "memory.swap_out": 0,
		"psi.cpu_some": 0, "psi.memory_some": 0, "psi.io_some": 0, "cgroup.cpu": 0.02, "cgroup.memory": 120 << 20,
	}
}

func with(values map[string]float64) map[string]float64 {
	out := idleHost()
	for k, v := range values {
		out[k] = v
	}
	busy := 0.0
	for _, k := range []string{"cpu.user", "cpu.system", "cpu.iowait", "cpu.steal", "cpu.softirq"} {
		busy += out[k]
	}
	out["cpu.idle"] = max(0, 4-busy)
	return out
}

func labLoads() []labLoad {
	return []labLoad{
		{name: "network", metric: "network_receive_throughput", unit: "byte/s", counter: "byte", resource: model.ResourceNetworkReceive,
			serial: 25e6, total: uplink, pairs: true, sizes: []int{2, 3}, noise: 0.01, host: func(share float64) map[string]float64 {
				return with(map[string]float64{
					"net.rx_bytes": 12.5e6 * share, "net.tx_bytes": 12.5e6 * share, "net.rx_packets": 9e3 * share, "net.tx_packets": 9e3 * share,
					"cpu.softirq": 0.3 * share, "cpu.system": 0.4 * share, "tcp.segments_out": 9e3 * share, "tcp.retransmits": 9e3 * 0.02 * (1 - share),
				})
			}},
		{name: "disk", metric: "disk_write_throughput", unit: "byte/s", counter: "byte", resource: model.ResourceDiskWrite,
			serial: 80e6, total: linear(80e6), noise: 0.02, host: func(share float64) map[string]float64 {
				return with(map[string]float64{"disk.write_bytes": 80e6 * share, "cpu.iowait": 0.8, "cpu.system": 0.2, "psi.io_some": 0.7})
			}},
		{name: "cpu", metric: "int_ops", unit: "op/s", counter: "op", resource: model.ResourceCPU,
			serial: 12.3e6, total: func(n int) float64 { return 12.3e6 * math.Min(float64(n), 4) }, noise: 0.006,
			host: func(share float64) map[string]float64 {
				return with(map[string]float64{
					"cpu.user": 4 - 1.3*(1-share), "cpu.steal": 1.3 * (1 - share), "sched.running": 4 / share, "psi.cpu_some": 1 - share,
					"cgroup.cpu": share,
				})
			}},
		{name: "memory", metric: "memory_copy", unit: "byte/s", resource: model.ResourceMemory,
			serial: 9e9, total: linear(8.9e9), noise: 0.12, host: func(float64) map[string]float64 {
				return with(map[string]float64{"cpu.user": 1, "memory.available": 5 << 30, "cgroup.memory": 2 << 30})
			}},
	}
}

// build makes the run; scalings and ranking are what package analysis would
// say of it, by plain arithmetic.
func (l *simLab) build() (model.RunData, []model.Finding, HTMLOptions) {
	l.rng, l.at = rand.New(rand.NewPCG(11, 12)), day.Add(300*time.Millisecond)
	l.d = model.RunData{Run: model.Run{
		ID: testRun, Name: "a lab with a shared uplink", Kind: model.KindExperiment, State: model.RunDone, SourceName: "lab.yaml",
		Seed: 7, Version: "v0.2.0", Source: "fleet:\n  lab: {nodes: 8, link: 200 Mbit/s, uplink: 300 Mbit/s}\n",
		Created: day, Started: day.Add(time.Second), Finished: day.Add(21 * time.Minute),
	}}
	for i := range l.nodes {
		n := fixture{nodes: 4}.node(i)
		n.ID, n.Labels = l.node(i), map[string]string{model.LabelFleet: model.FleetLab, model.LabelGroup: "rack" + fmt.Sprint(i%2+1)}
		l.d.Nodes = append(l.d.Nodes, n)
	}
	ranking := &model.Ranking{}
	for _, x := range l.loads {
		l.load(x)
		s := l.scaling(x)
		l.results.Scalings = append(l.results.Scalings, s)
		r := model.RankedResource{Resource: x.resource, Finding: l.findings[len(l.findings)-1], Text: "Measured with " + fmt.Sprint(l.subjects(x)) + " at once."}
		if s.Limit != nil {
			r.Limits = []model.SharedLimit{*s.Limit}
		}
		ranking.Resources = append(ranking.Resources, r)
	}
	for i := range ranking.Resources {
		ranking.Resources[i].Rank = min(i+1, 3)
	}
	order := ranking.Resources
	if len(order) > 2 {
		order[1], order[2] = order[2], order[1]
		order[1].Rank, order[2].Rank = 2, 3
	}
	ranking.Unknown = []string{
		"Object storage was not measured.",
		"Disks were measured with 8 nodes at once: what more of them would do is not known.",
	}
	l.results.Ranking, l.results.Generated, l.results.Version = ranking, day, "v0.2.0"
	return l.d, l.findings, l.results
}

func (l *simLab) node(i int) model.NodeID { return model.NodeID(fmt.Sprintf("host%02d", i+1)) }

// subjects counts what is measured of a load: nodes, or neighbouring pairs.
func (l *simLab) subjects(x labLoad) int {
	if x.pairs {
		return l.nodes / 2
	}
	return l.nodes
}

// members are the nodes of a subject, and its name, "" for a node.
func (l *simLab) members(x labLoad, subject int) (nodes []int, name string) {
	if !x.pairs {
		return []int{subject}, ""
	}
	a, b := 2*subject, 2*subject+1
	return []int{a, b}, string(l.node(a)) + "+" + string(l.node(b))
}

func (l *simLab) load(x labLoad) {
	n := l.subjects(x)
	for trial := 1; trial <= l.trials; trial++ {
		for i := range n { // the order rotates, as the planner's does
			l.step(x, model.Serial, trial, []int{(i + trial) % n})
		}
		for _, size := range append(x.sizes, n) {
			var at []int
			for i := range size {
				at = append(at, (i+trial)%n)
			}
			l.step(x, model.Parallel, trial, at)
		}
	}
	l.findings = append(l.findings, l.finding(x))
}

func (l *simLab) step(x labLoad, phase model.Phase, trial int, subjects []int) {
	l.at = l.at.Add(15 * time.Second)
	number := len(l.d.Steps)
	s := model.Step{
		ID: model.NewStepID(testRun, number), Run: testRun, Number: number, Phase: phase, Workload: x.name, Trial: trial,
		Barrier: true, StartAt: l.at, State: model.StepComplete, Attempt: 1,
	}
	share := x.total(len(subjects)) / float64(len(subjects)) / x.serial
	for _, subject := range subjects {
		nodes, name := l.members(x, subject)
		for _, i := range nodes {
			task := model.Task{ID: model.NewTaskID(s.ID, len(s.Tasks)), Node: l.node(i), Position: len(s.Tasks)}
			task.Spec = model.Spec{Workload: x.name, Kind: x.name, Timeout: time.Minute, Subject: name}
			s.Tasks = append(s.Tasks, task)
			l.d.Results = append(l.d.Results, l.result(x, task, s, share, float64(len(nodes))))
		}
	}
	l.d.Steps = append(l.d.Steps, s)
}

func (l *simLab) result(x labLoad, task model.Task, s model.Step, share, ends float64) model.Result {
	start := s.StartAt.Add(time.Duration(l.rng.ExpFloat64() * float64(300*time.Microsecond)))
	length := time.Duration((l.seconds + 0.1*l.rng.Float64()) * float64(time.Second))
	v := x.serial / ends * share * (1 + x.noise*l.rng.NormFloat64())
	r := model.Result{
		Run: testRun, Step: s.ID, Task: task.ID, Attempt: 1, Node: task.Node, Outcome: model.OutcomeOK,
		Started: start, Ended: start.Add(length), ClockError: 80 * time.Microsecond,
		Samples: []model.Sample{{Metric: x.metric, Unit: x.unit, Value: v, Better: model.Higher, Resource: x.resource}},
		Host:    l.host(x.host(share), length.Seconds()),
	}
	if x.counter != "" {
		series := model.Series{Metric: x.metric, Unit: x.counter}
		for t := 1.0; t <= l.seconds; t++ {
			series.Offsets, series.Values = append(series.Offsets, int64(t*1e9)), append(series.Values, v*t*(1+0.01*l.rng.Float64()))
		}
		r.Series = []model.Series{series}
	}
	if x.pairs {
		r.Samples = append(r.Samples, model.Sample{Metric: "network_errors", Unit: "1", Info: true, Better: model.Lower},
			model.Sample{Metric: "rtt_p99", Unit: "us", Value: 900/share + 40*l.rng.Float64(), Info: true, Better: model.Lower})
		r.Histograms = []model.Histogram{histogramOf("network_rtt", "us", l.rng, 400/share, 2000)}
	}
	return r
}

// histogramOf records n values that grow from half of the middle on.
func histogramOf(metric, unit string, rng *rand.Rand, middle float64, n int) model.Histogram {
	h := hdr.New(1, 60_000_000, 3)
	for range n {
		if err := h.RecordValue(int64(middle * (0.7 + 0.3*rng.ExpFloat64()))); err != nil {
			panic(err)
		}
	}
	encoded, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	return model.Histogram{Metric: metric, Unit: unit, Encoded: string(encoded)}
}

// states are the metrics that are no counters.
var states = map[string]bool{
	"cpu.cores": true, "sched.running": true, "memory.total": true, "memory.available": true, "cgroup.memory": true,
}

// host reads once a second from 0.3 s before the start to just after the end.
func (l *simLab) host(rates map[string]float64, long float64) []model.HostSeries {
	var offsets []int64
	for t := -0.3; t < long; t++ {
		offsets = append(offsets, int64((t+0.01*l.rng.Float64())*1e9))
	}
	offsets = append(offsets, int64((long+0.02)*1e9))
	var out []model.HostSeries
	for _, metric := range sortedKeys(rates) {
		s := model.HostSeries{Metric: metric, Unit: "1", Counter: !states[metric], Offsets: offsets}
		sum := 0.0
		for i := range offsets {
			jitter := 1 + 0.05*l.rng.NormFloat64()
			switch {
			case !s.Counter && (metric == "cpu.cores" || metric == "memory.total"):
				s.Values = append(s.Values, rates[metric])
				continue
			case !s.Counter:
				s.Values = append(s.Values, rates[metric]*jitter)
				continue
			case i > 0 && offsets[i] > 0:
				began := max(offsets[i-1], 0)
				sum += rates[metric] * jitter * float64(offsets[i]-began) / 1e9
			}
			s.Values = append(s.Values, sum)
		}
		out = append(out, s)
	}
	return out
}

func sortedKeys(m map[string]float64) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// finding scores what the results carry.
func (l *simLab) finding(x labLoad) model.Finding {
	n := l.subjects(x)
	serial, parallel := make(map[string][]float64), make(map[string][]float64)
	view := newFleetView(l.d.Steps)
	byStep := resultsByStep(l.d.Results)
	var order []string
	for _, s := range l.d.Steps {
		if s.Workload != x.name || !view.scored(s) {
			continue
		}
		sums := make(map[string]float64)
		for _, r := range byStep[s.ID] {
			v, _ := sampleOf(r, x.metric)
			sums[view.subject(r)] += v
		}
		for _, subject := range subjectsOf(s) {
			if s.Phase == model.Serial {
				if len(serial[subject]) == 0 {
					order = append(order, subject)
				}
				serial[subject] = append(serial[subject], sums[subject])
			} else {
				parallel[subject] = append(parallel[subject], sums[subject])
			}
		}
	}
	var pairs []model.NodePair
	for _, subject := range order {
		pairs = append(pairs, model.NodePair{
			Node: model.NodeID(subject), Serial: meanOf(serial[subject]), Parallel: meanOf(parallel[subject]), ParallelWhole: meanOf(parallel[subject]),
		})
	}
	verdict := model.VerdictNone
	if x.total(n) < 0.9*x.serial*float64(n) {
		verdict = model.VerdictDegraded
	}
	f := fixture{workload: x.name, metric: x.metric, unit: x.unit, nodes: n, trials: l.trials, verdict: verdict}.finding(pairs, l.rng)
	f.Resource, f.Of = x.resource, model.OfNodes
	if x.pairs {
		f.Of = model.OfPairs
	}
	f.Overlap, f.StartSkewMS, f.EndSpreadMS = ptr(0.989), ptr(0.71), ptr(95.0)
	return f
}

// scaling adds up what every size did.
func (l *simLab) scaling(x labLoad) model.Scaling {
	f := l.findings[len(l.findings)-1]
	s := model.Scaling{Workload: x.name, Metric: x.metric, Unit: x.unit, Resource: x.resource, Of: f.Of}
	s.Points = []model.ScalingPoint{{Nodes: 1, Total: *f.Serial.Mean}}
	for _, size := range append(x.sizes, f.Nodes) {
		p := model.ScalingPoint{Nodes: size}
		for range l.trials {
			p.Totals = append(p.Totals, x.total(size)*(1+x.noise/2*l.rng.NormFloat64()))
		}
		p.Total = meanOf(p.Totals)
		p.CI = &model.Interval{p.Total * (1 - x.noise), p.Total * (1 + x.noise)}
		s.Points = append(s.Points, p)
	}
	if len(x.sizes) == 0 {
		return s
	}
	limit := x.total(f.Nodes)
	s.Fit = &model.ScalingFit{
		Model: "capped", Slope: x.serial, Cap: &limit, CapCI: &model.Interval{limit * 0.99, limit * 1.01}, Knee: ptr(limit / x.serial),
	}
	s.Limit = &model.SharedLimit{Total: limit, CI: s.Fit.CapCI, From: 2, To: f.Nodes,
		Text: fmt.Sprintf("the sum stays at 300 Mbit/s of payload from 2 to %d %ss", f.Nodes, f.Of)}
	return s
}

// labCase is the lab of the issue.
func labCase() (model.RunData, []model.Finding, HTMLOptions) {
	return (&simLab{nodes: 8, trials: 3, seconds: 12, loads: labLoads()}).build()
}

// bigLab is a run of the size that the page must stay small for.
func bigLab() (model.RunData, []model.Finding, HTMLOptions) {
	return (&simLab{nodes: 20, trials: 3, seconds: 300, loads: labLoads()}).build()
}

// The page of 20 nodes and 4 workloads can be mailed.
func TestPageStaysSmall(t *testing.T) {
	d, fs, o := bigLab()
	if n := len(renderWith(t, d, fs, o)); n > 2_000_000 {
		t.Errorf("the page has %d bytes, want fewer than 2,000,000", n)
	} else {
		t.Logf("the page has %d bytes", n)
	}
}
