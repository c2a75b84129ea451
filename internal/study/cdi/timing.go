package cdi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// trial is one parallel step: when each task ran, in seconds since the first
// start.
type trial struct {
	step    model.Step
	results []model.Result // with start and end, in the order of the fleet
	start   time.Time
	common  [2]float64 // in which all tasks ran; upside down where they never did
	last    float64    // end
	overlap float64
	words   string
}

// timing shows the accepted parallel trials of a workload, those of fewer
// subjects than all after the others; nil where there are none. Of the whole
// fleet's, the one that overlaps worst is open: it is what the finding's overlap
// comes from.
func timing(run *observe.Run, workload string) *doc.Section {
	if run == nil {
		return nil
	}
	size := observe.Fleet(run.Steps())[workload]
	place := make(map[model.NodeID]int)
	for i, n := range run.Nodes() {
		place[n.ID] = i
	}
	var folds, partial []doc.Block
	var worst *doc.Fold
	least := math.Inf(1)
	for _, s := range run.Steps() {
		if s.Phase != model.Parallel || s.Workload != workload {
			continue
		}
		t, ok := newTrial(run, s, place)
		if !ok {
			continue
		}
		fold := t.fold()
		if n := len(observe.Subjects(s)); n < size {
			fold.Title += fmt.Sprintf(", %d of %d at once", n, size)
			partial = append(partial, doc.Block{Fold: fold})
			continue
		}
		if t.overlap < least {
			worst, least = fold, t.overlap
		}
		folds = append(folds, doc.Block{Fold: fold})
	}
	if worst != nil {
		worst.Open = true
	}
	if len(folds)+len(partial) == 0 {
		return nil
	}
	return &doc.Section{
		Title:  "Were all nodes really at work at once?",
		Intro:  "Bars are tasks; shaded is the time in which all of them were running. The sides enlarge the start and the end; grey lines show the clock error. The score uses the time in which every node’s progress counter ran, so that the overlap above can differ a little from that of the tasks.",
		Blocks: append(folds, partial...),
	}
}

// newTrial takes what measured in a step. When tasks began and ended is all
// that is known of every workload; ok is false where not even that is.
func newTrial(run *observe.Run, s model.Step, place map[model.NodeID]int) (t trial, ok bool) {
	t.step = s
	var times observe.Times
	for _, r := range run.Measured(s) {
		if times.Add(r.Started, r.Ended) {
			t.results = append(t.results, r)
		}
	}
	slices.SortStableFunc(t.results, func(a, b model.Result) int { return place[a.Node] - place[b.Node] })
	since := func(at time.Time) float64 { return at.Sub(times.FirstStart).Seconds() }
	t.start, t.last = times.FirstStart, since(times.LastEnd)
	if t.last <= 0 {
		return t, false
	}
	t.common = [2]float64{since(times.LastStart), since(times.FirstEnd)}
	t.overlap = times.Overlap()
	t.words = fmt.Sprintf("tasks overlap %s, start skew %s, end spread %s", num.Fraction(t.overlap), num.Seconds(times.Skew().Seconds()), num.Seconds(times.Spread().Seconds()))
	return t, true
}

// span is when a task ran.
func (t trial) span(r model.Result) (from, to float64) {
	return r.Started.Sub(t.start).Seconds(), r.Ended.Sub(t.start).Seconds()
}

func (t trial) fold() *doc.Fold {
	f := &doc.Fold{Title: "Trial " + strconv.Itoa(t.step.Trial), Words: t.words, Blocks: []doc.Block{{Figure: t.timeline()}}}
	for _, key := range t.counters() {
		if rates := t.rates(key); rates != nil {
			f.Blocks = append(f.Blocks, doc.Block{Figure: rates})
		}
	}
	return f
}

// about says which trial it is, for readers of the screen.
func (t trial) about() string {
	return t.step.Workload + ", parallel trial " + strconv.Itoa(t.step.Trial)
}

// timeline is a Gantt chart: the start of each task enlarged, the whole trial,
// and the end enlarged. Skews of a millisecond are invisible at the scale of a
// trial of seconds.
func (t trial) timeline() *doc.Figure {
	names := chart.Axis{Kind: chart.Rows, Dense: true}
	var bars chart.Layer
	starts, ends := chart.Layer{Mark: chart.Point, Role: chart.Parallel}, chart.Layer{Mark: chart.Point, Role: chart.Parallel}
	startClock, endClock := chart.Layer{Mark: chart.Rule, Role: chart.Faint}, chart.Layer{Mark: chart.Rule, Role: chart.Faint}
	bars = chart.Layer{Mark: chart.Bar}
	for i, r := range t.results {
		from, to := t.span(r)
		name, row, clock := string(r.Node), float64(i), r.ClockError.Seconds()
		names.Rows = append(names.Rows, chart.Row{Name: name})
		role := chart.Parallel
		if r.Outcome != model.OutcomeOK {
			role = chart.Bad
		}
		bars.X, bars.X2, bars.Y, bars.Roles = append(bars.X, from), append(bars.X2, to), append(bars.Y, row), append(bars.Roles, role)
		bars.Tips = append(bars.Tips, name+": "+num.Seconds(to-from)+", started "+num.Seconds(from)+" after the first")
		for _, side := range []struct {
			marks, clocks *chart.Layer
			at            float64
		}{{&starts, &startClock, from}, {&ends, &endClock, t.last - to}} {
			side.marks.X, side.marks.Y = append(side.marks.X, side.at), append(side.marks.Y, row)
			side.marks.Tips = append(side.marks.Tips, name+": "+num.Seconds(side.at))
			if clock > 0 {
				side.clocks.X, side.clocks.X2, side.clocks.Y = append(side.clocks.X, max(side.at-clock, 0)), append(side.clocks.X2, side.at+clock), append(side.clocks.Y, row)
			}
		}
	}
	hidden := names
	hidden.Hidden = true
	side := func(title string, y chart.Axis, marks, clocks chart.Layer) chart.Chart {
		c := chart.Chart{Title: t.about() + ", " + title, X: chart.Axis{Unit: "s", TickCount: 2}, Y: y}
		if slices.Max(append(slices.Clone(marks.X), clocks.X2...)) == 0 {
			millisecond := 1e-3
			c.X.Hi = &millisecond
		}
		if len(clocks.X) > 0 {
			c.Layers = append(c.Layers, clocks)
		}
		c.Layers = append(c.Layers, marks)
		return c
	}
	whole := chart.Chart{
		Title: "When each node was at work, " + t.about() + ": " + t.words, Span: 3,
		X: chart.Axis{Unit: "s", Tight: true, Hi: &t.last, TickCount: 2}, Y: hidden, Layers: append(t.window(), bars),
	}
	return &doc.Figure{Columns: 5, Panels: []doc.Panel{
		{Title: "start after the first", Chart: side("starts", names, starts, startClock)},
		{Title: "at work", Chart: whole},
		{Title: "end before the last", Chart: side("ends", hidden, ends, endClock)},
	}}
}

// window shades the time in which all tasks ran.
func (t trial) window() []chart.Layer {
	if t.common[1] <= t.common[0] {
		return nil
	}
	return []chart.Layer{{Mark: chart.Band, Role: chart.Window, X: chart.Values{t.common[0]}, X2: chart.Values{t.common[1]},
		Tips: []string{num.Seconds(t.common[1]-t.common[0]) + " in which all tasks were running"}}}
}

// counter is a progress counter that tasks published.
type counter struct{ metric, unit string }

// counters lists them in order of first appearance.
func (t trial) counters() []counter {
	var out []counter
	for _, r := range t.results {
		for _, s := range r.Series {
			if k := (counter{s.Metric, s.Unit}); !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// rates draws every node's rate over the trial; nil when there is nothing to
// draw.
func (t trial) rates(key counter) *doc.Figure {
	unit, factor := evaluation.DrawnIn(t.resource(key.metric), key.unit+"/s")
	lines, top := t.window(), 0.0
	first := len(lines)
	bins := max(12, min(60, 6000/len(t.results))) // so that the page stays small
	for _, r := range t.results {
		for _, s := range r.Series {
			if s.Metric != key.metric || s.Unit != key.unit || len(s.Offsets) != len(s.Values) {
				continue
			}
			from, _ := t.span(r)
			l := ratesOf(s, from, factor, bins)
			l.Name, l.Role = string(r.Node), chart.Series(len(lines)-first)
			for _, v := range l.Y {
				top = max(top, v)
			}
			lines = append(lines, l)
		}
	}
	if !(top > 0) || math.IsInf(top, 0) {
		return nil
	}
	if len(lines)-first > chart.MostLines {
		for i := first; i < len(lines); i++ {
			lines[i].Name, lines[i].Role = "", chart.Parallel // a cloud of one colour
		}
	}
	scale := num.For(unit, top)
	return &doc.Figure{Title: "Throughput over time: " + key.metric, Words: scale.Unit + " per node", Panels: []doc.Panel{{Chart: chart.Chart{
		Title: "Throughput of every node over time, " + key.metric + ", " + t.about(), Height: 120,
		X: chart.Axis{Unit: "s", Tight: true, Hi: &t.last}, Y: chart.Axis{Unit: unit}, Layers: lines,
	}}}}
}

// resource is what a metric is a capacity of, empty when no sample says so.
func (t trial) resource(metric string) string {
	for _, r := range t.results {
		for _, s := range r.Samples {
			if s.Metric == metric && s.Resource != "" {
				return s.Resource
			}
		}
	}
	return ""
}

// ratesOf turns a counter into rates over bins of equal length. There are no
// more bins than steps between points, as a counter says nothing about the time
// between two of its points.
func ratesOf(s model.Series, start, factor float64, most int) chart.Layer {
	c, l := observe.Counter(s, start), chart.Layer{Mark: chart.Step}
	times, done, n := c.Times, c.Values, len(c.Times)
	if n < 2 || times[n-1] <= times[0] {
		return l
	}
	bins := min(n-1, most)
	width := (times[n-1] - times[0]) / float64(bins)
	before, at := done[0], 0
	for b := range bins {
		from := times[0] + float64(b)*width
		after, next := stats.Interpolate(times, done, from+width, at)
		l.X, l.X2, l.Y = append(l.X, from), append(l.X2, from+width), append(l.Y, factor*(after-before)/width)
		before, at = after, next
	}
	return l
}
