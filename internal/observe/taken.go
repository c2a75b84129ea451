package observe

import "github.com/scalebench/scalebench/internal/model"

// Taken is what others surely took of a task's machine while the task ran, in
// processors on average.
type Taken struct {
	Machine string
	Used    float64 // by the task's node
	Others  float64 // by what is none of the run's, at least, while processors were short
}

// TakenProcessors is known of those results of a step that count whose machine was
// watched with all nodes of the step that are on it. Of what others used as much does
// not count as was idle: the tasks might have left that idle, too.
func (r *Run) TakenProcessors(s model.Step) map[model.TaskID]Taken {
	if r.Need(Hosts, append([]string{MetricCores, MetricCgroupCPU}, CPUKinds...)...) != nil { // Err tells
		return nil
	}
	machines, results := r.machines(), r.Accepted(s.ID)
	on := make(map[string][]Host)
	for _, x := range results {
		if name, known := machines[x.Node]; known {
			on[name] = append(on[name], NewHost(x, results[0].Started)) // of one clock
		}
	}
	out := make(map[model.TaskID]Taken)
	for _, x := range results {
		hosts := on[machines[x.Node]]
		if taken, known := NewHost(x, results[0].Started).taken(hosts); known {
			taken.Machine = machines[x.Node]
			out[x.Task] = taken
		}
	}
	return out
}

// taken looks at each moment of the node's task; hosts are all of the run on its
// machine.
func (n Host) taken(hosts []Host) (out Taken, known bool) {
	moments, own := n.moments(), make([]Readings, len(hosts))
	for i, h := range hosts {
		if own[i] = h.Readings(MetricCgroupCPU); len(own[i].Times) < 2 {
			return Taken{}, false
		}
	}
	if len(moments) == 0 || len(hosts) == 0 {
		return Taken{}, false
	}
	for _, m := range moments {
		from, to := n.Begin+m.From, n.Begin+m.To
		others := m.Busy
		for _, r := range own {
			others -= r.between(from, to) / (to - from)
		}
		idle := max(0, m.Cores-m.Busy-m.Stolen)
		out.Others += max(0, min(others, m.Cores)-(1-m.Short)*m.Cores-idle*m.Short) * (to - from) / (n.End - n.Begin)
	}
	used, _ := n.growth(MetricCgroupCPU)
	out.Used = used / (n.End - n.Begin)
	return out, out.Used > 0
}
