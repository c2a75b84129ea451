package compare

import (
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/frame"
)

// unpaired averages the rows of each level; without facts each row is a value.
func (l *laying) unpaired(of string, facts []string) layout {
	out := layout{Of: of}
	if facts == nil {
		out.Rows = true
		out.A, out.TimesA = l.a.Values, seconds(l.a.Times)
		out.B, out.TimesB = l.b.Values, seconds(l.b.Times)
		return out
	}
	a, b := l.a.GroupBy(facts...), l.b.GroupBy(facts...)
	if !l.a.InGroups(a) || !l.b.InGroups(b) {
		l.notes.Problem("unknown_levels", "%s is not known of all rows: those without are left out", of)
	}
	out.A, _ = l.values(l.a, a)
	out.B, _ = l.values(l.b, b)
	return out // no order: levels of a fact such as nodes are not one after the other
}

// paired averages the rows of each level of these facts together, and pairs those
// that both sides have.
func (l *laying) paired(facts ...string) layout {
	a, b := l.a.GroupBy(facts...), l.b.GroupBy(facts...)
	out := layout{Of: strings.Join(facts, " and "), Paired: true}
	both := l.common(a, b, out.Of)
	va, ta := l.values(l.a, both[0])
	vb, tb := l.values(l.b, both[1])
	out.A, out.B, out.TimesA, out.TimesB = va, vb, ta, tb
	return out
}

// within pairs by time and node: of each time the mean over the nodes that both
// sides have then.
func (l *laying) within(facts []string, a, b []frame.RowGroup) layout {
	out := layout{Paired: true}
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
		va, ta := l.values(l.a, []frame.RowGroup{ga})
		vb, tb := l.values(l.b, []frame.RowGroup{gb})
		out.A, out.B = append(out.A, va...), append(out.B, vb...)
		out.TimesA, out.TimesB = append(out.TimesA, ta...), append(out.TimesB, tb...)
	}
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
		sum := 0.0
		for _, row := range g.Rows {
			sum += l.scale(f.Values[row])
		}
		means = append(means, l.back(sum/float64(len(g.Rows))))
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

func (l *laying) back(x float64) float64 {
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
