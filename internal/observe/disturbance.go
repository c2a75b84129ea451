package observe

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Disturbance is something that the monitor saw during tasks of a workload and
// that can explain, or spoil, what was measured there.
type Disturbance struct {
	Workload string
	Kind     string // one of the kinds that checks lists
	// Worst is where it was worst; Value how bad, in the kind's own unit.
	Phase model.Phase
	Trial int
	Step  int // its number, from 0
	// Window is its number in its search, from 1, as tables of windows have it:
	// that of the complete steps of the workload and trial; 0 if it is none.
	Window int
	Node   model.NodeID
	Value  float64
	// Tasks is in how many of the Watched tasks it was beyond the threshold,
	// and Nodes on how many nodes.
	Tasks, Watched, Nodes int
	// Lost is the share of its capacity that a task can have lost to it, 0 to 1;
	// tasks that lost nothing, or not known how much, are not in it.
	Lost map[model.TaskID]float64
	// Courses are of those tasks, over their time, where that is known.
	Courses map[model.TaskID]Course
	// Where are the tasks in which it was beyond the threshold, Steps the numbers
	// of their steps.
	Where []model.TaskID
	Steps []int
	// Silent: it was nowhere beyond the threshold, and matters only where what was
	// lost to it decides.
	Silent bool
	// Event is what the master told, where it comes from that; Kind is the event's.
	Event string
}

// check is one thing to look for.
type check struct {
	kind string
	// metrics are all that it reads of the host, with those in of.
	metrics, of []string
	// value is not ok where nothing tells. Nil: how much metrics grew together
	// while the task ran, as a share of those in of where there are some.
	value func(Host) (v float64, ok bool)
	// least is how much of those in of there must be for a share of them to say
	// anything.
	least float64
	// above is the value from which on it is reported.
	above float64
	// lost is the share of its capacity that a task can have lost to it; nil:
	// not known. It is reported from lostAbove on, too, if that is set.
	lost      func(Host) float64
	lostAbove float64
	// lostIn is lost in a moment in which the run's tasks used so many processors;
	// nil: not known by moments.
	lostIn func(m Moment, own float64) float64
	// words say what was seen on a node, from the value.
	words func(v float64) string
}

// disturbing are the events of a run that say that something was amiss.
var disturbing = []model.EventKind{model.EventUnreachable, model.EventNodeSlow, model.EventServerSlow}

// Kinds of disturbances that analyses tell from the rest: by other programs, by the
// node's own CPU limit, and where a task or its machine stood still.
const (
	KindOthers    = "others"
	KindThrottled = "throttled"
	KindPause     = "pause"
)

// The thresholds; docs/methods.md has them. Steal: a hundredth. Swap, kills: any is one too
// many. Drops and retransmissions: TCP at a limit loses some packets, by which
// it finds the limit; one in a hundred costs throughput by itself (Mathis et
// al., CCR 1997: throughput falls with 1/√loss), and drops within the node's
// own interfaces should be rarer still. The kernel counts a segment that is sent
// again under its own name only. Others: a twentieth of the machine is
// beyond what the agent and the kernel's own work take; where processors are
// short, a fiftieth of what a task had is worth a word, of whatever machine. A share of few packets or
// segments, or of processor time that is counted in ticks of 10 ms, is chance.
// Throttling: a node that
// its own limit holds back measures the limit. Pauses: see pauseOf. Clock: starts are agreed to the
// millisecond.
var checks = []check{
	{kind: "steal", metrics: []string{MetricSteal}, of: CPUKinds, least: 1, above: 0.01, lost: lostToSteal, lostIn: Moment.lostToSteal, words: func(v float64) string {
		return num.Fraction(v) + " of the CPU time was stolen: the host of the virtual machine gave it to others"
	}},
	{kind: KindOthers, metrics: []string{MetricCores, MetricCgroupCPU}, value: hostOthers, above: 0.05, lost: lostToOthers, lostAbove: 0.02, lostIn: Moment.lostToOthers, words: func(v float64) string {
		return "something other than the task used " + num.Fraction(v) + " of the machine’s CPU"
	}},
	{kind: "swap", metrics: []string{MetricSwapIn, MetricSwapOut}, above: 0, words: func(v float64) string {
		return num.Bytes(int64(v)) + " of memory were swapped in or out"
	}},
	{kind: "oom", metrics: []string{MetricOOMKills}, above: 0, words: func(v float64) string {
		return "the kernel killed processes because memory ran out (" + num.Tick(math.Round(v), 1) + ")"
	}},
	{kind: "drops", metrics: []string{MetricRxDrops, MetricTxDrops}, of: []string{MetricRxPackets, MetricTxPackets}, least: 1000, above: 0.001, words: func(v float64) string {
		return shareWords(v) + " of the packets were dropped at the node’s own interfaces"
	}},
	{kind: "retransmits", metrics: []string{MetricRetransmits}, of: []string{MetricSegments, MetricRetransmits}, least: 1000, above: 0.01, words: func(v float64) string {
		return shareWords(v) + " of the TCP segments had to be sent again"
	}},
	{kind: KindThrottled, metrics: []string{MetricThrottled}, value: hostHeldBack, above: 0.01, lost: lostToLimit, words: func(v float64) string {
		return "the node’s own CPU limit held it back, by " + num.Tick(v, 0.01) + " s of waiting a second"
	}},
	{kind: KindPause, value: func(n Host) (float64, bool) { return n.pause.longest, true }, above: 0,
		lost: func(n Host) float64 { return n.partOfTask(n.pause.lost) }, words: func(v float64) string {
			return "nothing went on for " + num.Seconds(v) + ": the process or its machine stood still"
		}},
	{kind: "clock_step", value: func(n Host) (float64, bool) { return n.step, true }, above: 0.01,
		// At worst it began so much beside the others.
		lost: func(n Host) float64 { return n.partOfTask(n.step) }, words: func(v float64) string {
			return "the clock was set by " + num.Seconds(v) + " since the task before, or while this one waited for its start"
		}},
	{kind: "clock", value: hostClock, above: 0.001, words: func(v float64) string {
		return "the clock was known to ± " + num.Seconds(v) + ", which does not tell the start skew"
	}},
}

// Disturbances judges the host series and the clocks of the results that count,
// once. There is one a workload and kind, in order of the steps; none where
// nothing is amiss or nothing was watched.
func (r *Run) Disturbances() []Disturbance {
	return slices.DeleteFunc(r.Losses(), func(d Disturbance) bool { return d.Silent })
}

// Losses are the disturbances, and those that took something from tasks without
// being worth a word by themselves.
func (r *Run) Losses() []Disturbance { return slices.Clone(r.disturbances()) }

func (r *Run) findDisturbances() []Disturbance {
	var metrics []string
	for _, c := range checks {
		metrics = slices.Concat(metrics, c.metrics, c.of)
	}
	if r.Need(Hosts, metrics...) != nil || r.Need(Series) != nil { // Err tells
		return nil
	}
	return append(r.disturbedTasks(), r.disturbingEvents()...)
}

// disturbedTasks holds every task that counts against every check.
func (r *Run) disturbedTasks() []Disturbance {
	type kind struct{ workload, kind string }
	var order []kind
	found := make(map[kind]*worstOf)
	windows, hosts := windowNumbers(r.Steps()), r.hostsOf()
	for _, s := range r.Steps() {
		seen := hosts(s)
		for i, result := range r.Accepted(s.ID) {
			for _, c := range checks {
				k := kind{s.Workload, c.kind}
				if found[k] == nil {
					found[k] = &worstOf{check: c, nodes: make(map[model.NodeID]bool),
						worst: Disturbance{Lost: make(map[model.TaskID]float64)}}
					order = append(order, k)
				}
				found[k].take(s, windows[s.ID], result, seen[i])
			}
		}
	}
	var out []Disturbance
	for _, k := range order {
		if t := found[k]; len(t.nodes)+len(t.worst.Lost) > 0 {
			out = append(out, t.disturbance())
		}
	}
	return out
}

// hostsOf returns what was seen of the nodes during the results of a step that
// count, in their order. It is to be asked for the steps in theirs: clocks are
// followed from one to the next.
func (r *Run) hostsOf() func(model.Step) []Host {
	machines, limited, clocks, facts := r.machines(), r.limited(), make(clocks), r.facts()
	return func(s model.Step) []Host {
		skew := math.NaN()
		if times := r.Times(s); times.N > 1 {
			skew = times.Skew().Seconds()
		}
		results, kinds := r.Accepted(s.ID), make(map[model.TaskID]string)
		for _, t := range s.Tasks {
			kinds[t.ID] = t.Spec.Kind
		}
		hosts := make([]Host, len(results))
		for i, x := range results {
			hosts[i] = NewHost(x, x.Started)
			hosts[i].skew, hosts[i].pause, hosts[i].step = skew, pauseOf(x, kinds[x.Task]), clocks.step(x)
			hosts[i].limited, hosts[i].limit = limited[x.Node], facts[x.Node].CPULimit
		}
		strangers(hosts, machines)
		return hosts
	}
}

// disturbingEvents are what the master told of nodes and of itself, each text
// once.
func (r *Run) disturbingEvents() []Disturbance {
	var out []Disturbance
	told := make(map[string]bool)
	for _, e := range r.Events() {
		if slices.Contains(disturbing, e.Kind) && !told[e.Text] {
			told[e.Text] = true
			out = append(out, Disturbance{Kind: string(e.Kind), Node: e.Node, Event: e.Text})
		}
	}
	return out
}

// windowNumbers counts the complete steps of each search, from 1; other steps
// have no number.
func windowNumbers(steps []model.Step) map[model.StepID]int {
	type search struct {
		workload string
		trial    int
	}
	sofar, out := make(map[search]int), make(map[model.StepID]int)
	for _, s := range steps {
		if of := (search{s.Workload, s.Trial}); s.Phase == model.Search && s.State == model.StepComplete {
			sofar[of]++
			out[s.ID] = sofar[of]
		}
	}
	return out
}

// worstOf finds the worst and counts the rest.
type worstOf struct {
	check check
	worst Disturbance
	nodes map[model.NodeID]bool
}

func (t *worstOf) take(s model.Step, window int, r model.Result, n Host) {
	v, ok := t.check.seen(n)
	if !ok || !num.Finite(v) {
		return
	}
	d := &t.worst
	d.Watched++
	share := 0.0
	if t.check.lost != nil {
		// The counters' clocks differ by ticks: nothing takes more than all.
		if share = min(t.check.lost(n), 1); share > 0 {
			d.Lost[r.Task] = share
		}
		if course := t.check.course(n, share); len(course.Moments) > 1 {
			if d.Courses == nil {
				d.Courses = make(map[model.TaskID]Course)
			}
			d.Courses[r.Task] = course
		}
	}
	told := v > t.check.above || t.check.lostAbove > 0 && share > t.check.lostAbove
	if told {
		d.Tasks++
		d.Where = append(d.Where, r.Task)
		if !slices.Contains(d.Steps, s.Number) {
			d.Steps = append(d.Steps, s.Number)
		}
		t.nodes[r.Node] = true
	}
	first := d.Kind == "" || told && d.Tasks == 1
	if (told || d.Tasks == 0 && share > 0) && (first || v > d.Value) {
		d.Workload, d.Kind, d.Phase, d.Trial, d.Step = s.Workload, t.check.kind, s.Phase, s.Trial, s.Number
		d.Window, d.Node, d.Value = window, r.Node, v
	}
}

func (t *worstOf) disturbance() Disturbance {
	n := t.worst
	n.Nodes, n.Silent = len(t.nodes), n.Tasks == 0
	return n
}

// shareWords prints a small share with enough digits to tell it from nothing.
func shareWords(v float64) string {
	if v < 0.001 {
		return num.Tick(100*v, 0.01) + " %"
	}
	return num.Fraction(v)
}

// seen is the value of a check on a node.
func (c check) seen(n Host) (float64, bool) {
	if c.value != nil {
		return c.value(n)
	}
	part, ok := n.growths(c.metrics)
	if len(c.of) == 0 {
		return part, ok
	}
	whole, known := n.growths(c.of)
	if !ok || !known || whole <= 0 || whole < c.least {
		return 0, false
	}
	return min(part/whole, 1), true // the counters of a machine are read one after the other
}

// growths adds several counters, as far as they were read.
func (n Host) growths(metrics []string) (sum float64, ok bool) {
	for _, m := range metrics {
		if v, read := n.growth(m); read {
			sum, ok = sum+v, true
		}
	}
	return sum, ok
}

// growth is the counter at the end of the task less that at its start; false
// where it was not read.
func (n Host) growth(metric string) (float64, bool) {
	r := n.Readings(metric)
	if len(r.Times) < 2 {
		return 0, false
	}
	return r.Between(n.Begin, n.End), true
}

// The kernel counts processor time in ticks, those around the task included: in
// a task of less than short seconds they are taken from what is seen, and one of
// less than shortest has too few of them to be judged.
const (
	short, shortest = 1, 0.1
	ticks           = 0.02 // seconds a core, at both ends of the task
)

// hostOthers is the share of the machine's processors that was spent on
// anything but the task.
func hostOthers(n Host) (float64, bool) {
	cores := n.Readings(MetricCores)
	lasted := n.End - n.Begin
	if len(cores.Values) == 0 || cores.Values[0] <= 0 || !num.Finite(n.Others) || lasted < shortest {
		return 0, false
	}
	share := n.Others / cores.Values[0]
	if lasted < short {
		share = max(0, share-ticks/lasted)
	}
	return min(share, 1), true
}

// hostHeldBack is how long the limit of the node's control group kept it
// waiting, in seconds a second; the kernel adds up all cores, so that it can
// exceed 1. A limit that the experiment set is what it measures.
func hostHeldBack(n Host) (float64, bool) {
	v, ok := n.growth(MetricThrottled)
	if !ok || n.limited || n.End <= n.Begin {
		return 0, false
	}
	return v / (n.End - n.Begin), true
}
