package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Fixture is a run with its nodes and steps. Every step has one task a node.
type Fixture struct {
	Run   model.Run
	Nodes []model.Node
	Steps []model.Step
}

// epoch is when the fixtures happen; its nanoseconds are all different, so
// that a lost digit shows.
var epoch = time.Date(2031, 2, 3, 4, 5, 6, 123456789, time.UTC)

// New returns a fixture. seq makes ids differ, and later fixtures newer.
func New(seq, nodes, steps int) Fixture {
	f := Fixture{Run: newRun(seq)}
	for i := range nodes {
		n := newNode(i)
		n.Startups = []model.Startup{{Requested: epoch, Took: 1234567 * time.Microsecond}, {Requested: epoch.Add(time.Hour), Took: 1}}
		f.Nodes = append(f.Nodes, n)
	}
	for i := range steps {
		f.Steps = append(f.Steps, newStep(f, i))
	}
	return f
}

func newRun(seq int) model.Run {
	return model.Run{
		ID:         model.RunID(fmt.Sprintf("01JAVA%020d", seq)),
		Name:       "resources of four clouds",
		Kind:       model.KindExperiment,
		State:      model.RunPending,
		SourceName: "clouds.yaml",
		Source:     "name: resources\nworkloads:\n  - kind: cpu # ünïcode\n",
		Seed:       -1 << 63,
		Server:     "NSERVER", Version: "v0.1.0",
		Created: epoch.Add(time.Duration(seq) * time.Hour),
	}
}

func newNode(i int) model.Node {
	return model.Node{
		ID:        model.NodeID(fmt.Sprintf("node-%d.example:8000", i)),
		PublicKey: fmt.Sprintf("UKEY%d", i),
		Labels:    map[string]string{"rack": fmt.Sprint(i % 3), "weird key": "a=b, \"c\" <&> \u2028"},
		Facts: model.Facts{
			Hostname: fmt.Sprintf("node-%d", i), Addresses: []string{"192.0.2.1", "2001:db8::1"},
			OS: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.1.0", Arch: "amd64",
			CPUModel: "Some CPU @ 2.40GHz", Cores: 2, CPULimit: 1.5, Microcode: "0x5003604", Hypervisor: "kvm",
			Memory: 1<<53 + 1, MemLimit: 1 << 30,
			Disks: []model.Disk{{Name: "vda", Size: 1<<62 + 1, Model: "QEMU", Rotational: true}},
			Cloud: &model.CloudInfo{Provider: "aws", InstanceType: "m5.large", Zone: "eu-west-1a", InstanceID: "i-1"},
			Agent: "v0.1.0",
		},
		Registered: epoch.Add(time.Duration(i) * time.Nanosecond),
	}
}

func newStep(f Fixture, number int) model.Step {
	st := model.Step{
		ID: model.NewStepID(f.Run.ID, number), Run: f.Run.ID, Number: number,
		Phase: model.Parallel, Workload: "cpu", Trial: number + 1, Barrier: number%2 == 0, State: model.StepPending,
	}
	if number > 0 { // steps of a batch have none
		st.Treatment = model.Treatment{Study: "pools", Label: "pool of 8, \x00", Block: number, NotBefore: time.Duration(number) * time.Hour,
			Levels: map[string]any{"pool": 8.0, "huge": 1e300, "list": []any{1.0, "two"}}}
	}
	for i, n := range f.Nodes {
		st.Tasks = append(st.Tasks, model.Task{ID: model.NewTaskID(st.ID, i), Node: n.ID, Position: i, Spec: newSpec()})
	}
	return st
}

// newSpec has parameters of every type that a file can bring.
func newSpec() model.Spec {
	return model.Spec{
		Workload: "cpu", Kind: "command",
		Params: map[string]any{
			"command": "cd /tmp && ls * | wc -l", "threads": 2.0, "ratio": 0.1, "tiny": 5e-324, "huge": 1e300, "on": true, "none": nil,
			"list": []any{1.0, "two", map[string]any{"three": 3.0}},
		},
		Timeout: 90*time.Second + time.Nanosecond, OutputLimit: 64 << 10, ArtifactLimit: 1 << 40,
	}
}

// Start stores the fixture and begins the first attempt at every step.
func (f Fixture) Start(ctx context.Context, s store.Store) error {
	if err := s.CreateRun(ctx, f.Run, f.Nodes, f.Steps); err != nil {
		return err
	}
	for _, st := range f.Steps {
		if _, err := s.BeginAttempt(ctx, st.ID); err != nil {
			return err
		}
	}
	return nil
}

// Result returns a result with everything in it, of the task at a position of
// a step.
func (f Fixture) Result(step, position, attempt int) model.Result {
	st := f.Steps[step]
	started := epoch.Add(time.Duration(step) * time.Minute)
	code := position % 3
	r := model.Result{
		Run: f.Run.ID, Step: st.ID, Task: st.Tasks[position].ID, Attempt: attempt, Node: st.Tasks[position].Node,
		Outcome: model.OutcomeOK, Started: started, Ended: started.Add(time.Minute + time.Nanosecond),
		ClockOffset: -1234567 * time.Nanosecond, ClockError: 89 * time.Nanosecond, ExitCode: &code,
		Stdout: model.Output{Text: "score 17.25\n", Total: 12},
		Stderr: model.Output{Text: "head … tail", Total: 1 << 40, Truncated: true, Artifact: "stderr", ArtifactCut: true},
		Series: []model.Series{series("throughput", "op", 60, 1e6/3.0), series("written", "byte", 60, 4096)},
		Host:   hostSeries(),
		Histograms: []model.Histogram{
			{Metric: "latency", Unit: "us", Encoded: "HISTFAAAABx4nJNpmSzMwMDAxAABzFCaEUoz2X+AMAATHAK8"},
			{Metric: "first_byte", Unit: "us", Second: 3},
		},
	}
	for i := range 3 {
		r.Samples = append(r.Samples, model.Sample{
			Metric: fmt.Sprintf("metric%d", i), Unit: "op/s", Value: float64(position) + 0.1*float64(i), Better: model.Higher,
			Labels: map[string]string{"copies": fmt.Sprint(i)}, Resource: model.ResourceNetworkReceive, Info: i == 1,
		})
	}
	r.Samples = append(r.Samples, model.Sample{Metric: "latency", Unit: "ns", Value: 12, Better: model.Lower})
	return r
}

// Results returns a result for every task, of the first attempt.
func (f Fixture) Results() []model.Result {
	var all []model.Result
	for i, st := range f.Steps {
		for j := range st.Tasks {
			all = append(all, f.Result(i, j, 1))
		}
	}
	return all
}

// series grows by about rate a second, in steps of about a second.
func series(metric, unit string, points int, rate float64) model.Series {
	s := model.Series{Metric: metric, Unit: unit}
	for i := range points {
		jitter := int64(i*i*7919%100_000) - 50_000
		s.Offsets = append(s.Offsets, int64(i+1)*int64(time.Second)+jitter)
		s.Values = append(s.Values, float64(i+1)*rate)
	}
	return s
}

// hostSeries are of all sorts: metrics that were read together, a state among
// counters, one that came later, and one without points.
func hostSeries() []model.HostSeries {
	together := []int64{-5e8, 499_999_123, 1_500_004_567, 2_499_998_001}
	return []model.HostSeries{
		{Metric: "cpu.user", Unit: "s", Counter: true, Offsets: together, Values: []float64{0, 0.99, 2.01, 2.98}},
		{Metric: "memory.free", Unit: "byte", Offsets: together, Values: []float64{1 << 33, 1<<33 - 4096, 0, 17}},
		{Metric: "disk.vdb.reads", Unit: "1", Counter: true, Offsets: together[2:], Values: []float64{0, 12}},
		{Metric: "net.rx_bytes", Unit: "byte", Counter: true, Offsets: together, Values: []float64{0, 1e9, 2e9, 1 << 52}},
		{Metric: "no points"},
	}
}
