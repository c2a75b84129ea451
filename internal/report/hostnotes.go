package report

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/stats"
)

// HostNote is something that the monitor saw during tasks of a workload and
// that can explain, or spoil, what was measured there.
type HostNote struct {
	Workload string
	Kind     string // one of the kinds that hostChecks lists
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

// hostCheck is one thing to look for. Its value is not ok where the monitor
// does not tell.
type hostCheck struct {
	kind string
	// above is the value from which on it is told.
	above float64
	value func(hostNode) (v float64, ok bool)
	// alone limits the check to the serial phase where nodes share a machine:
	// in the parallel phase the others are the fleet itself.
	alone bool
	// words say what was seen on a node, from the value.
	words func(v float64) string
}

// The thresholds. Steal: what the issue asks for. Swap, kills: any is one too
// many. Drops and retransmissions: TCP at a limit loses some packets, by which
// it finds the limit; one in a hundred costs throughput by itself (Mathis et
// al., CCR 1997: throughput falls with 1/√loss), and drops within the node's
// own interfaces should be rarer still. Others: a twentieth of the machine is
// beyond what the agent and the kernel's own work take. Throttling: a node that
// its own limit holds back measures the limit.
var hostChecks = []hostCheck{
	{kind: "steal", above: 0.01, value: hostStolen, words: func(v float64) string {
		return num.Fraction(v) + " of the CPU time was stolen: the host of the virtual machine gave it to others"
	}},
	{kind: "others", above: 0.05, value: hostOthers, alone: true, words: func(v float64) string {
		return "something else than the task took " + num.Fraction(v) + " of the machine’s CPU"
	}},
	{kind: "swap", above: 0, value: hostSwapped, words: func(v float64) string {
		return num.Bytes(int64(v)) + " of memory were swapped in or out"
	}},
	{kind: "oom", above: 0, value: grown(hostOOMKills), words: func(v float64) string {
		return "the kernel killed processes for want of memory (" + num.Tick(math.Round(v), 1) + ")"
	}},
	{kind: "drops", above: 0.001, value: hostDropped, words: func(v float64) string {
		return shareWords(v) + " of the packets were dropped at the node’s own interfaces"
	}},
	{kind: "retransmits", above: 0.01, value: hostRetransmitted, words: func(v float64) string {
		return shareWords(v) + " of the TCP segments had to be sent again"
	}},
	{kind: "throttled", above: 0.01, value: hostHeldBack, words: func(v float64) string {
		return "the node’s own CPU limit held it back, by " + num.Tick(v, 0.01) + " s of waiting a second"
	}},
}

// HostNotes judges the host series of the results that count. One note a
// workload and kind, in order of the steps; nothing where nothing is amiss or
// nothing was watched.
func HostNotes(d model.RunData) []HostNote {
	accepted, shared := resultsByStep(d.Accepted()), shareMachine(d.Nodes)
	var order []noteKey
	notes := make(map[noteKey]*noteTally)
	for _, s := range d.Steps {
		for _, r := range accepted[s.ID] {
			if len(r.Host) == 0 {
				continue
			}
			n := newHostNode(r, r.Started)
			for _, c := range hostChecks {
				if c.alone && shared && s.Phase != model.Serial {
					continue
				}
				k := noteKey{s.Workload, c.kind}
				if notes[k] == nil {
					notes[k] = &noteTally{check: c, nodes: make(map[model.NodeID]bool)}
					order = append(order, k)
				}
				notes[k].take(s, r, n)
			}
		}
	}
	var out []HostNote
	for _, k := range order {
		if t := notes[k]; len(t.nodes) > 0 {
			out = append(out, t.note())
		}
	}
	return out
}

// shareMachine reports whether several nodes are of one machine, as processes
// of a local fleet and hosts of a lab are.
func shareMachine(nodes []model.Node) bool {
	n := 0
	for _, x := range nodes {
		switch x.Labels[model.LabelFleet] {
		case model.FleetLocal, model.FleetLab:
			n++
		}
	}
	return n > 1
}

type noteKey struct{ workload, kind string }

// noteTally finds the worst and counts the rest.
type noteTally struct {
	check   hostCheck
	worst   HostNote
	tasks   int
	watched int
	nodes   map[model.NodeID]bool
}

func (t *noteTally) take(s model.Step, r model.Result, n hostNode) {
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
		t.worst = HostNote{Workload: s.Workload, Kind: t.check.kind, Phase: s.Phase, Trial: s.Trial, Node: r.Node, Value: v}
	}
}

func (t *noteTally) note() HostNote {
	n := t.worst
	n.Tasks, n.Watched, n.Nodes = t.tasks, t.watched, len(t.nodes)
	n.Text = table.Clean(fmt.Sprintf("%s: %s on %s in %s trial %d", n.Workload, t.check.words(n.Value), n.Node, n.Phase, n.Trial))
	if n.Tasks > 1 {
		n.Text += fmt.Sprintf(" (the worst of %s on %s, of %d watched)",
			count(n.Tasks, "task"), count(n.Nodes, "node"), n.Watched)
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

// grown is how much a counter grew while the task ran.
func grown(metric string) func(hostNode) (float64, bool) {
	return func(n hostNode) (float64, bool) { return n.growth(metric) }
}

// growth is the counter at the end of the task less that at its start; false
// where it was not read.
func (n hostNode) growth(metric string) (float64, bool) {
	r := n.series(metric)
	if len(r.times) < 2 {
		return 0, false
	}
	before, k := stats.Interpolate(r.times, r.values, n.begin, 0)
	after, _ := stats.Interpolate(r.times, r.values, n.end, k)
	return after - before, true
}

// growths adds several counters, as far as they were read.
func (n hostNode) growths(metrics ...string) (sum float64, ok bool) {
	for _, m := range metrics {
		if v, read := n.growth(m); read {
			sum, ok = sum+v, true
		}
	}
	return sum, ok
}

// share is one counter's growth of another's; false where either is unknown or
// the whole did not grow.
func (n hostNode) share(part, whole []string) (float64, bool) {
	p, ok := n.growths(part...)
	w, known := n.growths(whole...)
	if !ok || !known || w <= 0 {
		return 0, false
	}
	return p / w, true
}

func hostStolen(n hostNode) (float64, bool) { return n.share([]string{hostSteal}, cpuKinds) }

func hostSwapped(n hostNode) (float64, bool) { return n.growths(hostSwapIn, hostSwapOut) }

func hostDropped(n hostNode) (float64, bool) {
	return n.share([]string{hostRxDrops, hostTxDrops}, []string{hostRxPackets, hostTxPackets})
}

func hostRetransmitted(n hostNode) (float64, bool) {
	return n.share([]string{hostRetransmits}, []string{hostSegments})
}

// hostOthers is the share of the machine's processors that was spent on
// anything but the task.
func hostOthers(n hostNode) (float64, bool) {
	cores := n.series(hostCores)
	if len(cores.values) == 0 || cores.values[0] <= 0 || !num.Finite(n.others) {
		return 0, false
	}
	return n.others / cores.values[0], true
}

// hostHeldBack is how long the limit of the node's control group kept it
// waiting, in seconds a second; the kernel adds up all cores, so that it can
// exceed 1.
func hostHeldBack(n hostNode) (float64, bool) {
	v, ok := n.growth(hostThrottled)
	if !ok || n.end <= n.begin {
		return 0, false
	}
	return v / (n.end - n.begin), true
}
