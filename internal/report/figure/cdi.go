package figure

import (
	"html/template"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// CDIRow is one bar of the overview. CDI and interval are in percent.
type CDIRow struct {
	Name    string      // workload and metric, for the reader of the screen
	CDI     *float64    // nil: not computable
	CI      *[2]float64 // nil: no interval
	Trials  []float64   // the index of each trial alone
	Verdict string      // one of the verdict words; part of the CSS class
}

// CDIChart is the overview: one drawing per row, and the axis below them.
type CDIChart struct {
	Rows []template.HTML
	Axis template.HTML
}

// cdiFloor is where the axis ends at the left: a capacity gain of more than
// 100 % is drawn as an arrow, so that one outlier does not squeeze the rest.
const cdiFloor = -100

// Rows touch, so that the lines of the grid run through all of them.
const (
	cdiRowHeight = 46
	cdiMiddle    = cdiRowHeight / 2
)

// CDI draws the bars of Fig. 8 with whiskers for the 95 % interval. The axis
// always reaches from 0 to 100 %, further to the left where values are
// negative, so that a small degradation looks small.
func CDI(rows []CDIRow) CDIChart {
	axis := cdiAxis(rows)
	var c CDIChart
	for _, r := range rows {
		c.Rows = append(c.Rows, cdiBar(axis, r))
	}
	d := svg.New("area", "", 20)
	for _, v := range axis.Ticks() {
		d.Text("tick", svg.Middle, axis.Pct(v), svg.Px(14), num.Tick(v, 1)+" %")
	}
	c.Axis = d.HTML()
	return c
}

func cdiAxis(rows []CDIRow) svg.Axis {
	lo := 0.0
	for _, r := range rows {
		for _, v := range append(bounds(r), r.Trials...) {
			if num.Finite(v) {
				lo = min(lo, v)
			}
		}
	}
	step := 20.0
	if lo < -60 {
		step = 50
	}
	lo = max(cdiFloor, math.Floor(lo/10)*10)
	return svg.Axis{Lo: lo, Hi: 100, Step: step}
}

func bounds(r CDIRow) []float64 {
	var out []float64
	if r.CDI != nil {
		out = append(out, *r.CDI)
	}
	if r.CI != nil {
		out = append(out, r.CI[0], r.CI[1])
	}
	return out
}

func cdiBar(a svg.Axis, r CDIRow) template.HTML {
	d := svg.New("area", r.Name+": "+cdiWords(r), cdiRowHeight)
	for _, v := range a.Ticks() {
		d.Line("grid", a.Pct(v), svg.Px(0), a.Pct(v), svg.Px(cdiRowHeight))
	}
	drawCDIValue(d, a, r)
	d.Line("zero", a.Pct(0), svg.Px(0), a.Pct(0), svg.Px(cdiRowHeight))
	drawWhisker(d, a, r.CI)
	drawTrials(d, a, r.Trials)
	return d.HTML()
}

// cdiWords says what the bar shows.
func cdiWords(r CDIRow) string {
	if r.CDI == nil {
		return "CDI unknown"
	}
	s := "CDI " + num.Percent(*r.CDI)
	if r.CI != nil {
		s += ", 95 % interval " + num.PercentInterval(r.CI[0], r.CI[1])
	}
	return s + ", verdict " + r.Verdict
}

func drawCDIValue(d *svg.Drawing, a svg.Axis, r CDIRow) {
	if r.CDI == nil || !num.Finite(*r.CDI) {
		d.Rect("bar v-unknown", a.Pct(0), svg.Px(cdiMiddle-8), svg.Pct(100*(1-a.Share(0))), svg.Px(16), "")
		d.Text("unknown", svg.Middle, svg.Pct(50*(1+a.Share(0))), svg.Px(cdiMiddle+4.5), "unknown")
		return
	}
	v := clamp(*r.CDI, a.Lo, a.Hi)
	d.Rect("bar v-"+r.Verdict, a.Pct(0), svg.Px(cdiMiddle-8), svg.Pct(100*(a.Share(v)-a.Share(0))), svg.Px(16), cdiWords(r))
}

// drawTrials marks the index of each trial alone, when there are several.
func drawTrials(d *svg.Drawing, a svg.Axis, trials []float64) {
	if len(trials) < 2 {
		return
	}
	for i, v := range trials {
		if num.Finite(v) && v >= a.Lo && v <= a.Hi {
			d.Mark(svg.Dot, "single", a.Pct(v), svg.Px(cdiMiddle), 2.5, "trial "+itoa(i+1)+" alone: "+num.Percent(v))
		}
	}
}

// drawWhisker draws the interval; an end outside the axis becomes an arrow.
func drawWhisker(d *svg.Drawing, a svg.Axis, ci *[2]float64) {
	if ci == nil || !num.Finite(ci[0]) || !num.Finite(ci[1]) {
		return
	}
	lo, hi := clamp(ci[0], a.Lo, a.Hi), clamp(ci[1], a.Lo, a.Hi)
	mid := svg.Px(cdiMiddle)
	d.Line("halo", a.Pct(lo), mid, a.Pct(hi), mid) // apart from the bar in any theme
	d.Line("whisker", a.Pct(lo), mid, a.Pct(hi), mid)
	for i, v := range []float64{lo, hi} {
		if v != ci[i] {
			d.Text("arrow", svg.Middle, a.Pct(v), svg.Px(cdiMiddle+4.5), []string{"◂", "▸"}[i])
			continue
		}
		d.Line("whisker", a.Pct(v), svg.Px(cdiMiddle-5), a.Pct(v), svg.Px(cdiMiddle+5))
	}
}

func clamp(v, lo, hi float64) float64 { return min(max(v, lo), hi) }
