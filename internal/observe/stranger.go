package observe

import (
	"math"

	"github.com/scalebench/scalebench/internal/model"
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

// machines says on which machine each node is, as far as it is known: processes
// of a local fleet and hosts of a lab are on the server's, agents on that with
// the boot id of their kernel.
func (r *Run) machines() map[model.NodeID]string {
	out := make(map[model.NodeID]string)
	for _, x := range r.Nodes() {
		machine := x.Facts.BootID
		if x.Managed() {
			machine = "the server"
		}
		if machine != "" {
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
// on the same machine: those are the fleet itself. To each node all others are
// strangers, o = b − own, of all that ran on the machine, b; so Σo − (n−1)·b is
// what none of them is.
func strangers(hosts []Host, machines map[model.NodeID]string) {
	type machine struct{ n, others, busy float64 }
	sums := make(map[string]machine)
	for _, h := range hosts {
		if name, known := machines[h.Node]; known {
			m := sums[name]
			sums[name] = machine{m.n + 1, m.others + h.Others, m.busy + h.watchedBusy()}
		}
	}
	for i, h := range hosts {
		m := sums[machines[h.Node]]
		if m.n > 1 {
			hosts[i].Others = max(0, m.others-(m.n-1)*m.busy/m.n)
		}
	}
}

// watchedBusy is busy over all readings, as Others is, not only while the task
// ran.
func (n Host) watchedBusy() float64 {
	sum, from, to := 0.0, math.Inf(1), math.Inf(-1)
	for _, metric := range CPURunning {
		if r := n.Readings(metric); len(r.Times) > 1 {
			last := len(r.Times) - 1
			sum += r.Values[last] - r.Values[0]
			from, to = min(from, r.Times[0]), max(to, r.Times[last])
		}
	}
	if !(to > from) {
		return math.NaN()
	}
	return sum / (to - from)
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

// scarce is the share of the machine's CPU time below which what is idle says
// that the processors were short: in moments, and on some of them, nothing was.
const scarce = 0.1

// short reports whether the machine's processors were short during the task. A
// stranger takes nothing of what is idle.
func (n Host) short() bool {
	idle, okIdle := n.growths([]string{MetricIdle, MetricIOWait})
	all, okAll := n.growths(CPUKinds)
	return okIdle && okAll && all > 0 && idle < scarce*all
}

// lostToOthers is the share of what ran on the machine that was none of the
// run's tasks, where processors were short.
func lostToOthers(n Host) float64 {
	if busy := n.busy(); n.short() && n.Others > 0 && busy > 0 {
		return min(n.Others/busy, 1)
	}
	return 0
}

// lostToSteal is the share that was stolen of what would else have run, where
// processors were short.
func lostToSteal(n Host) float64 {
	stolen, ok := n.growth(MetricSteal)
	ran, okRan := n.growths(CPURunning)
	if !ok || !okRan || !n.short() || stolen <= 0 {
		return 0
	}
	return stolen / (stolen + ran)
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
