package figure

import (
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
	"github.com/scalebench/scalebench/internal/stats"
)

// Progress is the counter that one node published in a trial: work done since
// its start, at seconds since the first start of the trial.
type Progress struct {
	Name  string
	Times []float64 // ascending; the first is the start, where Done is 0
	Done  []float64
}

const rateHeight = 120

// maxBins bounds how many rates are drawn per node, and so the page's size.
const maxBins = 60

// rate is one node's mean rate between two times.
type rate struct{ from, to, perSecond float64 }

// rates turns a counter into rates over bins of equal length. There are no
// more bins than steps between points, as a counter says nothing about the
// time between two of its points.
func (p Progress) rates(limit int) []rate {
	n := len(p.Times)
	if n < 2 || len(p.Done) != n || p.Times[n-1] <= p.Times[0] {
		return nil
	}
	bins := min(n-1, limit)
	width := (p.Times[n-1] - p.Times[0]) / float64(bins)
	out := make([]rate, 0, bins)
	before, at := p.Done[0], 0
	for b := range bins {
		from := p.Times[0] + float64(b)*width
		to := from + width
		after, next := stats.Interpolate(p.Times, p.Done, to, at)
		out = append(out, rate{from, to, (after - before) / width})
		before, at = after, next
	}
	return out
}

// Rates draws every node's rate over a parallel trial, the common window
// shaded; scaleFor chooses the unit from the greatest rate. ok is false when there
// is nothing to draw.
func Rates(title string, scaleFor func(top float64) num.Scale, nodes []Progress, spans []Span) (plot Plot, scale num.Scale, ok bool) {
	lines := make([][]rate, len(nodes))
	top, last := 0.0, 0.0
	for i, p := range nodes {
		lines[i] = p.rates(binsFor(len(nodes)))
		for _, r := range lines[i] {
			top, last = max(top, r.perSecond), max(last, r.to)
		}
	}
	if top <= 0 || math.IsInf(top, 0) || last <= 0 {
		return Plot{}, num.Scale{}, false
	}
	for _, s := range spans {
		last = max(last, s.End)
	}
	scale = scaleFor(top)
	y, x := newCapacity(top, scale, 3), svg.TightAxis(0, last, 5)
	d := svg.New("area", title, marginTop+rateHeight+marginBottom)
	shadeWindow(d, x, spans, marginTop, rateHeight)
	y.grid(d, rateHeight)
	for i, rs := range lines {
		d.Polyline(lineClass(i, len(lines)), marginTop, rateHeight, steps(rs, x, y), nodes[i].Name)
	}
	timeTicks(d, x, marginTop+rateHeight+16)
	return Plot{Y: y.labels(rateHeight), Area: d.HTML()}, scale, true
}

// binsFor keeps the sum over all nodes bounded.
func binsFor(n int) int { return max(12, min(maxBins, 6000/max(n, 1))) }

// Palette is how many nodes can be told apart by colour and dashes.
const Palette = MaxLines

// lineClass gives few nodes a colour each; many become a cloud of one colour.
func lineClass(i, n int) string {
	switch {
	case n <= Palette:
		return "rate n" + itoa(i)
	case n <= 30:
		return "rate some"
	}
	return "rate many"
}

// steps draws a rate as what it is: constant over its bin.
func steps(rs []rate, x svg.Axis, y Capacity) []svg.Point {
	var out []svg.Point
	for _, r := range rs {
		h := 1 - y.share(r.perSecond)
		out = append(out, svg.Point{X: x.Share(r.from), Y: h}, svg.Point{X: x.Share(r.to), Y: h})
	}
	return out
}
