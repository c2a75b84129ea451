package pressure

import (
	"cmp"
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// mostBoxes is how many limits have a box: the others are in the table.
const mostBoxes = 12

// mostCurves is how many services are drawn over time: the page is for the worst.
const mostCurves = 6

// figures are the paper's Fig. 1, pressure over time with the times at the limit marked,
// and Fig. 6 and 7, boxes of the pressures.
func (r *Result) figures() []doc.Section {
	if len(r.Services) == 0 {
		return nil
	}
	var panels []doc.Panel
	for _, s := range r.ranked()[:min(len(r.Services), mostCurves)] {
		panels = append(panels, doc.Panel{Title: s.name(r.nodes) + ", " + s.words(),
			Words: "at its limit " + percentBounds(s.TCPT) + " of the time, longest " + s.longest(), Chart: r.curve(s)})
	}
	return []doc.Section{
		{ID: "boxes", Title: "Pressures", Intro: "Mean, quartiles, and the 1st and 99th percentile of each limit.",
			Blocks: []doc.Block{doc.Plot("", "", r.boxes())}},
		{ID: "time", Title: "Pressure over time", Show: doc.Page, Blocks: []doc.Block{{Figure: &doc.Figure{Panels: panels,
			Note: "Dark bands: above the critical pressure; the darkest is the longest without a break."}}}},
	}
}

// ranked are the services, those at their limits for longest first.
func (r *Result) ranked() []*Service {
	out := slices.Clone(r.Services)
	slices.SortStableFunc(out, func(a, b *Service) int {
		return cmp.Or(cmp.Compare(b.atLimit(), a.atLimit()), cmp.Compare(b.SLP.Mean, a.SLP.Mean))
	})
	return out
}

// curve is the pressure of a limit over time, in percent.
func (r *Result) curve(s *Service) chart.Chart {
	line := chart.Layer{Mark: chart.Step, Name: "pressure", Role: chart.Series1}
	total := chart.Layer{Mark: chart.Band, Role: chart.Bad, Name: "above the critical pressure"}
	for _, p := range s.line.series {
		line.AddSpan(p.Begin, p.End, 100*p.Mean)
		if r.sampling.critical(p.Mean) {
			total.X, total.X2 = append(total.X, p.Begin), append(total.X2, p.End)
		}
	}
	c := chart.Chart{
		Title: s.name(r.nodes) + ", " + s.words(),
		X:     chart.Axis{Kind: chart.Time, Zone: r.zone}, Y: chart.Axis{Label: "pressure", Unit: "%"},
		Layers: []chart.Layer{total, line,
			{Mark: chart.Rule, Role: chart.Limit, Y: chart.Values{r.Critical}, Text: []string{"critical " +
				num.Percent(r.Critical)}}},
	}
	if longest := s.Critical; longest.End > 0 {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: chart.Alarm, Name: "the longest without a break",
			X: chart.Values{longest.Begin}, X2: chart.Values{longest.End}})
	}
	return c
}

// boxes are those of all limits, as in the paper: mean, quartiles, 1st and 99th percentile.
func (r *Result) boxes() chart.Chart {
	box := chart.Layer{Mark: chart.Box, Role: chart.Series1}
	var rows []chart.Row
	for i, s := range r.ranked()[:min(len(r.Services), mostBoxes)] {
		if s.SLP.Max == 0 {
			continue
		}
		rows = append(rows, chart.Row{Name: s.name(r.nodes), Sub: s.words(),
			Value: num.Percent(100 * s.SLP.Mean)})
		box.Y = append(box.Y, float64(i))
		q := s.SLP
		five := chart.Values{100 * q.P1, 100 * q.P25, 100 * q.Mean, 100 * q.P75, 100 * q.P99}
		box.Boxes = append(box.Boxes, chart.Summary{Five: five, N: len(s.line.series), Style: chart.Percentiles})
	}
	return chart.Chart{Title: "Pressure of each limit", X: chart.Axis{Unit: "%"}, Y: chart.Axis{Kind: chart.Rows,
		Rows: rows},
		Layers: []chart.Layer{box, {Mark: chart.Rule, Role: chart.Limit, X: chart.Values{r.Critical}}}}
}
