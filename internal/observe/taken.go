package observe

import (
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// Taken is what others surely took of a task's machine while the task ran, in
// processors on average.
type Taken struct {
	Machine string
	Used    float64 // by the task's node
	Others  float64 // by what is none of the run's, at least, while processors were short
}

// TakenProcessors is known of those results of a step that count whose machine was
// watched with all nodes of the step that are on it. What others used counts less two
// amounts: all processors in the time in which these were not short, for others may have
// used them then; and as much as was idle else, which the tasks might have left idle, too.
func (r *Run) TakenProcessors(s model.Step) map[model.TaskID]Taken {
	if r.Need(Hosts, append([]string{MetricCores, MetricCgroupCPU}, CPUKinds...)...) != nil { // Err tells
		return nil
	}
	machines, results := r.machines(), r.Accepted(s.ID)
	hosts, own := make([]Host, len(results)), make(map[string][]Readings) // of one clock
	for i, x := range results {
		hosts[i] = NewHost(x, results[0].Started)
		if name, known := machines[x.Node]; known {
			own[name] = append(own[name], hosts[i].Readings(MetricCgroupCPU))
		}
	}
	out := make(map[model.TaskID]Taken)
	for i, x := range results {
		if taken, known := hosts[i].taken(own[machines[x.Node]]); known {
			taken.Machine = machines[x.Node]
			out[x.Task] = taken
		}
	}
	return out
}

// taken looks at each moment of the node's task; own are readings of what each node of the
// run on its machine used.
func (n Host) taken(own []Readings) (out Taken, known bool) {
	moments := n.moments()
	if len(moments) == 0 || len(own) == 0 || slices.ContainsFunc(own, func(r Readings) bool { return len(r.Times) < 2 }) {
		return Taken{}, false
	}
	var used walk
	for _, r := range own {
		used = append(used, walked{Readings: r})
	}
	used.to(n.Begin)
	for _, m := range moments {
		lasted := m.To - m.From
		others := m.Busy - used.to(n.Begin+m.To)/lasted
		idle := max(0, m.Cores-m.Busy-m.Stolen)
		out.Others += max(0, min(others, m.Cores)-(1-m.Short)*m.Cores-idle*m.Short) * lasted / (n.End - n.Begin)
	}
	grown, _ := n.growth(MetricCgroupCPU)
	out.Used = grown / (n.End - n.Begin)
	return out, out.Used > 0
}
