package resources

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
)

// shown reports whether a scaling says more than its finding.
func shown(s evaluation.Scaling) bool {
	return len(s.Points) >= curveSizes || s.Limit != nil || len(s.Groups) > 0 || len(s.Doubts) > 0
}

// growth shows how the total of a metric grew with the size of the fleet.
func growth(i int, s evaluation.Scaling, terminal bool) (section doc.Section, ok bool) {
	out := doc.Section{ID: href(i)[1:], Title: "How the total grows: " + s.Name()}
	switch {
	case shown(s) && !terminal:
		out.Show = doc.Page
	case !shown(s) && terminal:
		out.Show = doc.Terminal
	case !shown(s):
		return out, false
	}
	if len(s.Doubts) > 0 {
		out.Blocks = append(out.Blocks, doc.Listed(s.Doubts).On(doc.Page))
	}
	for _, sentence := range growthWords(s) {
		out.Blocks = append(out.Blocks, doc.Para(sentence))
	}
	if len(s.Points) >= curveSizes {
		if c, ok := growthChart(s); ok {
			out.Blocks = append(out.Blocks, doc.Plot("", "", c).On(doc.Page))
		}
	}
	if table := (doc.Block{Table: growthTable(s)}); len(s.Points) >= curveSizes {
		out.Blocks = append(out.Blocks, table)
	} else {
		out.Blocks = append(out.Blocks, table.On(doc.Terminal))
	}
	return out, true
}

// scaleOf chooses one unit for all totals of a scaling.
func scaleOf(s evaluation.Scaling) num.Scale {
	var totals []float64
	for _, p := range s.Points {
		totals = append(totals, p.Total)
	}
	return evaluation.ScaleOf(s.Resource, s.Unit, totals...)
}

// alone is the mean of the serial phase, what one subject does alone; ok is
// false where it was not measured.
func alone(s evaluation.Scaling) (mean float64, ok bool) {
	if len(s.Points) > 0 && s.Points[0].Nodes == 1 {
		return s.Points[0].Total, true
	}
	return 0, false
}

// growthTable has a row a size: the total, its interval over trials, and what it
// is of the serial mean times the size.
func growthTable(s evaluation.Scaling) *doc.Table {
	scale, of := scaleOf(s), string(s.Of)
	t := &doc.Table{Columns: []doc.Column{
		{Key: "size", Head: of + "s", Right: true},
		{Key: "trials", Head: "trials", Right: true},
		{Key: "total", Head: "total", Right: true},
		{Key: "interval", Head: "95 %", Right: true, Interval: true},
		{Key: "per_subject", Head: "per " + of, Right: true},
		{Key: "of_ideal", Head: "of ideal", Right: true},
	}}
	serial, known := alone(s)
	for _, p := range s.Points {
		interval := doc.Of(nil, num.Missing)
		if p.CI != nil {
			// A total below 0 there is not, whatever few trials allow.
			interval = doc.Of(nil, scale.Interval(max(p.CI[0], 0), p.CI[1])).Within(p.CI[0], p.CI[1])
		}
		ideal := doc.Of(nil, num.Missing)
		if known && serial > 0 {
			share := p.Total / (serial * float64(p.Nodes))
			ideal = doc.Of(share, num.Fraction(share))
		}
		each := p.Total / float64(p.Nodes)
		t.Add(doc.Int(p.Nodes), doc.Int(len(p.Totals)),
			doc.Of(p.Total, scale.Value(p.Total, 0)).As(doc.Strong), interval, doc.Of(each, scale.Value(each, 0)), ideal)
	}
	return t
}

// growthWords say what the curve is and where it ends.
func growthWords(s evaluation.Scaling) []string {
	var out []string
	if text := fitWords(s); text != "" {
		out = append(out, text)
	}
	limits := s.Groups
	if s.Limit != nil {
		limits = append([]evaluation.SharedLimit{*s.Limit}, limits...)
	}
	for _, l := range limits {
		out = append(out, "Shared limit: "+doc.Words(l.Text)+".")
	}
	return out
}

func fitWords(s evaluation.Scaling) string {
	scale := scaleOf(s)
	switch {
	case s.Peak != nil:
		return "The total does not stay: " + doc.Words(s.Peak.Text) + "."
	case s.Fit == nil && len(s.Points) >= curveSizes && s.Grows():
		return fmt.Sprintf("No end of growth was seen up to %s.",
			num.Count(s.Points[len(s.Points)-1].Nodes, string(s.Of)))
	case s.Fit == nil:
		return ""
	case s.Fit.Cap == nil:
		return fmt.Sprintf("No end of growth was seen: each %s adds %s (linear fit).", s.Of, scale.Value(s.Fit.Slope, 0))
	}
	text := fmt.Sprintf("Each %s adds %s until the total stays at %s", s.Of, scale.Value(s.Fit.Slope, 0), scale.Value(*s.Fit.Cap, 0))
	if ci := s.Fit.CapCI; ci != nil {
		text += fmt.Sprintf(" (95 %% interval %s to %s)", scale.Number(ci[0], 0), scale.Value(ci[1], 0))
	}
	if k := s.Fit.Knee; k != nil {
		knee := strings.TrimSuffix(num.Tick(*k, 0.1), ".0") // it seldom falls on a whole number
		text += fmt.Sprintf(", reached with %s %s", knee, s.Of)
		if knee != "1" {
			text += "s"
		}
	}
	return text + "."
}

// growthChart draws totals against size (ScaleBench, Fig. 11); ok is false when
// nothing was measured.
func growthChart(s evaluation.Scaling) (c chart.Chart, ok bool) {
	unit, factor := evaluation.DrawnIn(s.Resource, s.Unit)
	scale := scaleOf(s)
	top := 0.0
	for _, p := range s.Points {
		top = max(top, factor*p.Total, factor*slices.Max(append(p.Totals, p.Total)))
	}
	last := float64(s.Points[len(s.Points)-1].Nodes)
	serial, known := alone(s)
	serial *= factor
	var slope, limit float64
	if s.Fit != nil {
		slope = factor * s.Fit.Slope
		if s.Fit.Cap != nil {
			limit = factor * *s.Fit.Cap
			top = max(top, limit)
		}
	}
	if known {
		top = max(top, min(serial*last, idealRoom*top))
	}
	if p := s.Peak; p != nil {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: chart.Limit, X: chart.Values{float64(p.Nodes)},
			Text: []string{"the most: " + scale.Value(p.Total, 0)}})
	}
	top *= 1.05
	if !(top > 0) || !num.Finite(top) {
		return c, false
	}
	end := last * 1.06
	c = chart.Chart{
		Layers: c.Layers,
		Title:  s.Name() + ": total against the number of " + string(s.Of) + "s at work", Height: 240,
		X: chart.Axis{Label: string(s.Of) + "s at work", Whole: true, Hi: &end, Tight: true},
		Y: chart.Axis{Unit: unit, Hi: &top, Max: &top},
	}
	if known && serial > 0 {
		to := min(end, top/serial)
		c.Layers = append(c.Layers,
			chart.Layer{Mark: chart.Line, Role: chart.Reference, X: chart.Values{0, to}, Y: chart.Values{0, to * serial}},
			chart.Layer{Mark: chart.Label, Role: chart.Reference, X: chart.Values{0.9 * to}, Y: chart.Values{0.9 * to * serial}, Text: []string{"ideal"}, Place: chart.Left})
	}
	if limit > 0 {
		text := "the total stays at " + scale.Value(limit/factor, 0)
		if s.Limit != nil && s.Limit.Among != "" {
			text += " (" + s.Limit.Among + ")"
		}
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: chart.Limit, Y: chart.Values{limit}, Text: []string{text}})
	}
	if slope > 0 {
		fit := chart.Layer{Mark: chart.Line, Role: chart.Parallel, X: chart.Values{0, end}, Y: chart.Values{0, end * slope}}
		if knee := limit / slope; limit > 0 && knee < end {
			fit.X, fit.Y = chart.Values{0, knee, end}, chart.Values{0, limit, limit}
		}
		c.Layers = append(c.Layers, fit)
	}
	c.Layers = append(c.Layers, growthMarks(s, factor, last, scale)...)
	return c, true
}

// growthMarks are the trials, and a short rule at their mean.
func growthMarks(s evaluation.Scaling, factor, last float64, scale num.Scale) []chart.Layer {
	levels := chart.Layer{Mark: chart.Rule, Role: chart.Parallel}
	serial, parallel := chart.Layer{Mark: chart.Point, Role: chart.Serial}, chart.Layer{Mark: chart.Point, Role: chart.Parallel}
	for _, p := range s.Points {
		x := float64(p.Nodes)
		if len(p.Totals) > 1 {
			half := 0.01 * last
			levels.X, levels.X2, levels.Y = append(levels.X, x-half), append(levels.X2, x+half), append(levels.Y, factor*p.Total)
		}
		marks := &parallel
		if p.Nodes == 1 {
			marks = &serial
		}
		size := num.Count(p.Nodes, string(s.Of))
		for i, v := range p.Totals {
			marks.X, marks.Y = append(marks.X, x), append(marks.Y, factor*v)
			marks.Tips = append(marks.Tips, fmt.Sprintf("%s, trial %d: %s", size, i+1, scale.Value(v, 0)))
		}
	}
	return slices.DeleteFunc([]chart.Layer{levels, serial, parallel}, func(l chart.Layer) bool { return len(l.X) == 0 })
}
