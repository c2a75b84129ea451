package microbench

import (
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
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
	if x := network[1]; x.Idle == nil || math.Abs(*x.Idle-300e-6) > 1e-12 || x.Throughput == nil || *x.Throughput != 1e6 || x.Loaded != nil {
		t.Errorf("a>b is %+v, want 300 µs idle and 1 MB/s", x)
	}
	if s := Section(switches, network); len(s.Blocks) != 3 || len(s.Blocks[1].Table.Rows) != 1 || len(s.Blocks[2].Table.Rows) != 2 {
		t.Errorf("section %+v, want a figure, a row of a node and two of connections", s)
	}
}
