package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
)

// roles of the windows in charts, and what the legend calls them.
var worths = []struct {
	verdict Verdict
	role    chart.Role
	name    string
}{
	{Passed, chart.Good, "kept the SLA"}, {Missed, chart.Bad, "missed it"},
	{Unusable, chart.Unknown, "says nothing about the target"},
}

// ofVerdict is how many of the windows at this load had this worth.
func (t tried) ofVerdict(v Verdict) int {
	return map[Verdict]int{Passed: t.passed, Missed: t.missed, Unusable: t.unusable}[v]
}

// words say how often a load was tried, and what came of it.
func (t tried) words() string {
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{t.passed, "passed"}, {t.missed, "missed"}, {t.unusable, "said nothing about the target"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return rate(t.load) + ": " + strings.Join(parts, ", ")
}

// sketchLoads is how many lines a sketch has at most.
const sketchLoads = 20

// sketch is the figure for a terminal: how often each load was tried, and a bar
// of its latency against the limit; empty where there is nothing to draw.
func (s Search) sketch(all []tried) doc.Block {
	term, ok := s.bindingTerm(all)
	if len(all) == 0 || !ok {
		return doc.Block{}
	}
	shown := nearest(all, s.Answer, sketchLoads)
	room := 1.5 * term.Latency.Seconds()
	c := chart.Chart{
		Title: fmt.Sprintf("%s of the windows that count at a load", load.Percentile(term.Quantile)),
		X:     chart.Axis{Unit: "s", Hi: &room, Max: &room},
		Y:     chart.Axis{Kind: chart.Rows},
	}
	bars := chart.Layer{Mark: chart.Bar, Name: c.Title}
	points := make([]chart.Layer, len(worths))
	for i, t := range shown {
		seconds, known := t.latency(term.Quantile)
		value := "unusable"
		if known {
			value = num.Seconds(seconds)
			role := chart.Unknown
			switch {
			case math.IsInf(seconds, 0):
				value = "not reached"
				fallthrough
			case t.missed > t.passed:
				role = chart.Bad
			case t.passed > t.missed:
				role = chart.Good
			}
			bars.X, bars.Y, bars.Roles = append(bars.X, seconds), append(bars.Y, float64(i)), append(bars.Roles, role)
		}
		if why := s.otherMiss(t, term); why != "" && t.missed > t.passed && seconds <= term.Latency.Seconds() {
			value += ", " + why
		}
		c.Y.Rows = append(c.Y.Rows, chart.Row{Name: rate(t.load), Value: value})
		for k, w := range worths {
			for range t.ofVerdict(w.verdict) {
				points[k].Y = append(points[k].Y, float64(i))
			}
		}
	}
	c.Layers = []chart.Layer{bars, {Mark: chart.Rule, Role: chart.Limit, X: chart.Values{term.Latency.Seconds()}, Name: "its limit of " + limitText(term.Latency)}}
	for k, w := range worths {
		if len(points[k].Y) > 0 {
			points[k].Mark, points[k].Role, points[k].Name = chart.Point, w.role, string(w.verdict)
			c.Layers = append(c.Layers, points[k])
		}
	}
	b := doc.Plot("", "", c)
	if left := len(all) - len(shown); left > 0 {
		b.Figure.Note = num.Count(left, "load") + " farther from the boundary: see the table"
	}
	return b.On(doc.Terminal)
}

// otherMiss is by what else than a term the windows at a load missed the SLA, in
// brief: "errors 5 %", that of the first window that did; empty where none did.
func (s Search) otherMiss(t tried, than load.Term) string {
	for _, w := range s.Answer.Windows {
		if w.Load != t.load || w.Verdict != Missed || than.Miss(w.Window) != "" {
			continue
		}
		for _, m := range w.Misses {
			if m.short != "" {
				return m.short
			}
		}
	}
	return ""
}

// boundaryAxis covers what was found with room on both sides, or everything that
// was tried where the boundary has no two sides yet. A ramp goes over powers of
// ten, and the boundary is known to a few percent: on one axis with both,
// nothing of it could be seen.
func (a Answer) boundaryAxis(loads []tried) (lo, hi float64, ok bool) {
	const leastRoom, mostRoom = 1.15, 20 // factors on both sides
	found := []*float64{a.Passed, a.Failed, a.Estimate}
	if a.CI != nil {
		found = append(found, &a.CI[0], &a.CI[1])
	}
	lo = math.Inf(1)
	add := func(v *float64) {
		if v != nil && *v > 0 {
			lo, hi = min(lo, *v), max(hi, *v)
		}
	}
	for _, v := range found {
		add(v)
	}
	if lo == hi || hi == 0 {
		for _, t := range loads {
			add(&t.load)
		}
	}
	room := leastRoom
	if a.Passed != nil && a.Failed != nil {
		// The power leaves five twelfths of the width beside either side: what
		// their names take in a narrow plot.
		room = min(max(math.Pow(hi/lo, 2.5), leastRoom), mostRoom)
	}
	return lo / room, hi * room, hi > 0
}

// boundaryFigure shows how often the loads near the boundary were tried: those
// that passed above the line, the others below it.
func (s Search) boundaryFigure(loads []tried) doc.Block {
	a := s.Answer
	lo, hi, ok := a.boundaryAxis(loads)
	if !ok {
		return doc.Block{}
	}
	one := 1.
	below := -one
	c := chart.Chart{
		Title: "How often each load near the boundary was tried: " + a.sentence(), Height: 124,
		X: chart.Axis{Kind: chart.Log, Unit: "op/s", Label: "load offered", Tight: true, Lo: &lo, Min: &lo, Hi: &hi, Max: &hi},
		Y: chart.Axis{NoGrid: true, Lo: &below, Hi: &one, Ticks: []chart.Tick{{At: .5, Text: "passed"}, {At: -.5, Text: "missed"}}},
	}
	if a.CI != nil {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: chart.Interval, Name: "95 % interval of the estimate",
			X: chart.Values{a.CI[0]}, X2: chart.Values{a.CI[1]}, Tips: []string{"95 % interval: " + rate(a.CI[0]) + " to " + rate(a.CI[1])}})
	}
	for _, side := range []struct {
		v    *float64
		role chart.Role
		name string
	}{{a.Estimate, chart.Estimate, "estimate "}, {a.Passed, chart.Good, "passed "}, {a.Failed, chart.Bad, "failed "}} {
		if side.v != nil {
			c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: side.role, X: chart.Values{*side.v}, Text: []string{side.name + rate(*side.v)}})
		}
	}
	c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Y: chart.Values{0}})
	const most = 25 // windows of a kind at one load; more would only cover each other
	for _, w := range worths {
		l := chart.Layer{Mark: chart.Point, Role: w.role, Name: w.name, Stack: true, Y: chart.Values{1}}
		if w.verdict != Passed {
			l.Y[0] = -1
		}
		for _, t := range loads {
			for range min(t.ofVerdict(w.verdict), most) {
				if lo <= t.load && t.load <= hi {
					l.X, l.Tips = append(l.X, t.load), append(l.Tips, t.words())
				}
			}
		}
		if len(l.X) > 0 {
			c.Layers = append(c.Layers, l)
		}
	}
	b := doc.Plot("How often each load was tried", "One mark a window, near the boundary.", c)
	b.Figure.Note = outside(loads, lo, hi)
	return b.On(doc.Page)
}

// outside says what was tried at loads that are not in the drawing.
func outside(loads []tried, lo, hi float64) string {
	const most = 8
	hidden := slices.DeleteFunc(slices.Clone(loads), func(t tried) bool { return lo <= t.load && t.load <= hi })
	var parts []string
	for _, t := range hidden[:min(len(hidden), most)] {
		parts = append(parts, t.words())
	}
	switch {
	case len(hidden) == 0:
		return ""
	case len(hidden) > most:
		return fmt.Sprintf("Outside of the drawing: %s, from %s to %s. The table has them.", num.Count(len(hidden), "load"),
			loadText(&hidden[0].load), loadText(&hidden[len(hidden)-1].load))
	}
	return "Outside of the drawing: " + strings.Join(parts, "; ") + "."
}

// heatQuantiles are the percentiles of the map, beside those of the SLA;
// heatMost is how many loads have room.
var heatQuantiles = []float64{.5, .75, .9, .95, .99, .999}

const heatMost = 60

// heatFigure is the latency at each load tried and each percentile (Fig. 5 of
// the black-box throughput paper, where it is a surface), as a map of cells: the
// highest percentile at the top, so that both grow away from the corner.
func (s Search) heatFigure(loads []tried) doc.Block {
	all := telling(loads)
	shown := nearest(all, s.Answer, heatMost)
	if len(shown) == 0 {
		return doc.Block{}
	}
	scale := num.For("op/s", shown[len(shown)-1].load)
	c := chart.Chart{
		Title: "Latency by load and percentile: " + s.Answer.sentence(),
		X:     chart.Axis{Kind: chart.Rows, Label: "load offered", Unit: scale.Unit}, Y: chart.Axis{Kind: chart.Rows},
	}
	for _, t := range shown {
		c.X.Rows = append(c.X.Rows, chart.Row{Name: num.Digits(t.load/scale.Factor, 4)})
	}
	cells := chart.Layer{Mark: chart.Cell, Unit: "s"}
	var limited chart.Values
	quantiles := withTerms(heatQuantiles, s.Config.SLA)
	slices.Reverse(quantiles)
	over, beyond := false, false
	for k, q := range quantiles {
		limit := s.limitAt(q)
		row := chart.Row{Name: load.Percentile(q)}
		if !math.IsInf(limit, 1) {
			row.Role, limited = chart.Limit, append(limited, float64(k))
		}
		c.Y.Rows = append(c.Y.Rows, row)
		for i, t := range shown {
			seconds, _ := t.latency(q)
			text, role := "—", chart.Plain
			if num.Finite(seconds) {
				text = num.Scale{Factor: 1e-3}.Number(seconds, 0)
			}
			if seconds > limit {
				role, over = chart.Bad, true
			}
			beyond = beyond || math.IsInf(seconds, 1)
			cells.X, cells.Y, cells.Value = append(cells.X, float64(i)), append(cells.Y, float64(k)), append(cells.Value, seconds)
			cells.Text, cells.Roles, cells.Tips = append(cells.Text, text), append(cells.Roles, role), append(cells.Tips, heatTip(t, row.Name, seconds, limit))
		}
	}
	c.Layers = []chart.Layer{cells}
	if len(limited) > 0 {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: chart.Limit, Y: limited, Y2: limited,
			Name: "SLA: " + slaText(s.Config.SLA.Latencies())})
	}
	a := s.Answer
	if i := slices.IndexFunc(shown, func(t tried) bool {
		return a.Failed != nil && t.load >= *a.Failed || a.Failed == nil && a.Passed != nil && t.load > *a.Passed
	}); i > 0 {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: chart.Limit, Name: "boundary", X: chart.Values{float64(i) - .5}})
	}
	b := doc.Plot("Latency by load and percentile",
		"In ms, of all operations due; windows at the same load are added up.", c)
	b.Figure.Note = heatNote(loads, all, shown, over, beyond)
	return b.On(doc.Page)
}

// limitAt is the least latency, in seconds, that the SLA allows at a percentile;
// +Inf where it says nothing of it.
func (s Search) limitAt(q float64) float64 {
	limit := math.Inf(1)
	for t := range s.Config.SLA.Latencies() {
		if t.Quantile == q {
			limit = min(limit, t.Latency.Seconds())
		}
	}
	return limit
}

func heatTip(t tried, percentile string, seconds, limit float64) string {
	text := fmt.Sprintf("%s, %s, %s operations due; %s ", rate(t.load), num.Count(t.counted(), "window"), num.Grouped(t.sum.Counts.Due), percentile)
	if num.Finite(seconds) {
		text += num.Seconds(seconds)
	} else {
		text += "not reached: fewer than that ended well"
	}
	if !math.IsInf(limit, 1) {
		text += ", limit " + num.Seconds(limit)
	}
	return text
}

// heatNote says what is in a map that needs a word, and what is not in it.
func heatNote(loads, all, shown []tried, over, beyond bool) string {
	var out, split []string
	if over {
		out = append(out, "Marked: longer than the SLA allows.")
	}
	if beyond {
		out = append(out, "—: not reached, fewer than that ended well.")
	}
	for _, t := range shown {
		if t.passed > 0 && t.missed > 0 {
			split = append(split, fmt.Sprintf("%s (%d passed, %d missed)", rate(t.load), t.passed, t.missed))
		}
	}
	if len(split) > 0 {
		out = append(out, "Windows disagreed, and are added up all the same, at "+strings.Join(split, ", ")+".")
	}
	if n := len(all) - len(shown); n > 0 {
		out = append(out, num.Count(n, "load")+" farther from the boundary: see the table.")
	}
	unusable := 0
	for _, t := range loads {
		unusable += t.unusable
	}
	if unusable > 0 {
		out = append(out, "Without "+num.Count(unusable, "window")+" that said nothing about the target.")
	}
	return strings.Join(out, " ")
}
