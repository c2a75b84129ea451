package compare

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// layout is independent values of both sides: what the rows come to when those
// that depend on each other are taken together.
type layout struct {
	// Of is what a value is: "row", "node", "trial", "run", "repetition", "block",
	// or a fact that the user named.
	Of string
	// Paired: A[i] belongs to B[i].
	Paired bool
	// Rows: each row is a value, in the order of measurement.
	Rows bool
	// Trials: a value is what was measured at about one time, so that two of them
	// show what changes with time. Once: all of a side was measured in one trial.
	Trials, Once bool
	// Nodes: values of one node are only compared with others of the same node.
	Nodes bool
	A, B  []float64 // in the unit of the metric
	// TimesA and TimesB are when each was measured, in seconds; nil: not known, or
	// values have no order.
	TimesA, TimesB []float64
	// Successive is how many values in the order of time were averaged again,
	// because neighbours depend on each other; 1: none. Where there are too few for
	// that, Correlation is that of neighbours, and n values count for n·(1−r)/(1+r).
	Successive  int
	Correlation float64
	// Crossing is by what factor the interval must be wider, for it has the scatter of
	// nodes or that of trials, and there are both; 0: it need not.
	Crossing float64
	groups   [2][]frame.RowGroup // the rows of each value of A and B in time
}

// fewest is how many values of each side, or pairs, an interval is made of at
// least: two tell of their scatter next to nothing.
const fewest = 3

// laying is the way from rows to layouts.
type laying struct {
	*Params
	matched
	typical bool   // values are averaged on the scale of logarithms
	alone   bool   // neighbours in time are taken as independent
	subject string // the fact that says which node it was
	notes   *model.Doubts
}

// layouts are the ways in which the rows can be taken for independent values. The
// one with the widest interval counts: it heeds the dependence that matters most.
func (l *laying) layouts() []layout {
	if facts := l.pairs(); len(facts) > 0 {
		return []layout{l.paired(facts...)}
	}
	if l.Cluster != "" {
		return []layout{l.unpaired(l.Cluster)}
	}
	sameNodes, nodes := l.nodes()
	out := append(l.byNodes(sameNodes, nodes), l.twice()...)
	if !sameNodes {
		out = append(out, l.alike(nodes > 0)...)
	}
	return out
}

// byNodes are the layouts by what is known of nodes and of time.
func (l *laying) byNodes(sameNodes bool, nodes int) []layout {
	inTime, ok := l.inTime(sameNodes, fewest)
	numbered := l.numbered()
	switch {
	case ok || nodes < 2:
	case numbered:
		inTime, ok = l.inTime(sameNodes, 2)
	default:
		inTime, ok = l.inRounds(sameNodes)
	}
	once := !ok && (numbered || l.once())
	switch {
	case sameNodes && ok: // these nodes, if they were measured again
		return []layout{inTime}
	case sameNodes:
		l.oneTrial(once)
		pairs := l.paired(l.subject).untimed()
		pairs.Nodes, pairs.Once = true, once
		return []layout{pairs}
	case nodes == 0 && ok && !inTime.Paired && slices.Contains([]string{frame.FactBlock, frame.FactTrial}, inTime.Of):
		return append([]layout{inTime}, l.passes(inTime.Of)...)
	case nodes == 0 && ok:
		return []layout{inTime}
	case nodes == 0:
		return []layout{{Of: "row", Rows: true, A: l.a.Values, B: l.b.Values, TimesA: seconds(l.a.Times),
			TimesB: seconds(l.b.Times)}}
	case nodes < fewest && ok:
		l.notes.Warn("these_nodes", "one side has %s: this is about these nodes, and tells nothing of others of their kind", num.Count(nodes, "node"))
		return []layout{inTime}
	}
	byNode := l.unpaired(l.subject)
	if ok {
		byNode.Crossing = l.crossing(inTime)
		inTime.Crossing = byNode.Crossing
		return []layout{byNode, inTime}
	}
	if nodes >= fewest {
		l.oneTrial(once)
		byNode.Once = once
	}
	return []layout{byNode}
}

// numbered reports whether it is known of all rows in which trial or block they were
// measured.
func (l *laying) numbered() bool {
	return slices.ContainsFunc([]string{frame.FactBlock, frame.FactTrial}, func(fact string) bool {
		_, _, all := l.groups(fact)
		return all
	})
}

// once reports whether each node of a side was measured once.
func (l *laying) once() bool {
	return len(l.a.GroupBy(l.subject)) == l.a.Len() || len(l.b.GroupBy(l.subject)) == l.b.Len()
}

// oneTrial says that trials are not known, and so not what all nodes share; that all
// was measured once is said as what leaves no answer.
func (l *laying) oneTrial(once bool) {
	if !once {
		l.notes.Warn("few_trials", "it is not known which rows were measured at about the same time: what changes "+
			"from trial to trial for all nodes is not in the interval")
	}
}

// nodes reports whether both sides have the same nodes, at least two; and how many
// the side with fewer has, 0 where they are not known.
func (l *laying) nodes() (same bool, fewer int) {
	a, b, all := l.groups(l.subject)
	if len(a) == 0 || len(b) == 0 {
		return false, 0
	}
	if !all {
		l.notes.Problem("unknown_nodes", "the node is not known of all rows, so it is not known which depend on each other")
		return false, 0
	}
	fewer = min(len(a), len(b))
	if l.Pair == "none" {
		return false, fewer
	}
	common, index := 0, frame.GroupsByKey(b)
	for _, g := range a {
		if o, has := index[g.Key]; has && l.oneMachine(g.Rows, o.Rows) {
			common++
		}
	}
	if common < len(a) || common < len(b) {
		if common > 0 {
			l.notes.Warn("other_nodes", "the sides have %s in common, of %d and %d: they are compared as if all were different", num.Count(common, "node"), len(a), len(b))
		}
		return false, fewer
	}
	return true, fewer
}

// oneMachine reports whether nodes of one name are one machine: a cloud gives the
// name of a node to another instance.
func (l *laying) oneMachine(rowsA, rowsB []int) bool {
	a, b := l.a.Fact("instance"), l.b.Fact("instance")
	if a == nil || b == nil {
		return true
	}
	x, y := a.Level(rowsA[0]), b.Level(rowsB[0])
	return x == "" || y == "" || x == y
}

// inTime takes together what was measured at once: the coarsest of repetition,
// run, block and trial of which both sides have so many, or two runs beside more. Where
// both sides have the same ones, and not only the same numbers, values are paired.
func (l *laying) inTime(sameNodes bool, least int) (layout, bool) {
	for _, facts := range [][]string{{frame.FactRepetition}, {frame.FactRun}, {frame.FactRun, frame.FactBlock}, {frame.FactBlock}, {frame.FactRun, frame.FactTrial}, {frame.FactTrial}} {
		a, b, all := l.groups(facts...)
		if !all {
			continue
		}
		of := facts[len(facts)-1]
		fewer, more, enough := min(len(a), len(b)), max(len(a), len(b)), least
		runs := more >= fewest && (of == frame.FactRepetition || of == frame.FactRun)
		if runs { // that differ: what is finer would leave that out
			enough = 2
		}
		if fewer < enough {
			if runs {
				l.notes.Problem("one_"+of, "one side is of %s and the other of %d: how much %ss differ is not known of both", num.Count(fewer, of), more, of)
			}
			continue
		}
		common, index := 0, frame.GroupsByKey(b)
		for _, g := range a {
			if _, has := index[g.Key]; has {
				common++
			}
		}
		same := l.together || facts[0] == frame.FactRun // elsewhere trial 1 is another trial
		if l.Pair != "none" && same && common >= least && 2*common > max(len(a), len(b)) {
			var out layout
			if sameNodes {
				out = l.within(facts, a, b)
			} else {
				out = l.paired(facts...)
			}
			out.Of, out.Nodes, out.Trials = of, sameNodes, true
			return out, true
		}
		if sameNodes {
			a, b = l.complete(a, b)
			if min(len(a), len(b)) < enough {
				continue
			}
		}
		out := l.averaged(of, a, b)
		out.Nodes, out.Trials, out.groups = sameNodes, true, [2][]frame.RowGroup{a, b}
		return out, true
	}
	return layout{}, false
}

// complete are the groups that have all nodes: without one the others' mean is of
// other nodes.
func (l *laying) complete(a, b []frame.RowGroup) (_, _ []frame.RowGroup) {
	nodes := len(l.a.GroupBy(l.subject))
	a, leftA := l.full(l.a, a, nodes)
	b, leftB := l.full(l.b, b, nodes)
	if leftA+leftB > 0 {
		l.incomplete(leftA + leftB)
	}
	return a, b
}

// full are the groups that have so many nodes; left is how many rows the others have.
func (l *laying) full(f *frame.Frame, groups []frame.RowGroup, nodes int) (full []frame.RowGroup, left int) {
	x := f.Fact(l.subject)
	for _, g := range groups {
		seen := make(map[uint16]bool)
		for _, row := range g.Rows {
			seen[x.Codes[row]] = true
		}
		if len(seen) < nodes {
			left += len(g.Rows)
			continue
		}
		full = append(full, g)
	}
	return full, left
}

func (l *laying) incomplete(left int) {
	l.notes.Warn("incomplete", "%s left out: not all nodes were measured in their trial or round", num.Count(left, "row"))
}

// describe is what counts as an independent value, for people.
func (x *layout) describe() string {
	of := frame.InWords(x.Of)
	text := "Each row counts as an independent value"
	switch {
	case x.Paired && x.Nodes && (x.Of == frame.FactSubject || slices.Contains(frame.Machines, x.Of)):
		text = "Values are compared on the same " + x.Of + ": each " + x.Of + " is a pair of values"
	case x.Paired && x.Nodes:
		text = "Values of the same " + of + " are compared, on the same nodes: each " + of + " is a pair of values"
	case x.Paired:
		text = "Values of the same " + of + " are compared: each " + of + " is a pair of values"
	case x.Nodes:
		text = "Both sides have the same nodes: the mean over them is a value, one a " + of
	case !x.Rows:
		text = "Rows of one " + of + " depend on each other: their mean is a value"
	}
	if x.Successive > 1 {
		text += fmt.Sprintf("; neighbours in time depend on each other, so %d in succession are averaged", x.Successive)
	}
	if x.Correlation > 0 {
		text += fmt.Sprintf("; neighbours in time depend on each other (correlation %.2f), so each counts for less", x.Correlation)
	}
	return text
}
