package observe

import (
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// CoreSpeed is how fast a busy core was in a phase of a workload, as a share of
// one that is busy alone, on average over the tasks that count, of parallel steps
// those of the largest: by the calibration of each node's machine, and by how many
// of its cores were busy. Between one and all of them it is taken as linear. ok is
// false where a node was not calibrated or not watched.
func (r *Run) CoreSpeed(workload string, phase model.Phase) (speed float64, ok bool) {
	if r.Need(Hosts, CPURunning...) != nil { // Err tells
		return 0, false
	}
	facts := r.facts()
	var speeds []float64
	largest := Fleet(r.Steps())[workload]
	for _, s := range r.Steps() {
		if s.Workload != workload || s.Phase != phase || phase == model.Parallel && len(Subjects(s)) < largest {
			continue
		}
		for _, x := range r.Accepted(s.ID) {
			f, busy := facts[x.Node], NewHost(x, x.Started).busy()
			if f.CoresTogether <= 0 || f.Cores < 2 || !(busy >= 0) {
				return 0, false
			}
			beside := min(max(busy-1, 0)/float64(f.Cores-1), 1)
			speeds = append(speeds, 1-(1-f.CoresTogether)*beside)
		}
	}
	speed, err := stats.Mean(speeds)
	return speed, err == nil
}

// facts are those of each node.
func (r *Run) facts() map[model.NodeID]model.Facts {
	out := make(map[model.NodeID]model.Facts)
	for _, n := range r.Nodes() {
		out[n.ID] = n.Facts
	}
	return out
}

// Quota is what a node whose CPU the experiment limits used while it was watched.
type Quota struct {
	Seconds float64 // of a core
	Share   float64 // of what the limit allows
}

// Quotas are those of the results of a step that count, by task, as far as they are
// known.
func (r *Run) Quotas(s model.Step) map[model.TaskID]Quota {
	if r.Need(Hosts, MetricCgroupCPU) != nil { // Err tells
		return nil
	}
	facts, limited, out := r.facts(), r.limited(), make(map[model.TaskID]Quota)
	for _, x := range r.Accepted(s.ID) {
		used := NewHost(x, x.Started).Readings(MetricCgroupCPU)
		if last := len(used.Times) - 1; last > 0 && limited[x.Node] {
			seconds := used.Values[last] - used.Values[0]
			out[x.Task] = Quota{Seconds: seconds, Share: seconds / (used.Times[last] - used.Times[0]) / facts[x.Node].CPULimit}
		}
	}
	return out
}
