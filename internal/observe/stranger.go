package observe

import (
	"math"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// SharedMachine reports whether several nodes are of one machine.
func (r *Run) SharedMachine() bool {
	seen := make(map[string]bool)
	for _, machine := range r.machines() {
		if seen[machine] {
			return true
		}
		seen[machine] = true
	}
	return false
}

// SharedCores are the processors of the machine that all nodes are of; 0: there are several
// machines, or one node, or it is not known.
func (r *Run) SharedCores() float64 {
	nodes, machines := r.Nodes(), r.machines()
	if len(nodes) < 2 {
		return 0
	}
	for _, n := range nodes {
		if name := machines[n.ID]; name == "" || name != machines[nodes[0].ID] {
			return 0
		}
	}
	return float64(nodes[0].Facts.Cores)
}

// machines says on which machine each node is, as far as it is known.
func (r *Run) machines() map[model.NodeID]string {
	out := make(map[model.NodeID]string)
	for _, x := range r.Nodes() {
		if machine := x.Machine(); machine != "" {
			out[x.ID] = machine
		}
	}
	return out
}

// limited are the nodes whose CPU limit the experiment set: hosts of a lab.
func (r *Run) limited() map[model.NodeID]bool {
	out := make(map[model.NodeID]bool)
	for _, x := range r.Nodes() {
		out[x.ID] = x.Labels[model.LabelFleet] == model.FleetLab && x.Facts.CPULimit > 0
	}
	return out
}

// strangers takes from the others of each task what other tasks of the step took
// on the same machine: those are the fleet itself. To the node that was watched
// longest all others are strangers; what the rest took of that, each in its own
// time, is known.
func strangers(hosts []Host, machines map[model.NodeID]string) {
	together := make(map[string][]int)
	for i, h := range hosts {
		if name, known := machines[h.Node]; known {
			together[name] = append(together[name], i)
		}
	}
	for _, on := range together {
		if len(on) < 2 {
			continue
		}
		longest, most, own := 0, 0.0, 0.0 // own: of all tasks, in seconds of a core
		for _, i := range on {
			busy, seconds := hosts[i].watched()
			own += (busy - hosts[i].Others) * seconds
			if seconds > most {
				longest, most = i, seconds
			}
		}
		busy, seconds := hosts[longest].watched()
		none := max(0, (busy*seconds-own)/seconds)
		for _, i := range on {
			hosts[i].Others = none
		}
	}
}

// watched is how many of the machine's processors were busy over all readings, as
// Others is, not only while the task ran; and how long that is. NaN where it is
// not known.
func (n Host) watched() (busy, seconds float64) {
	sum, from, to := 0.0, math.Inf(1), math.Inf(-1)
	for _, metric := range CPURunning {
		if r := n.Readings(metric); len(r.Times) > 1 {
			last := len(r.Times) - 1
			sum += r.Values[last] - r.Values[0]
			from, to = min(from, r.Times[0]), max(to, r.Times[last])
		}
	}
	if !(to > from) {
		return math.NaN(), math.NaN()
	}
	return sum / (to - from), to - from
}

// busy is how many of the machine's processors ran something while the task did;
// NaN where it is not known.
func (n Host) busy() float64 {
	v, ok := n.growths(CPURunning)
	if !ok || n.End <= n.Begin {
		return math.NaN()
	}
	return v / (n.End - n.Begin)
}

// Shares of the machine's CPU time that are idle. With less than scarce the
// processors were short: in moments, and on some of them, nothing was idle. With
// more than plenty a stranger takes nothing of what anything else wants. Between
// them it is the more likely the less is idle.
const (
	scarce = 0.1
	plenty = 0.3
)

// partOfTask is so much time as a share of the task's.
func (n Host) partOfTask(seconds float64) float64 {
	if n.End <= n.Begin {
		return 0
	}
	return min(seconds/(n.End-n.Begin), 1)
}

// short is the share of the task's time in which the machine's processors were
// short, from one reading of the monitor to the next: a stranger may work in
// bursts.
func (n Host) short() float64 {
	short := 0.0
	for _, m := range n.moments() {
		short += (m.To - m.From) * m.Short
	}
	return n.partOfTask(short)
}

// walk goes along several counters in step, so that each reading is looked at
// once.
type walk []walked

type walked struct {
	Readings
	at    int // index of the reading that was reached
	value float64
}

// walk begins at the start of the task, with those counters that were read.
func (n Host) walk(metrics ...string) walk {
	var out walk
	for _, metric := range metrics {
		if r := n.Readings(metric); len(r.Times) > 1 {
			out = append(out, walked{Readings: r})
		}
	}
	out.to(n.Begin)
	return out
}

// to goes on to a moment, and returns how much the counters grew until then.
func (w walk) to(moment float64) float64 {
	grown := 0.0
	for i := range w {
		value, at := stats.Interpolate(w[i].Times, w[i].Values, moment, w[i].at)
		grown += value - w[i].value
		w[i].at, w[i].value = at, value
	}
	return grown
}

// lostToOthers is the share of what ran on the machine that was none of the
// run's tasks, at most in all of the time in which processors were short.
func lostToOthers(n Host) float64 {
	busy, cores := n.busy(), n.Readings(MetricCores)
	if !(n.Others > 0) || !(busy > 0) || len(cores.Values) == 0 {
		return 0
	}
	lost := Moment{Busy: busy, Cores: cores.Values[0], Short: n.short()}.lostToOthers(busy - n.Others)
	return min(lost, n.belowLimit())
}

// belowLimit is the share of what the node's own limit allows that it did not use.
// Without others it would have used no more than all of it. 1 where there is no
// limit, or it is not known what was used.
func (n Host) belowLimit() float64 {
	used, ok := n.growth(MetricCgroupCPU)
	if allowed := n.limit * (n.End - n.Begin); ok && allowed > 0 {
		return max(0, 1-used/allowed)
	}
	return 1
}

// lostToSteal is the share that was stolen of what would else have run. Only a
// processor that wants to run is stolen from: that others are idle does not help
// it.
func lostToSteal(n Host) float64 {
	stolen, ok := n.growth(MetricSteal)
	ran, okRan := n.growths(CPURunning)
	if !ok || !okRan {
		return 0
	}
	return Moment{Stolen: stolen, Busy: ran}.lostToSteal(0)
}

// lostToLimit is the share of what would have run that a limit kept from it.
func lostToLimit(n Host) float64 {
	held, ok := hostHeldBack(n)
	used, okUsed := n.growth(MetricCgroupCPU)
	if !ok || !okUsed || held <= 0 {
		return 0
	}
	return held / (held + used/(n.End-n.Begin))
}
