package record

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// day is when all synthetic runs begin.
var day = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

const testRun = model.RunID("01KJ2Q8Z7V3N5XW9T4B6C8D0EF")

func ptr[T any](v T) *T { return &v }

// fixture makes a run by simulation: capacities of nodes are drawn, and
// results and series follow from them by plain arithmetic.
type fixture struct {
	seed     uint64
	nodes    int
	trials   int
	workload string
	metric   string
	unit     string // of the sample
	counter  string // of the series; "" publishes none
	serial   float64
	sd       float64 // of serial capacities over nodes, relative
	// factor is what node i keeps of its serial capacity in parallel.
	factor func(i int) float64
	// length is how long node i works in a parallel trial, in seconds; nil: 10.
	length func(i int) float64
}

// build returns the run.
func (x fixture) build() model.RunData {
	rng := rand.New(rand.NewPCG(x.seed, 7))
	d := model.RunData{Run: model.Run{
		ID: testRun, Name: "disks of zone b", Kind: model.KindExperiment, State: model.RunDone,
		SourceName: "disks.yaml", Seed: 42, Version: "v0.1.0",
		Source:  "name: disks of zone b\nfleet:\n  local: {nodes: " + fmt.Sprint(x.nodes) + "}\nworkloads:\n  - name: " + x.workload + "\n    kind: cpu\n",
		Created: day, Started: day.Add(300 * time.Millisecond), Finished: day.Add(4*time.Minute + 12*time.Second),
	}}
	for i := range x.nodes {
		d.Nodes = append(d.Nodes, x.node(i))
	}
	x.addSteps(&d, x.pairs(rng), rng)
	return d
}

func nodeName(i int) model.NodeID { return model.NodeID(fmt.Sprintf("n%d", i+1)) }

func (x fixture) node(i int) model.Node {
	n := model.Node{
		ID: nodeName(i), Labels: map[string]string{"rack": fmt.Sprint(i/8 + 1)}, Registered: day.Add(-time.Hour),
		Facts: model.Facts{
			Hostname: fmt.Sprintf("worker-%03d", i+1), Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)},
			OS: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.1.0-28-amd64", Arch: "amd64",
			CPUModel: "AMD EPYC 7R13 Processor", Cores: 8, Microcode: "0xa0011d5", Hypervisor: "kvm",
			Memory: 16 << 30, Agent: "v0.1.0",
			Cloud: &model.CloudInfo{Provider: "aws", InstanceType: "c6a.2xlarge", Zone: "eu-west-1b", InstanceID: fmt.Sprintf("i-%08x", i)},
		},
	}
	if x.nodes > 8 && i == x.nodes/2 {
		n.Facts.CPUModel, n.Facts.Microcode = "AMD EPYC 9R14", "0xa101148"
	}
	return n
}

// pair is what a node does alone and with the others.
type pair struct{ serial, parallel float64 }

func (x fixture) pairs(rng *rand.Rand) []pair {
	var out []pair
	for i := range x.nodes {
		s := x.serial * (1 + x.sd*rng.NormFloat64())
		p := s * x.factor(i) * (1 + x.sd*rng.NormFloat64())
		out = append(out, pair{s, p})
	}
	return out
}

func (x fixture) addSteps(d *model.RunData, pairs []pair, rng *rand.Rand) {
	at := d.Run.Started
	for trial := 1; trial <= x.trials; trial++ {
		for i := range x.nodes {
			s := x.step(len(d.Steps), model.Serial, trial, []int{i})
			at = at.Add(time.Second)
			d.Steps = append(d.Steps, s)
			d.Results = append(d.Results, x.result(s, i, 0, at, 10*time.Second, pairs[i].serial, rng))
		}
		all := make([]int, x.nodes)
		for i := range all {
			all[i] = i
		}
		s := x.step(len(d.Steps), model.Parallel, trial, all)
		d.Steps = append(d.Steps, s)
		for i := range x.nodes {
			long := 10.0
			if x.length != nil {
				long = x.length(i)
			}
			start := at.Add(time.Duration(rng.ExpFloat64() * float64(400*time.Microsecond)))
			length := time.Duration((long + 0.05*rng.Float64()) * float64(time.Second))
			d.Results = append(d.Results, x.result(s, i, i, start, length, pairs[i].parallel, rng))
		}
	}
}

func (x fixture) step(number int, phase model.Phase, trial int, nodes []int) model.Step {
	id := model.NewStepID(testRun, number)
	s := model.Step{
		ID: id, Run: testRun, Number: number, Phase: phase, Workload: x.workload, Trial: trial,
		Barrier: phase == model.Parallel, State: model.StepComplete, Attempt: 1,
	}
	for pos, i := range nodes {
		s.Tasks = append(s.Tasks, model.Task{
			ID: model.NewTaskID(id, pos), Node: nodeName(i), Position: pos,
			Spec: model.Spec{Workload: x.workload, Kind: "cpu", Timeout: time.Minute},
		})
	}
	return s
}

func (x fixture) result(s model.Step, node, pos int, at time.Time, long time.Duration, capacity float64, rng *rand.Rand) model.Result {
	r := model.Result{
		Run: testRun, Step: s.ID, Task: model.NewTaskID(s.ID, pos), Attempt: 1, Node: nodeName(node),
		Outcome: model.OutcomeOK, Started: at, Ended: at.Add(long), ClockError: 90 * time.Microsecond,
		Samples: []model.Sample{{Metric: x.metric, Unit: x.unit, Value: capacity, Better: model.Higher}},
	}
	if x.counter == "" {
		return r
	}
	series := model.Series{Metric: x.metric, Unit: x.counter}
	done, step := 0.0, 500*time.Millisecond
	for t := step; t <= long; t += step {
		done += capacity * step.Seconds() * (1 + 0.04*rng.NormFloat64())
		series.Offsets = append(series.Offsets, t.Nanoseconds())
		series.Values = append(series.Values, done)
	}
	r.Series = []model.Series{series}
	return r
}

// quarter is 4 nodes on 2 cores, 2 threads each: CDI 75 % by arithmetic.
func quarter() fixture {
	return fixture{
		seed: 1, nodes: 4, trials: 3, workload: "cpu", metric: "int_ops", unit: "op/s", counter: "op",
		serial: 12.3e6, sd: 0.006, factor: func(int) float64 { return 0.25 },
	}
}

// channels is 20 nodes like Fig. 5(c): some share a storage channel with one
// other node, some with three.
func channels() fixture {
	return fixture{
		seed: 2, nodes: 20, trials: 2, workload: "raid0", metric: "write", unit: "MB/s", counter: "byte",
		serial: 958, sd: 0.02,
		factor: func(i int) float64 { return []float64{1, 0.5, 0.25, 0.5, 0.25}[i%5] },
		length: func(i int) float64 { return []float64{8, 9, 10, 9, 10}[i%5] },
	}
}

// trouble is a run with an invalid step, failed tasks, and events.
func trouble() model.RunData {
	d := channels().build()
	addTrouble(&d)
	return d
}

func addTrouble(d *model.RunData) { addTroubleTo(d, 6) }

// addTroubleTo makes one node fail in the last step.
func addTroubleTo(d *model.RunData, node int) {
	d.Run.State, d.Run.Reason = model.RunIncomplete, "1 step has no valid attempt"
	last := &d.Steps[len(d.Steps)-1]
	last.State, last.Attempt, last.Reason = model.StepInvalid, 3, "node n7 was lost in 3 attempts"
	for attempt := 1; attempt <= 3; attempt++ {
		d.Results = append(d.Results, model.Result{
			Run: testRun, Step: last.ID, Task: last.Tasks[node].ID, Attempt: attempt, Node: nodeName(node),
			Outcome: model.OutcomeFailed, Error: "command ended with an error", ExitCode: ptr(2),
			Stderr: model.Output{Text: "fio: looks like your file system does not support direct=1/buffered=0\nfio: destination does not support O_DIRECT\n", Total: 112},
		})
	}
	d.Events = []model.Event{
		{Time: day.Add(time.Second), Run: testRun, Kind: model.EventRunState, Severity: model.Info, Text: "running"},
		{Time: day.Add(90 * time.Second), Run: testRun, Node: "n7", Kind: model.EventNodeLost, Severity: model.Problem, Text: "not heard of for 10 s"},
		{Time: day.Add(95 * time.Second), Run: testRun, Step: last.ID, Kind: model.EventRetry, Severity: model.Warning, Text: "step 42 is tried again (2 of 3)"},
	}
}

// cancelled is a run that was stopped early.
func cancelled() model.RunData {
	d := quarter().build()
	d.Run.State, d.Run.Reason = model.RunCancelled, "cancelled by ana with Ctrl-C"
	d.Steps, d.Results = d.Steps[:3], d.Results[:2]
	d.Steps[2].State, d.Steps[2].Attempt = model.StepPending, 0
	return d
}

// batch is a run of a job file in which one of three jobs failed.
func batch() model.RunData {
	s := model.Step{ID: "s", Run: testRun, Phase: model.Batch, Workload: "jobs", Trial: 1, State: model.StepComplete, Attempt: 1}
	d := model.RunData{Run: model.Run{
		ID: testRun, Kind: model.KindBatch, State: model.RunDone, SourceName: "job.json", Created: day, Started: day, Finished: day.Add(time.Minute),
	}}
	for i := range 3 {
		task := model.Task{ID: model.NewTaskID("s", i), Node: nodeName(i), Position: i, Spec: model.Spec{Workload: "jobs", Kind: "command"}}
		r := model.Result{Run: testRun, Step: "s", Task: task.ID, Attempt: 1, Node: task.Node, Outcome: model.OutcomeOK, Started: day, Ended: day.Add(time.Second)}
		if i == 1 {
			r.Outcome, r.ExitCode, r.Stderr.Text = model.OutcomeFailed, ptr(127), "no such program\n"
		}
		s.Tasks, d.Results = append(s.Tasks, task), append(d.Results, r)
	}
	d.Steps = []model.Step{s}
	return d
}
