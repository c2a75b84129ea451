package observe

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Disturbance is something that the monitor saw during tasks of a workload and
// that can explain, or spoil, what was measured there.
type Disturbance struct {
	Workload string
	Kind     string // one of the kinds that checks lists
	// Worst is where it was worst; Value how bad, in the kind's own unit.
	Phase model.Phase
	Trial int
	Node  model.NodeID
	Value float64
	// Tasks is in how many of the Watched tasks it was beyond the threshold,
	// and Nodes on how many nodes.
	Tasks, Watched, Nodes int
	// Text says all of it in a sentence without its full stop.
	Text string
}

// check is one thing to look for. Its value is not ok where the monitor
// does not tell.
type check struct {
	kind string
	// above is the value from which on it is told.
	above float64
	value func(Host) (v float64, ok bool)
	// alone limits the check to the serial phase where nodes share a machine:
	// in the parallel phase the others are the fleet itself.
	alone bool
	// words say what was seen on a node, from the value.
	words func(v float64) string
}

// The thresholds; docs/methods.md has them. Steal: a hundredth. Swap, kills: any is one too
// many. Drops and retransmissions: TCP at a limit loses some packets, by which
// it finds the limit; one in a hundred costs throughput by itself (Mathis et
// al., CCR 1997: throughput falls with 1/√loss), and drops within the node's
// own interfaces should be rarer still. Others: a twentieth of the machine is
// beyond what the agent and the kernel's own work take. Throttling: a node that
// its own limit holds back measures the limit.
var checks = []check{
	{kind: "steal", above: 0.01, value: share([]string{MetricSteal}, CPUKinds), words: func(v float64) string {
		return num.Fraction(v) + " of the CPU time was stolen: the host of the virtual machine gave it to others"
	}},
	{kind: "others", above: 0.05, value: hostOthers, alone: true, words: func(v float64) string {
		return "something other than the task used " + num.Fraction(v) + " of the machine’s CPU"
	}},
	{kind: "swap", above: 0, value: grown(MetricSwapIn, MetricSwapOut), words: func(v float64) string {
		return num.Bytes(int64(v)) + " of memory were swapped in or out"
	}},
	{kind: "oom", above: 0, value: grown(MetricOOMKills), words: func(v float64) string {
		return "the kernel killed processes for want of memory (" + num.Tick(math.Round(v), 1) + ")"
	}},
	{kind: "drops", above: 0.001, value: share([]string{MetricRxDrops, MetricTxDrops}, []string{MetricRxPackets, MetricTxPackets}), words: func(v float64) string {
		return shareWords(v) + " of the packets were dropped at the node’s own interfaces"
	}},
	{kind: "retransmits", above: 0.01, value: share([]string{MetricRetransmits}, []string{MetricSegments}), words: func(v float64) string {
		return shareWords(v) + " of the TCP segments had to be sent again"
	}},
	{kind: "throttled", above: 0.01, value: hostHeldBack, words: func(v float64) string {
		return "the node’s own CPU limit held it back, by " + num.Tick(v, 0.01) + " s of waiting a second"
	}},
}

// Disturbances judges the host series of the results that count, once. There
// is one a workload and kind, in order of the steps; none where nothing is
// amiss or nothing was watched.
func (r *Run) Disturbances() []Disturbance { return r.disturbances() }

func (r *Run) findDisturbances() []Disturbance {
	type kind struct{ workload, kind string }
	if r.Need(Hosts) != nil { // Err tells
		return nil
	}
	shared := r.SharedMachine()
	var order []kind
	found := make(map[kind]*worstOf)
	for _, s := range r.Steps() {
		for _, r := range r.Accepted(s.ID) {
			if len(r.Host) == 0 {
				continue
			}
			n := NewHost(r, r.Started)
			for _, c := range checks {
				if c.alone && shared && s.Phase != model.Serial {
					continue
				}
				k := kind{s.Workload, c.kind}
				if found[k] == nil {
					found[k] = &worstOf{check: c, nodes: make(map[model.NodeID]bool)}
					order = append(order, k)
				}
				found[k].take(s, r, n)
			}
		}
	}
	var out []Disturbance
	for _, k := range order {
		if t := found[k]; len(t.nodes) > 0 {
			out = append(out, t.disturbance())
		}
	}
	return out
}

// SharedMachine reports whether several nodes are of one machine, as processes
// of a local fleet and hosts of a lab are.
func (r *Run) SharedMachine() bool {
	n := 0
	for _, x := range r.Nodes() {
		switch x.Labels[model.LabelFleet] {
		case model.FleetLocal, model.FleetLab:
			n++
		}
	}
	return n > 1
}

// worstOf finds the worst and counts the rest.
type worstOf struct {
	check   check
	worst   Disturbance
	tasks   int
	watched int
	nodes   map[model.NodeID]bool
}

func (t *worstOf) take(s model.Step, r model.Result, n Host) {
	v, ok := t.check.value(n)
	if !ok || !num.Finite(v) {
		return
	}
	t.watched++
	if v <= t.check.above {
		return
	}
	t.tasks++
	t.nodes[r.Node] = true
	if t.tasks == 1 || v > t.worst.Value {
		t.worst = Disturbance{Workload: s.Workload, Kind: t.check.kind, Phase: s.Phase, Trial: s.Trial, Node: r.Node, Value: v}
	}
}

func (t *worstOf) disturbance() Disturbance {
	n := t.worst
	n.Tasks, n.Watched, n.Nodes = t.tasks, t.watched, len(t.nodes)
	n.Text = fmt.Sprintf("%s: %s on %s in %s trial %d", n.Workload, t.check.words(n.Value), n.Node, n.Phase, n.Trial)
	if n.Tasks > 1 {
		n.Text += fmt.Sprintf(" (the worst of %s on %s, of %d watched)",
			num.Count(n.Tasks, "task"), num.Count(n.Nodes, "node"), n.Watched)
	}
	return n
}

// shareWords prints a small share with enough digits to tell it from nothing.
func shareWords(v float64) string {
	if v < 0.001 {
		return num.Tick(100*v, 0.01) + " %"
	}
	return num.Fraction(v)
}

// grown is how much several counters grew while the task ran, as far as they
// were read.
func grown(metrics ...string) func(Host) (float64, bool) {
	return func(n Host) (sum float64, ok bool) {
		for _, m := range metrics {
			if v, read := n.growth(m); read {
				sum, ok = sum+v, true
			}
		}
		return sum, ok
	}
}

// growth is the counter at the end of the task less that at its start; false
// where it was not read.
func (n Host) growth(metric string) (float64, bool) {
	r := n.Readings(metric)
	if len(r.Times) < 2 {
		return 0, false
	}
	before, k := stats.Interpolate(r.Times, r.Values, n.Begin, 0)
	after, _ := stats.Interpolate(r.Times, r.Values, n.End, k)
	return after - before, true
}

// share is some counters' growth of others'; false where either is unknown or
// the whole did not grow.
func share(part, whole []string) func(Host) (float64, bool) {
	return func(n Host) (float64, bool) {
		p, ok := grown(part...)(n)
		w, known := grown(whole...)(n)
		if !ok || !known || w <= 0 {
			return 0, false
		}
		return p / w, true
	}
}

// hostOthers is the share of the machine's processors that was spent on
// anything but the task.
func hostOthers(n Host) (float64, bool) {
	cores := n.Readings(MetricCores)
	if len(cores.Values) == 0 || cores.Values[0] <= 0 || !num.Finite(n.Others) {
		return 0, false
	}
	return n.Others / cores.Values[0], true
}

// hostHeldBack is how long the limit of the node's control group kept it
// waiting, in seconds a second; the kernel adds up all cores, so that it can
// exceed 1.
func hostHeldBack(n Host) (float64, bool) {
	v, ok := n.growth(MetricThrottled)
	if !ok || n.End <= n.Begin {
		return 0, false
	}
	return v / (n.End - n.Begin), true
}
