package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/unit"
)

// boundaryView is how often the loads near the boundary were tried.
type boundaryView struct {
	Plot     figure.Plot
	Unit     string
	Unusable bool
	Interval bool
	Hidden   string // which loads lie outside of the drawing
}

func newBoundaryView(x capacity.Found, loads []triedLoad) *boundaryView {
	r := x.Result
	b := figure.Boundary{
		Title:  "How often each load near the boundary was tried: " + answerWords(r),
		Passed: r.Passed, Failed: r.Failed, Estimate: r.Estimate, CI: r.CI,
	}
	for _, t := range loads {
		b.Loads = append(b.Loads, figure.BoundaryLoad{Load: t.load, Passed: t.passed, Missed: t.missed, Unusable: t.unusable})
	}
	plot, unitOf, ok := b.Draw()
	if !ok {
		return nil
	}
	v := &boundaryView{Plot: plot, Unit: unitOf, Interval: r.CI != nil, Hidden: hiddenWords(b)}
	for _, t := range loads {
		v.Unusable = v.Unusable || t.unusable > 0 && b.Shows(t.load)
	}
	return v
}

// mostHidden is how many loads outside of the drawing are listed one by one.
const mostHidden = 8

// hiddenWords say what was tried outside of the drawing.
func hiddenWords(b figure.Boundary) string {
	var hidden []figure.BoundaryLoad
	for _, l := range b.Loads {
		if !b.Shows(l.Load) {
			hidden = append(hidden, l)
		}
	}
	var parts []string
	for _, l := range hidden[:min(len(hidden), mostHidden)] {
		parts = append(parts, l.Words())
	}
	switch {
	case len(hidden) == 0:
		return ""
	case len(hidden) > mostHidden:
		return fmt.Sprintf("Outside of the drawing: %s, from %s to %s. The table has them.", count(len(hidden), "load"),
			opRate(&hidden[0].Load), opRate(&hidden[len(hidden)-1].Load))
	}
	return "Outside of the drawing: " + strings.Join(parts, "; ") + "."
}

// courseView is the search over time.
type courseView struct {
	figure.CoursePlots
	Unusable, Short bool
	Paused          string // how much time was left out
	Whole           bool   // values are of whole windows
}

// mostSteps is how many seconds a course draws one by one; of a longer search
// it draws the windows as wholes. Percentiles of seconds cannot be averaged.
const mostSteps = 2000

// longestPause is how many times the longest window a pause may take before it
// is left out: somebody has gone on with the search much later.
const longestPause = 5

func newCourseView(x capacity.Found) *courseView {
	c := figure.Course{Title: "The search over time"}
	for t := range x.Config.SLA.Latencies() {
		c.Limits = append(c.Limits, figure.LatencyLimit{Name: termWords(t), Value: t.Latency.Seconds()})
	}
	v := &courseView{Whole: secondsIn(x.Result.Windows) > mostSteps}
	clock := newCourseClock(x.Result.Windows)
	for i, w := range x.Result.Windows {
		from, pause := clock.next(w)
		if pause {
			c.Pauses = append(c.Pauses, from)
		}
		cw := courseWindow(i, w, from, v.Whole)
		v.Unusable = v.Unusable || cw.Class == "unusable"
		for _, s := range cw.Steps {
			v.Short = v.Short || !num.Finite(s.P90)
		}
		c.Windows = append(c.Windows, cw)
	}
	if clock.skipped > 0 {
		v.Paused = num.Seconds(clock.skipped)
	}
	var ok bool
	if v.CoursePlots, ok = c.Draw(); !ok {
		return nil
	}
	return v
}

func secondsIn(windows []capacity.Judged) int {
	n := 0
	for _, w := range windows {
		n += len(w.Seconds)
	}
	return n
}

// courseClock places windows on the axis of a course.
type courseClock struct {
	first   time.Time
	longest float64 // window, in seconds
	end     float64 // of the last window, on the axis
	skipped float64 // seconds left out
	started bool
}

func newCourseClock(windows []capacity.Judged) *courseClock {
	c := &courseClock{}
	for _, w := range windows {
		c.longest = max(c.longest, windowLength(w))
		if c.first.IsZero() {
			c.first = w.Start
		}
	}
	return c
}

// next is where a window begins, in seconds on the axis, and whether a pause
// before it was left out. A window without a time follows the one before it.
func (c *courseClock) next(w capacity.Judged) (from float64, pause bool) {
	from = c.end
	if !w.Start.IsZero() {
		from = max(w.Start.Sub(c.first).Seconds()-c.skipped, c.end)
	}
	if gap := from - c.end; c.started && gap > longestPause*c.longest {
		c.skipped += gap - c.longest
		from, pause = c.end+c.longest, true
	}
	c.started = true
	c.end = from + windowLength(w)
	return from, pause
}

// windowLength is how long load was offered, in seconds: from the start of the
// window, warming up included, to the end of its last scored second.
func windowLength(w capacity.Judged) float64 {
	length := w.Scored.Seconds()
	for _, s := range w.Seconds {
		length = max(length, s.At.Seconds()+1)
	}
	return length
}

// classOf is the class of a window's marks.
func classOf(v capacity.Verdict) string {
	switch v {
	case capacity.Passed, capacity.Missed:
		return string(v)
	}
	return string(capacity.Unusable)
}

func courseWindow(i int, w capacity.Judged, from float64, whole bool) figure.CourseWindow {
	cw := figure.CourseWindow{
		Class: classOf(w.Verdict), Load: w.Load, From: from, To: from + windowLength(w),
		Tip: fmt.Sprintf("window %d: %s offered, %s answered: %s", i+1, unit.Human(w.Load, "op/s"), unit.Human(w.Achieved(), "op/s"), classOf(w.Verdict)),
	}
	if reasons := reasonsOf(w); reasons != "" {
		cw.Tip += ": " + reasons
	}
	if whole {
		cw.Steps = []figure.CourseStep{wholeStep(w, from)}
		return cw
	}
	for _, s := range w.Seconds {
		if s.At >= 0 {
			cw.Steps = append(cw.Steps, secondStep(s, from))
		}
	}
	return cw
}

// secondStep is one second.
func secondStep(s capacity.Second, from float64) figure.CourseStep {
	at := from + s.At.Seconds()
	step := figure.CourseStep{From: at, To: at + 1, Achieved: float64(s.Replies), Median: s.Median, P90: s.P90}
	if math.IsNaN(s.P90) {
		step.Short = shortWords(s.Due-s.OK, s.Due)
	}
	return step
}

// wholeStep is a whole window.
func wholeStep(w capacity.Judged, from float64) figure.CourseStep {
	length := windowLength(w)
	step := figure.CourseStep{From: from + length - w.Scored.Seconds(), To: from + length, Achieved: w.Achieved(), Median: math.NaN(), P90: math.NaN()}
	if d, known := w.Latency(.5); known {
		step.Median = d.Seconds()
	}
	if d, known := w.Latency(.9); known {
		step.P90 = d.Seconds()
	} else {
		step.Short = shortWords(w.Counts.Due-w.Counts.OK, w.Counts.Due)
	}
	return step
}

func shortWords(missing, due int64) string {
	if due == 0 {
		return "nothing was due"
	}
	return fmt.Sprintf("%s of %s operations due did not end well", grouped(missing), grouped(due))
}

// heatView is the latency at every load and percentile.
type heatView struct {
	figure.HeatMap
	Unit         string // of the loads
	Limits       string // what is outlined
	Over, Beyond bool   // whether there are such cells
	Divided      bool   // whether the boundary is between two of the loads
	Notes        string // what is not in it
}

// heatQuantiles are the percentiles of the map, beside those of the SLA.
var heatQuantiles = []float64{.5, .75, .9, .95, .99, .999}

func newHeatView(x capacity.Found, loads []triedLoad) *heatView {
	all := telling(loads)
	shown := nearest(all, x.Result, figure.HeatMost)
	if len(shown) == 0 {
		return nil
	}
	s := num.For("op/s", shown[len(shown)-1].load)
	h := figure.Heat{Title: "Latency by load and percentile: " + answerWords(x.Result), Boundary: boundaryIndex(shown, x.Result)}
	for _, t := range shown {
		h.Loads = append(h.Loads, unit.Digits(t.load/s.Factor, 4))
		h.Tips = append(h.Tips, fmt.Sprintf("%s, %s, %s operations due", unit.Human(t.load, "op/s"), count(t.counted(), "window"), grouped(t.sum.Counts.Due)))
	}
	v := &heatView{Unit: s.Unit, Limits: limitsOf(x.Config.SLA)}
	for _, q := range withTerms(heatQuantiles, x.Config.SLA) {
		h.Rows = append(h.Rows, v.row(q, x.Config.SLA, shown))
	}
	var ok bool
	if v.HeatMap, ok = h.Draw(); !ok {
		return nil
	}
	v.Divided = h.Boundary > 0
	v.Notes = joinWords(disagreedWords(shown), leftWords(len(all)-len(shown)), unusableWords(loads))
	return v
}

// row is one percentile; it notes what kinds of cells there are.
func (v *heatView) row(q float64, s capacity.SLA, loads []triedLoad) figure.HeatRow {
	r := figure.HeatRow{Name: percentile(q)}
	for t := range s.Latencies() {
		if sameQuantile(t.Quantile, q) && (r.Limit == nil || t.Latency.Seconds() < *r.Limit) {
			r.Limit = ptrTo(t.Latency.Seconds())
		}
	}
	for _, t := range loads {
		seconds, _ := t.latency(q)
		r.Values = append(r.Values, seconds)
		v.Beyond = v.Beyond || math.IsInf(seconds, 1)
		v.Over = v.Over || r.Limit != nil && seconds > *r.Limit
	}
	return r
}

// boundaryIndex is the first load beyond the boundary; -1 where none is.
func boundaryIndex(loads []triedLoad, r capacity.Result) int {
	for i, t := range loads {
		if r.Failed != nil && t.load >= *r.Failed || r.Failed == nil && r.Passed != nil && t.load > *r.Passed {
			return i
		}
	}
	return -1
}

// limitsOf are the terms of an SLA that have a row.
func limitsOf(s capacity.SLA) string {
	var out []string
	for t := range s.Latencies() {
		out = append(out, termWords(t))
	}
	return strings.Join(out, ", ")
}

// joinWords are the sentences that are not empty.
func joinWords(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// disagreedWords name the loads at which some windows passed and some did not:
// what is shown of them is neither the one nor the other.
func disagreedWords(loads []triedLoad) string {
	var out []string
	for _, t := range loads {
		if t.passed > 0 && t.missed > 0 {
			out = append(out, fmt.Sprintf("%s (%d passed, %d missed)", unit.Human(t.load, "op/s"), t.passed, t.missed))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "Windows disagreed, and are added up all the same, at " + strings.Join(out, ", ") + "."
}

func leftWords(n int) string {
	if n <= 0 {
		return ""
	}
	return count(n, "load") + " farther from the boundary stand in the table only."
}

// unusableWords count what is no part of the map.
func unusableWords(loads []triedLoad) string {
	unusable, broken := 0, 0
	for _, t := range loads {
		unusable, broken = unusable+t.unusable, broken+t.broken
	}
	var out []string
	if unusable > 0 {
		out = append(out, count(unusable, "window")+" that said nothing about the target "+isAre(unusable)+" no part of it.")
	}
	if broken > 0 {
		out = append(out, strconv.Itoa(broken)+" could not be read and "+isAre(broken)+" no part of it.")
	}
	return strings.Join(out, " ")
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
