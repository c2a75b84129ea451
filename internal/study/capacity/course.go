package capacity

import (
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
)

// mostSeconds is how many a course draws one by one; of a longer search it draws
// the windows as wholes. Percentiles of seconds cannot be averaged.
const mostSeconds = 2000

// longestPause is how many times the longest window a pause may take before it
// is left out: the search was continued much later.
const longestPause = 5

// course is a search over time, in columns of charts. Times are in seconds since
// the first window began, without the pauses that are left out.
type course struct {
	windows map[Verdict]*chart.Layer // as high as their load
	pauses  chart.Values
	skipped float64
	// From each X to X2 so much was answered well, and latencies were these.
	from, to, achieved, p50, p90 chart.Values
	short                        chart.Layer // stretches without a P90: how many operations did not end well
	whole                        bool        // values are of whole windows
	end                          float64
}

func newCourse(windows []Assessment) *course {
	c := &course{windows: make(map[Verdict]*chart.Layer)}
	seconds, longest := 0, 0.
	var first time.Time
	for _, w := range windows {
		seconds, longest = seconds+w.Seconds.Len(), max(longest, lengthOf(w.Window))
		if first.IsZero() {
			first = w.Start
		}
	}
	c.whole = seconds > mostSeconds
	for i, w := range windows {
		from := c.end // a window without a time follows the one before it
		if !w.Start.IsZero() {
			from = max(w.Start.Sub(first).Seconds()-c.skipped, c.end)
		}
		if gap := from - c.end; i > 0 && gap > longestPause*longest {
			c.skipped += gap - longest
			from = c.end + longest
			c.pauses = append(c.pauses, from)
		}
		c.add(i, w, from)
	}
	return c
}

// lengthOf is how long load was offered, in seconds: from the start of the
// window, warming up included, to the end of its last scored second.
func lengthOf(w load.Window) float64 {
	length := w.Scored.Seconds()
	if n := w.Seconds.Len(); n > 0 {
		length = max(length, float64(w.Seconds.Index[n-1]+1))
	}
	return length
}

// add draws window i, which begins at from.
func (c *course) add(i int, w Assessment, from float64) {
	c.end = from + lengthOf(w.Window)
	of := c.windows[w.Verdict]
	if of == nil {
		of = &chart.Layer{}
		c.windows[w.Verdict] = of
	}
	tip := fmt.Sprintf("window %d: %s offered, %s answered: %s", i+1, rate(w.Load), rate(w.Achieved()), w.Verdict)
	if reason := w.reason(); reason != "" {
		tip += ": " + reason
	}
	of.X, of.X2, of.Y, of.Tips = append(of.X, from), append(of.X2, c.end), append(of.Y, w.Load), append(of.Tips, tip)
	if c.whole {
		c.step(c.end-w.Scored.Seconds(), c.end, w.Achieved(), latencyOf(w.Window, .5), latencyOf(w.Window, .9), w.Counts.Due, w.Counts.OK, false)
		return
	}
	s := w.Seconds
	for k, index := range s.Index {
		at := from + float64(index)
		joined := k > 0 && s.Index[k-1] == index-1 && !num.Finite(s.P90[k-1])
		c.step(at, at+1, float64(s.Replies[k]), s.P50[k], s.P90[k], s.Due[k], s.OK[k], joined)
	}
}

// latencyOf is a latency in seconds, NaN where it is not known.
func latencyOf(w load.Window, q float64) float64 {
	d, known := w.Latency(q)
	if !known {
		return math.NaN()
	}
	return d.Seconds()
}

// step draws a stretch of scored time; joined: the one before is part of the
// same window and has no P90.
func (c *course) step(from, to, achieved, p50, p90 float64, due, ok int64, joined bool) {
	c.from, c.to, c.achieved = append(c.from, from), append(c.to, to), append(c.achieved, achieved)
	c.p50, c.p90 = append(c.p50, p50), append(c.p90, p90)
	last := len(c.short.X2) - 1
	switch {
	case num.Finite(p90):
	case joined && last >= 0:
		c.short.X2[last] = to
	default:
		tip := fmt.Sprintf("%s of %s operations due did not end well", num.Grouped(due-ok), num.Grouped(due))
		if due == 0 {
			tip = "nothing was due"
		}
		c.short.X, c.short.X2, c.short.Tips = append(c.short.X, from), append(c.short.X2, to), append(c.short.Tips, tip)
	}
}

// courseFigure is the search over time (Fig. 1 of the black-box throughput
// paper): the load offered, what came of it, and the latency.
func (s Search) courseFigure() (b doc.Block) {
	c := newCourse(s.Answer.Windows)
	if c.end == 0 {
		return b
	}
	zero := 0.
	x := chart.Axis{Unit: "s", Tight: true, Lo: &zero, Hi: &c.end, TickCount: 6}
	latency := chart.Axis{Kind: chart.Log, Label: "latency", Unit: "s"}
	named := x
	named.Label = "time since the first window began"
	b.Figure = &doc.Figure{
		Title: "The search over time",
		Words: "Above the load offered, window by window, and how much of what was due was answered well; below the latency of each second.",
		Note:  "Time before the first value of a window is warming up, and not scored.",
		Panels: []doc.Panel{
			{Chart: chart.Chart{Title: "The search over time: load offered and answered", Height: 150, X: x, Y: chart.Axis{Unit: "op/s"}, Layers: c.loads()}},
			{Chart: chart.Chart{Title: "The search over time: latency", Height: 150, X: named, Y: latency, Layers: c.latencies(s.Config.SLA)}},
		},
	}
	if c.whole {
		b.Figure.Words = "Above the load offered, window by window, and how much of what was due was answered well; below the latency."
		b.Figure.Note = "Of so long a search whole windows are drawn: percentiles of seconds cannot be averaged. " + b.Figure.Note
	}
	if c.skipped > 0 {
		b.Figure.Note += fmt.Sprintf(" Pauses of %s in all are left out, at the dotted lines.", num.Seconds(c.skipped))
	}
	return b.On(doc.Page)
}

// loads are windows as areas as high as their load, each with its mark, and over
// them what of it was answered.
func (c *course) loads() (out []chart.Layer) {
	var marks []chart.Layer
	for _, worth := range worths {
		w := c.windows[worth.verdict]
		if w == nil {
			continue
		}
		out = append(out, chart.Layer{Mark: chart.Band, Role: worth.role, X: w.X, X2: w.X2, Y: chart.Values{0}, Y2: w.Y, Tips: w.Tips},
			chart.Layer{Mark: chart.Rule, Role: worth.role, X: w.X, X2: w.X2, Y: w.Y})
		middle := make(chart.Values, len(w.X))
		for i := range middle {
			middle[i] = (w.X[i] + w.X2[i]) / 2
		}
		marks = append(marks, chart.Layer{Mark: chart.Point, Role: worth.role, Name: worth.name, X: middle, Y: w.Y, Tips: w.Tips})
	}
	name := "answered well, of what was due in that second"
	if c.whole {
		name = "answered well"
	}
	out = append(out, chart.Layer{Mark: chart.Step, Name: name, X: c.from, X2: c.to, Y: c.achieved})
	return append(append(out, c.pause()...), marks...)
}

// pause marks where time was left out.
func (c *course) pause() []chart.Layer {
	if len(c.pauses) == 0 {
		return nil
	}
	return []chart.Layer{{Mark: chart.Rule, Role: chart.Faint, X: c.pauses}}
}

// latencies are two percentiles, with the limits. Where one of them is beyond
// everything its line ends, and where that is the higher one a bar stands above
// the plot.
func (c *course) latencies(sla load.SLA) []chart.Layer {
	out := []chart.Layer{
		{Mark: chart.Step, Role: chart.Series3, Name: "p50", X: c.from, X2: c.to, Y: c.p50},
		{Mark: chart.Step, Role: chart.Series4, Name: "p90", X: c.from, X2: c.to, Y: c.p90},
	}
	out = append(out, c.pause()...)
	if len(c.short.X) > 0 {
		out = append(out, chart.Layer{Mark: chart.Band, Role: chart.Unknown, Place: chart.Above, Name: "more than one in ten did not end well: no p90",
			X: c.short.X, X2: c.short.X2, Tips: c.short.Tips})
	}
	// Names of two limits stand at the two ends, so that they stay apart.
	named := 0
	for t := range sla.Latencies() {
		l := chart.Layer{Mark: chart.Rule, Role: chart.Limit, Y: chart.Values{t.Latency.Seconds()}}
		if named < 2 {
			l.Text, l.Place = []string{termText(t)}, []chart.Place{chart.Left, chart.Right}[named]
		}
		named++
		out = append(out, l)
	}
	return out
}
