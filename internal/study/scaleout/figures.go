package scaleout

import (
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/observe"
)

// curve is the paper's Fig. 11: throughput against nodes, with the predicted band, what was
// measured, the curve, the shared limits and the knee.
func (r *Result) curve() doc.Block {
	reach := float64(r.largest().Nodes)
	c := chart.Chart{Title: "Throughput by size of the fleet", Height: 260,
		X: chart.Axis{Label: "nodes", Hi: &reach, Whole: true, TickCount: 8}, Y: chart.Axis{Unit: r.Unit}}
	note := ""
	if r.Predicted != nil {
		c.Layers, note = r.predictedLayers()
	}
	if r.curves != nil {
		line := chart.Layer{Mark: chart.Line, Role: chart.Estimate, Name: "curve: " + string(r.Kind)}
		best := r.curves.Curve(r.curves.Kind)
		for n := 1.0; n <= reach; n += max(1, reach-1) / drawnSteps {
			line.Add(n, best.At(n))
		}
		c.Layers = append(c.Layers, line)
	}
	if r.Knee != nil && *r.Knee <= reach {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: chart.Reference, X: chart.Values{*r.Knee},
			Text: []string{"knee"}})
	}
	c.Layers = append(c.Layers, r.measuredLayers()...)
	return doc.Block{Figure: &doc.Figure{Panels: []doc.Panel{{Chart: c}}, Note: note}}
}

// drawnSteps is in how many steps the curve is drawn.
const drawnSteps = 128

// predictedLayers are the band, and the shared limits. The note has those that are too far above
// it for the scale.
func (r *Result) predictedLayers() (out []chart.Layer, note string) {
	p, largest := r.Predicted, r.largest()
	band := chart.Layer{Mark: chart.Band, Role: chart.Series(0), Name: "predicted before", X: chart.Values{0},
		Y: chart.Values{0}, Y2: chart.Values{0}}
	top := largest.Rate
	for n := 1; n <= largest.Nodes; n++ {
		b := p.band(n)
		band.AddRange(float64(n), b.Lower, b.Upper)
		top = max(top, b.Upper)
	}
	out = []chart.Layer{band}
	var beyond []string
	for _, l := range p.Limits {
		text := l.Resource + ": " + l.quantity().amount(l.Capacity.Value)
		switch limit := l.Capacity.Value / l.PerJob.Value; {
		case limit > mostAbove*top:
			beyond = append(beyond, text+", for "+r.shown(limit))
		case l.PerJob.Value > 0:
			out = append(out, chart.Layer{Mark: chart.Rule, Role: chart.Limit, Y: chart.Values{limit}, Text: []string{text}})
		}
	}
	if len(beyond) > 0 {
		note = "Beyond the scale: " + strings.Join(beyond, "; ") + "."
	}
	return out, note
}

// mostAbove is how many times the rest of the figure a limit may have that is drawn.
const mostAbove = 2

// measuredLayers are the trials, with the interval of each size.
func (r *Result) measuredLayers() []chart.Layer {
	trials := chart.Layer{Mark: chart.Point, Role: chart.Parallel, Name: "measured"}
	whiskers := chart.Layer{Mark: chart.Rule, Role: chart.Interval}
	for _, x := range r.fleets() {
		trials.Add(float64(x.nodes), x.rate)
		trials.Tips = append(trials.Tips, num.Count(x.nodes, "node")+": "+r.shown(x.rate))
	}
	for _, s := range r.Sizes {
		if s.CI != nil {
			whiskers.AddRange(float64(s.Nodes), s.CI.Lo, s.CI.Hi)
		}
	}
	return []chart.Layer{whiskers, trials}
}

// stack is the time of a job by its parts, stacked, against the size.
func (r *Result) stack() chart.Chart {
	c := chart.Chart{Title: "Time of a job by its parts", Height: 200,
		X: chart.Axis{Label: "nodes", Whole: true, Tight: true, TickCount: 8}, Y: chart.Axis{Unit: "s"}}
	for i, s := range r.Stages {
		l := chart.Layer{Mark: chart.Band, Role: chart.Series(i), Name: string(s.Stage), Stack: true}
		for _, size := range r.Sizes {
			v := average(r.pointsOf(size.Nodes), func(x point) float64 { return x.stages[s.Stage] })
			if num.Finite(v) {
				l.AddRange(float64(size.Nodes), 0, v)
			}
		}
		c.Layers = append(c.Layers, l)
	}
	return c
}

// costs is what a job costs against the size; false: there is no price.
func (r *Result) costs() (chart.Chart, bool) {
	line := chart.Layer{Mark: chart.Line, Role: chart.Series(0)}
	points := chart.Layer{Mark: chart.Point, Role: chart.Parallel}
	for _, s := range r.Sizes {
		if s.JobCost != nil {
			line.Add(float64(s.Nodes), *s.JobCost*1000)
			points.Add(float64(s.Nodes), *s.JobCost*1000)
		}
	}
	return chart.Chart{Title: "Cost of 1,000 jobs by size of the fleet", X: chart.Axis{Label: "nodes", Whole: true},
		Y: chart.Axis{Unit: r.Currency}, Layers: []chart.Layer{line, points}}, len(line.X) > 0
}

// oneNode is the paper's Fig. 10: what a node consumes over time while it works alone. nil:
// it was not watched.
func (r *Result) oneNode() *doc.Figure {
	i := slices.IndexFunc(r.points, func(x point) bool { return x.nodes == 1 })
	if r.run == nil || i < 0 || r.run.Need(observe.Hosts, consumed...) != nil {
		return nil
	}
	f := &doc.Figure{Note: "One node of one of the steps in which it worked alone."}
	for _, panel := range [...]struct {
		title, unit string
		metrics     []string
		names       []string
		disk        bool
	}{
		{"Processors", "", []string{observe.MetricCgroupCPU}, []string{"cores in use"}, false},
		{"Disk", "byte/s", []string{observe.MetricDiskWrite, observe.MetricDiskRead}, []string{"written", "read"}, true},
		{"Network", "byte/s", []string{observe.MetricReceived, observe.MetricSent}, []string{"received", "sent"}, false},
	} {
		if panel.disk && r.run.SharedMachine() {
			panel.title += " of the machine that nodes share"
		}
		c := chart.Chart{Title: panel.title + " over time while one node works", Height: 120,
			X: chart.Axis{Unit: "s", Tight: true}, Y: chart.Axis{Unit: panel.unit}}
		for _, x := range r.run.Measured(r.points[i].step) {
			h := observe.NewHost(x, x.Started)
			for k, metric := range panel.metrics {
				if l := perSecond(h.Readings(metric), h.Begin, h.End); len(l.X) > 0 {
					l.Name, l.Role = panel.names[k], chart.Series(k)
					c.Layers = append(c.Layers, l)
				}
			}
		}
		if len(c.Layers) > 0 {
			f.Panels = append(f.Panels, doc.Panel{Title: panel.title, Chart: c})
		}
	}
	if len(f.Panels) == 0 {
		return nil
	}
	return f
}

// consumed are the counters of Fig. 10.
var consumed = []string{observe.MetricCgroupCPU, observe.MetricDiskWrite, observe.MetricDiskRead,
	observe.MetricReceived, observe.MetricSent}

// perSecond is the rate of a counter from reading to reading, within a task.
func perSecond(c observe.Readings, from, to float64) chart.Layer {
	l := chart.Layer{Mark: chart.Step}
	for i := 1; i < len(c.Times); i++ {
		begin, end := c.Times[i-1], c.Times[i]
		if rate := (c.Values[i] - c.Values[i-1]) / (end - begin); end > begin && begin >= from-1 && end <= to+1 &&
			!math.IsNaN(rate) {
			l.AddSpan(begin, end, max(0, rate))
		}
	}
	return l
}
