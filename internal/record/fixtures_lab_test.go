package record

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
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
}

// uplink is 4 links of 200 Mbit/s into 300: CDI 62.5 %.
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

// build makes the run.
func (l *simLab) build() model.RunData {
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
	for _, x := range l.loads {
		l.load(x)
	}
	return l.d
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
	for _, metric := range slices.Sorted(maps.Keys(rates)) {
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

// labCase is a lab with a network that ends at an uplink.
func labCase() model.RunData {
	return (&simLab{nodes: 8, trials: 3, seconds: 12, loads: labLoads()}).build()
}
