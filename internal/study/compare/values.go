package compare

import (
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// groups are the rows of both sides by facts; all: every row is in one.
func (l *laying) groups(facts ...string) (a, b []frame.RowGroup, all bool) {
	a, b = l.a.GroupBy(facts...), l.b.GroupBy(facts...)
	return a, b, l.a.InGroups(a) && l.b.InGroups(b)
}

// averaged has the means of groups as values, and their times.
func (l *laying) averaged(of string, a, b []frame.RowGroup) layout {
	out := layout{Of: of}
	out.A, out.TimesA = l.values(l.a, a)
	out.B, out.TimesB = l.values(l.b, b)
	return out
}

// untimed has no order: levels of a fact such as nodes are not one after the other.
func (x layout) untimed() layout {
	x.TimesA, x.TimesB = nil, nil
	return x
}

// unpaired averages the rows of each level of a fact.
func (l *laying) unpaired(fact string) layout {
	a, b, all := l.groups(fact)
	if !all {
		l.notes.Problem("unknown_levels", "%s is not known of all rows: those without are left out", fact)
	}
	return l.averaged(fact, a, b).untimed()
}

// paired averages the rows of each level of these facts together, and pairs those
// that both sides have.
func (l *laying) paired(facts ...string) layout {
	a, b, _ := l.groups(facts...)
	of := strings.Join(facts, " and ")
	both := l.common(a, b, of)
	out := l.averaged(of, both[0], both[1])
	out.Paired = true
	return out
}

// within pairs by time and node: of each time the mean over the nodes that both
// sides have then.
func (l *laying) within(facts []string, a, b []frame.RowGroup) layout {
	var kept [2][]frame.RowGroup
	both := l.common(a, b, facts[len(facts)-1])
	nodesA, nodesB := l.a.Fact(l.subject), l.b.Fact(l.subject)
	for i := range both[0] {
		ga, gb := both[0][i], both[1][i]
		inA, inB := make(map[string]bool), make(map[string]bool)
		for _, row := range ga.Rows {
			inA[nodesA.Level(row)] = true
		}
		for _, row := range gb.Rows {
			inB[nodesB.Level(row)] = true
		}
		ga.Rows = slices.DeleteFunc(slices.Clone(ga.Rows), func(row int) bool { return !inB[nodesA.Level(row)] })
		gb.Rows = slices.DeleteFunc(slices.Clone(gb.Rows), func(row int) bool { return !inA[nodesB.Level(row)] })
		if len(ga.Rows) == 0 {
			continue
		}
		kept[0], kept[1] = append(kept[0], ga), append(kept[1], gb)
	}
	out := l.averaged("", kept[0], kept[1])
	out.Paired = true
	return out
}

// common are the groups that both sides have, those of one key at one place.
func (l *laying) common(a, b []frame.RowGroup, of string) (both [2][]frame.RowGroup) {
	index := frame.GroupsByKey(b)
	for _, g := range a {
		if o, has := index[g.Key]; has {
			both[0], both[1] = append(both[0], g), append(both[1], o)
		}
	}
	if n := len(both[0]); n < len(a) || n < len(b) {
		l.notes.Warn("unpaired", "only %d of %d and %d have a counterpart with the same %s; the others are left out", n, len(a), len(b), of)
	}
	return both
}

// values are the means of groups, and the means of their times; nil of none.
func (l *laying) values(f *frame.Frame, groups []frame.RowGroup) (means, times []float64) {
	for _, g := range groups {
		means = append(means, l.mean(at(f.Values, g.Rows)))
		if f.Times != nil {
			at := 0.0
			for _, row := range g.Rows {
				at += float64(f.Times[row]-f.Times[0]) / 1e9
			}
			times = append(times, at/float64(len(g.Rows))+float64(f.Times[0])/1e9)
		}
	}
	return means, times
}

// scale is where values are averaged: that of logarithms where typical values are
// compared.
func (l *laying) scale(x float64) float64 {
	if l.typical {
		return math.Log(x)
	}
	return x
}

// mean is that of values on their scale, in the unit of the metric.
func (l *laying) mean(xs []float64) float64 {
	x := stats.Average(l.scaled(xs))
	if l.typical {
		return math.Exp(x)
	}
	return x
}

func (l *laying) scaled(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = l.scale(x)
	}
	return out
}

func seconds(times []int64) []float64 {
	if times == nil {
		return nil
	}
	out := make([]float64, len(times))
	for i, t := range times {
		out[i] = float64(t) / 1e9
	}
	return out
}
