package compare

import (
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// likeError is the error with which rows of one level are taken to be alike.
const likeError = .05

// subjectOf is the fact that tells what was measured: node, or a column of tables
// that holds the same.
func subjectOf(a, b *frame.Frame) string {
	if a.Fact(frame.FactSubject) != nil || b.Fact(frame.FactSubject) != nil {
		return frame.FactSubject
	}
	for _, name := range frame.Machines {
		if x, y := a.Fact(name), b.Fact(name); x != nil && y != nil && len(levels(x, y)) >= frame.LeastMachines {
			return name
		}
	}
	return frame.FactSubject
}

// levels are those that some row of either side has.
func levels(facts ...*frame.Fact) map[string]bool {
	out := make(map[string]bool)
	for _, x := range facts {
		names, _ := x.Groups()
		for _, name := range names {
			out[name] = true
		}
	}
	return out
}

// structural are facts that say what belongs together, and are heeded as such.
var structural = []string{frame.FactSubject, frame.FactTrial, frame.FactBlock, frame.FactRun, frame.FactRepetition, frame.FactDisturbed}

// alike are the layouts by other facts whose levels are not the same on both sides:
// what was measured on other racks, or in other sessions, differs by rack or session
// if the rows of one are alike. What has the same levels on both sides, as settings
// have, is none, nor is a column of numbers, which may be another result.
func (l *laying) alike(nodes bool) (out []layout) {
	var facts []string
	for i := range l.a.Facts {
		x := &l.a.Facts[i]
		if y := l.b.Fact(x.Name); y != nil && x.Name != l.subject && !slices.Contains(structural, x.Name) && l.sampled(x, y) {
			facts = append(facts, x.Name)
		}
	}
	for _, name := range facts {
		if l.likeness(name, nodes) <= likeError/float64(len(facts)) {
			out = append(out, l.unpaired(name))
		}
	}
	return out
}

// sampled reports whether the levels of a fact may be a sample of others: each side
// has some that the other has not, and several rows of most.
func (l *laying) sampled(x, y *frame.Fact) bool {
	as, bs := levels(x), levels(y)
	numbers := true
	for name := range levels(x, y) {
		_, err := strconv.ParseFloat(name, 64)
		numbers = numbers && err == nil
	}
	both := len(as) + len(bs) - len(levels(x, y))
	switch {
	case numbers && !slices.Contains(frame.Machines, frame.Plain(x.Name)):
		return false
	case both == len(as) || both == len(bs), len(as)+len(bs) < 3:
		return false
	}
	return 2*len(as) <= l.a.Len() && 2*len(bs) <= l.b.Len()
}

// likeness is how likely rows of one level of a fact are as alike by chance, on each
// side: one-way analysis of variance. Where nodes are known their means stand for
// their rows; a fact that differs within nodes is none of theirs.
func (l *laying) likeness(fact string, nodes bool) float64 {
	var anova stats.OneWay
	for _, f := range []*frame.Frame{l.a, l.b} {
		facts := []string{fact}
		byLevel, free := make(map[string][]float64), 0
		if nodes {
			facts = append(facts, l.subject)
			free = len(f.GroupBy(l.subject))
		}
		units := f.GroupBy(facts...)
		if nodes && len(units) != free {
			return 1
		}
		x := f.Fact(fact)
		for _, u := range units {
			ys, _ := l.values(f, []frame.RowGroup{u})
			if !nodes {
				ys = at(f.Values, u.Rows)
			}
			ys = l.scaled(ys)
			level := x.Level(u.Rows[0])
			byLevel[level] = append(byLevel[level], ys...)
		}
		if len(byLevel) == 0 {
			return 1
		}
		anova.Add(byLevel)
	}
	return anova.P()
}

// inRounds takes together what all nodes measured about once, where the times say so
// or else the order, and nothing else does: what changes with the hour or day is the
// same for all of them. It is not ok where most rows are in rounds that lack some node.
func (l *laying) inRounds(sameNodes bool) (layout, bool) {
	var rounds [2][]frame.RowGroup
	for i, f := range []*frame.Frame{l.a, l.b} {
		nodes := len(f.GroupBy(l.subject))
		all := f.Rounds(l.subject)
		if f.Times == nil {
			all = f.RoundsByOrder(l.subject)
		}
		full, left := l.full(f, all, nodes)
		if nodes < 2 || len(full) < 2 || 2*left > f.Len() {
			return layout{}, false
		}
		if left > 0 {
			l.incomplete(left)
		}
		rounds[i] = full
	}
	out := l.averaged("round", rounds[0], rounds[1])
	out.Nodes, out.Trials, out.groups = sameNodes, true, rounds
	return out, true
}

// twice are the layouts by what was repeated only twice on a side, where rows of one
// repetition are alike: the coarsest of repetition, run, block and trial.
func (l *laying) twice() []layout {
	for _, fact := range []string{frame.FactRepetition, frame.FactRun, frame.FactBlock, frame.FactTrial} {
		a, b, all := l.groups(fact)
		switch fewer := min(len(a), len(b)); {
		case l.together || !all || max(len(a), len(b)) < 2:
			continue
		case fewer != 2 || 2*len(a) >= l.a.Len() || 2*len(b) >= l.b.Len() || l.likeness(fact, false) > likeError:
			return nil
		}
		out := l.averaged(fact, a, b).untimed()
		out.Trials = true
		return []layout{out}
	}
	return nil
}

// passes are what was measured from one trial 1 to the next, where the numbers of
// trials come again and nothing says of which run each is; none where they do not.
func (l *laying) passes(of string) []layout {
	a, b := l.a.Rounds(of), l.b.Rounds(of)
	if len(a) < 2 && len(b) < 2 {
		return nil
	}
	l.notes.Warn("again", "the numbers of %ss come again, and no column run says which belong together: what was measured from one to where it comes again counts as one, too", of)
	return []layout{l.averaged("pass of "+of+"s", a, b).untimed()}
}
