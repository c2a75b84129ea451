package figure

import (
	"html/template"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
	"github.com/scalebench/scalebench/internal/unit"
)

// Course is a search for a capacity over time (Fig. 1 of the black-box
// throughput paper): the load offered, what came of it, and the latency.
type Course struct {
	Title   string // for the reader of the screen
	Windows []CourseWindow
	// Limits are the latencies that the SLA allows.
	Limits []LatencyLimit
	// Pauses are times, in seconds from the start, at which a longer time was
	// left out in which nothing was measured.
	Pauses []float64
}

// LatencyLimit is one latency that must not be exceeded, in seconds.
type LatencyLimit struct {
	Name  string // "p90 ≤ 150 ms"
	Value float64
}

// CourseWindow is one load offered, from when to when in seconds since the
// first window began.
type CourseWindow struct {
	// Class says what the window was worth: "passed", "missed" or "unusable".
	Class    string
	Load     float64 // operations per second
	From, To float64
	Tip      string
	Steps    []CourseStep // the scored time, in order
}

// CourseStep is a stretch of scored time.
type CourseStep struct {
	From, To float64 // seconds
	Achieved float64 // operations that ended well in it, per second
	// Median and P90 are latencies in seconds; NaN where there is none because
	// too many of the operations due did not end well.
	Median, P90 float64
	// Short says how many did not end well where there is no P90.
	Short string
}

// Heights in pixels of the two plots of a course.
const (
	courseLoad    = 150
	courseLatency = 150
)

// CoursePlots are the two plots, on one axis of time.
type CoursePlots struct {
	Load, Latency Plot
	Unit          string // of the loads, with its prefix
}

// Draw draws the course; ok is false when no time passed in it.
func (c Course) Draw() (p CoursePlots, ok bool) {
	last := c.last()
	if !(last > 0) || math.IsInf(last, 0) {
		return CoursePlots{}, false
	}
	x := svg.TightAxis(0, last, 6)
	y := c.loadAxis()
	return CoursePlots{Load: c.drawLoad(x, y), Latency: c.drawLatency(x), Unit: y.Unit}, true
}

func (c Course) last() float64 {
	last := 0.0
	for _, w := range c.Windows {
		last = max(last, w.To)
	}
	return last
}

// loadAxis is linear and begins at 0: that the load grows by a factor in the
// ramp, and what is missing of it, can be seen.
func (c Course) loadAxis() Capacity {
	var all []float64
	for _, w := range c.Windows {
		all = append(all, w.Load)
		for _, s := range w.Steps {
			all = append(all, s.Achieved)
		}
	}
	top := largest(all)
	return newCapacity(top, num.For("op/s", top), 4)
}

// drawLoad draws windows as areas as high as their load, each with its mark,
// and over them what of it was answered.
func (c Course) drawLoad(x svg.Axis, y Capacity) Plot {
	d := svg.New("area", c.Title+": load offered and answered", marginTop+courseLoad+marginBottom)
	y.grid(d, courseLoad)
	var areas, lines []svg.Curve
	for _, w := range c.Windows {
		at := 1 - y.share(w.Load)
		top := []svg.Point{{X: x.Share(w.From), Y: at}, {X: x.Share(w.To), Y: at}}
		floor := []svg.Point{{X: x.Share(w.To), Y: 1}, {X: x.Share(w.From), Y: 1}}
		areas = append(areas, svg.Curve{Class: "offer w-" + w.Class, Points: append(floor, top...), Filled: true, Tip: w.Tip})
		lines = append(lines, svg.Curve{Class: "offered w-" + w.Class, Points: top})
		lines = append(lines, svg.Curve{Class: "achieved", Points: w.achieved(x, y)})
	}
	d.Plane(marginTop, courseLoad, append(areas, lines...))
	c.drawPauses(d, x, courseLoad)
	for _, w := range c.Windows {
		middle := x.Pct((w.From + w.To) / 2)
		WindowMark(d, w.Class, middle, y.axis.Y(w.Load/y.Factor, marginTop, courseLoad), w.Tip)
	}
	clockTicks(d, x, marginTop+courseLoad+16)
	return Plot{Y: y.labels(courseLoad), Area: d.HTML()}
}

func (w CourseWindow) achieved(x svg.Axis, y Capacity) []svg.Point {
	var out []svg.Point
	for _, s := range w.Steps {
		out = stair(out, x.Share(s.From), x.Share(s.To), 1-y.share(s.Achieved))
	}
	return out
}

// WindowMark draws the mark of a window: shape and colour both say what it was
// worth.
func WindowMark(d *svg.Drawing, class string, x, y svg.Len, tip string) {
	shape := svg.Dot
	if class == "missed" {
		shape = svg.Diamond
	}
	d.Mark(shape, "worth w-"+class, x, y, 3.8, tip)
}

// drawPauses marks where time was left out.
func (c Course) drawPauses(d *svg.Drawing, x svg.Axis, height float64) {
	for _, at := range c.Pauses {
		d.Line("pause", x.Pct(at), svg.Px(0), x.Pct(at), svg.Px(marginTop+height))
	}
}

// drawLatency draws two percentiles of every step on a logarithmic axis, with
// the limits. Where one of them is beyond everything its line ends, and where
// that is the higher one a hatched bar stands above the plot.
func (c Course) drawLatency(x svg.Axis) Plot {
	y := c.latencyAxis()
	d := svg.New("area", c.Title+": latency", marginTop+courseLatency+marginBottom)
	for _, v := range y.Ticks() {
		at := y.Y(v, marginTop, courseLatency)
		d.Line("grid", svg.Px(0), at, svg.Pct(100), at)
	}
	var lines []svg.Curve
	for _, w := range c.Windows {
		lines = append(lines, w.latency("latency p50", x, y, func(s CourseStep) float64 { return s.Median })...)
		lines = append(lines, w.latency("latency p90", x, y, func(s CourseStep) float64 { return s.P90 })...)
	}
	d.Plane(marginTop, courseLatency, lines)
	c.drawPauses(d, x, courseLatency)
	for _, w := range c.Windows {
		w.drawShort(d, x)
	}
	c.drawLimits(d, y)
	clockTicks(d, x, marginTop+courseLatency+16)
	return Plot{Y: latencyLabels(y), Area: d.HTML()}
}

func (c Course) latencyAxis() svg.LogAxis {
	lo, hi := math.Inf(1), 0.0
	add := func(v float64) {
		if v > 0 && num.Finite(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	for _, l := range c.Limits {
		add(l.Value)
	}
	for _, w := range c.Windows {
		for _, s := range w.Steps {
			add(s.Median)
			add(s.P90)
		}
	}
	return svg.NewLogAxis(lo, hi)
}

// latency turns a percentile into lines, one for every stretch without a gap.
func (w CourseWindow) latency(class string, x svg.Axis, y svg.LogAxis, of func(CourseStep) float64) []svg.Curve {
	var out []svg.Curve
	open := false
	for _, s := range w.Steps {
		v := of(s)
		if !num.Finite(v) || v <= 0 {
			open = false
			continue
		}
		if !open {
			out, open = append(out, svg.Curve{Class: class}), true
		}
		k := len(out) - 1
		out[k].Points = stair(out[k].Points, x.Share(s.From), x.Share(s.To), 1-y.Share(v))
	}
	return out
}

// drawShort draws a bar above the plot over each stretch without a P90.
func (w CourseWindow) drawShort(d *svg.Drawing, x svg.Axis) {
	for i := 0; i < len(w.Steps); i++ {
		if num.Finite(w.Steps[i].P90) {
			continue
		}
		from := i
		for i+1 < len(w.Steps) && !num.Finite(w.Steps[i+1].P90) {
			i++
		}
		tip := w.Steps[from].Short
		if i > from {
			tip = itoa(i-from+1) + " steps, the first: " + tip
		}
		share := x.Share(w.Steps[i].To) - x.Share(w.Steps[from].From)
		d.Rect("short", x.Pct(w.Steps[from].From), svg.Px(0), svg.Pct(100*share), svg.Px(marginTop-1), tip)
	}
}

// drawLimits draws the limits and names two of them: one at the left, where a
// search begins with low loads and short latencies, and one at the right, so
// that the names of limits close together stay apart.
func (c Course) drawLimits(d *svg.Drawing, y svg.LogAxis) {
	for i, l := range c.Limits {
		if !(l.Value > 0) || !num.Finite(l.Value) {
			continue
		}
		at := y.Y(l.Value, marginTop, courseLatency)
		d.Line("sla", svg.Px(0), at, svg.Pct(100), at)
		below := 0.0
		if y.Share(l.Value) > 0.9 {
			below = 19 // beneath its line: above is no room
		}
		label := y.Y(l.Value, marginTop-5+below, courseLatency)
		switch i {
		case 0:
			d.Text("limit", svg.Start, svg.Px(2), label, l.Name)
		case 1:
			d.Text("limit", svg.End, svg.Pct(100), label, l.Name)
		}
	}
}

// latencyLabels are the ticks of a logarithmic axis of seconds.
func latencyLabels(y svg.LogAxis) template.HTML {
	d := svg.NewFixed("yaxis", "", yAxisWidth, marginTop+courseLatency+marginBottom)
	for _, v := range y.Ticks() {
		d.Text("tick", svg.End, svg.Px(yAxisWidth-7), y.Y(v, marginTop+4, courseLatency), secondsTick(v))
	}
	return d.HTML()
}

// secondsTick prints a round number of seconds with its prefix: "20 ms".
func secondsTick(v float64) string {
	s := num.For("s", v*(1+1e-9)) // .001 must be 1 ms and not 1000 µs
	return unit.Digits(v/s.Factor, 3) + " " + s.Unit
}

// Above this many seconds an axis of time counts minutes.
const minutesFrom = 900

// clockTicks writes an axis of seconds below a plot, in minutes where it is
// long.
func clockTicks(d *svg.Drawing, x svg.Axis, y float64) {
	if x.Hi-x.Lo < minutesFrom {
		timeTicks(d, x, y)
		return
	}
	endTicks(d, svg.TightAxis(x.Lo/60, x.Hi/60, 4), y, " min")
}
