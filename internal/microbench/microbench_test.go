package microbench

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/unit"
)

// measured is a run with one step for each value of a metric.
type measured struct{ data model.RunData }

func (m *measured) add(kind string, trial int, metric, label string, values map[model.NodeID]float64) {
	s := model.Step{ID: model.NewStepID("R", len(m.data.Steps)), Run: "R", Number: len(m.data.Steps), Phase: model.Parallel, Workload: kind, Trial: trial, State: model.StepComplete, Attempt: 1}
	for subject, v := range values {
		task := model.Task{ID: model.NewTaskID(s.ID, len(s.Tasks)), Node: subject, Position: len(s.Tasks), Spec: model.Spec{Kind: kind, Subject: string(subject)}}
		s.Tasks = append(s.Tasks, task)
		x := model.Sample{Metric: metric, Unit: "u", Value: v, Better: model.Lower}
		if label != "" {
			x.Labels = map[string]string{"threads": label}
		}
		m.data.Results = append(m.data.Results, model.Result{Run: "R", Step: s.ID, Task: task.ID, Attempt: 1, Node: subject, Outcome: model.OutcomeOK, Samples: []model.Sample{x}})
	}
	m.data.Steps = append(m.data.Steps, s)
}

// TestRead: means over trials, of the steps in which the fewest worked at once; a
// connection is of a platform if both ends are; other workloads are none of it.
func TestRead(t *testing.T) {
	var m measured
	m.add("context_switch", 1, "context_switch_time", "8", map[model.NodeID]float64{"a": 1000})
	m.add("context_switch", 2, "context_switch_time", "8", map[model.NodeID]float64{"a": 2000})
	m.add("context_switch", 1, "context_switch_time", "8", map[model.NodeID]float64{"a": 9000, "b": 9000})
	m.add("network", 1, "rtt_idle_p50", "", map[model.NodeID]float64{"a>b": 300})
	m.add("network", 1, "network_send_throughput", "", map[model.NodeID]float64{"a>b": 1e6})
	m.add("network", 1, "network_receive_throughput", "", map[model.NodeID]float64{"a>b": 3e6})
	m.add("network", 2, "network_receive_throughput", "", map[model.NodeID]float64{"a>b": 5e6})
	m.add("network", 1, "rtt_idle_p50", "", map[model.NodeID]float64{"b+c": 100})
	m.add("load", 1, "rtt_p50", "", map[model.NodeID]float64{"c": 7})
	place := map[model.NodeID]string{"a": "em", "b": "em", "c": "ec2"}
	switches, network := Read(observe.Of(m.data), func(n model.NodeID) string { return place[n] })
	if len(switches) != 1 || switches[0].Cost != 1500 || switches[0].Threads != 8 || switches[0].Platform != "em" || switches[0].Trials != 2 || switches[0].CI == nil {
		t.Errorf("switches %+v, want 1500 ns of a alone, over two trials", switches)
	}
	if len(network) != 2 || network[0].Platform != "" || network[0].Subject != "b+c" || network[1].Platform != "em" {
		t.Fatalf("network %+v, want b+c between platforms and a>b on em", network)
	}
	if x := network[1]; x.Idle == nil || math.Abs(*x.Idle-300e-6) > 1e-12 || x.Sent == nil || *x.Sent != 1e6 || x.Received == nil || *x.Received != 4e6 || x.ReceivedCI == nil || x.SentCI != nil || x.Workload != "network" || x.Loaded != nil {
		t.Errorf("a>b is %+v, want 300 µs idle and 1 MB/s", x)
	}
	if s := Section(switches, network); len(s.Blocks) != 3 || len(s.Blocks[1].Table.Rows) != 1 || len(s.Blocks[2].Table.Rows) != 2 {
		t.Errorf("section %+v, want a figure, a row of a node and two of connections", s)
	}
}

// TestMessages: round trips of each size are those of their connection, in seconds, from
// the smallest message on.
func TestMessages(t *testing.T) {
	var m measured
	base, bytes := 1e-4*(1+rand.Float64()), 1e7*(1+rand.Float64())
	for trial := 1; trial <= 2; trial++ {
		for _, size := range []unit.Size{unit.MiB, 1, 64 * unit.KiB} {
			m.add("network", trial, "message_rtt_p50", "", map[model.NodeID]float64{"a>b": 1e6 *
				(base + 2*float64(size)/bytes) * (.8 + .2*float64(trial%2)*2)})
			m.data.Results[len(m.data.Results)-1].Samples[0].Labels = map[string]string{"size": size.String()}
		}
	}
	_, network := Read(observe.Of(m.data), func(model.NodeID) string { return "" })
	if len(network) != 1 || len(network[0].Messages) != 3 {
		t.Fatalf("network %+v, want three sizes", network)
	}
	for i, size := range []int64{1, 64 << 10, 1 << 20} {
		got, want := network[0].Messages[i], base+2*float64(size)/bytes
		if got.Size != size || math.Abs(got.RTT/want-1) > 1e-9 || got.CI == nil {
			t.Errorf("message %+v, want %v s of %d bytes", got, want, size)
		}
	}
	if s := Section(nil, network); len(s.Blocks) != 2 || s.Blocks[1].Figure == nil {
		t.Errorf("section %+v, want a figure beside the table", s)
	}
}

// TestSeveralWorkloads: what two workloads measured of one pair, or of one node, is not
// added up, nor averaged.
func TestSeveralWorkloads(t *testing.T) {
	var m measured
	for name, factor := range map[string]float64{"one": 1, "two": 3} {
		m.add("network", 1, "network_send_throughput", "", map[model.NodeID]float64{"a>b": factor * 1e6})
		m.data.Steps[len(m.data.Steps)-1].Workload = name
		m.add("context_switch", 1, "context_switch_time", "8", map[model.NodeID]float64{"a": factor * 1000})
		m.data.Steps[len(m.data.Steps)-1].Workload = name + " switch"
	}
	switches, network := Read(observe.Of(m.data), func(model.NodeID) string { return "" })
	if len(network) != 2 || network[0].Workload != "one" || *network[0].Sent != 1e6 || *network[1].Sent != 3e6 {
		t.Errorf("network %+v, want 1 MB/s of one and 3 MB/s of two", network)
	}
	if c := Mean(switches, func(Switch) bool { return true }); len(switches) != 2 || len(c) != 1 || c[0].Cost != 1e-6 {
		t.Errorf("switches %+v, curve %v, want that of the first, 1 µs", switches, c)
	}
	if s := Section(switches, network); len(s.Blocks) != 3 || len(s.Blocks[1].Table.Rows) != 2 || len(s.Blocks[2].Table.Rows) != 2 {
		t.Errorf("section %+v, want a row for each workload", s)
	}
}
