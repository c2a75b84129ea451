package resources

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
)

// Document implements study.Result.
func (r *Result) Document() *doc.Document {
	d := &doc.Document{Title: r.title, Warnings: r.warnings(), Data: scalingFlat(r.Scalings, r.findings)}
	said := r.answer()
	d.Answer, d.More = said[0], said[1:]
	if rs := r.Ranking.Resources; len(rs) > 0 {
		d.Verdict = rs[0].Finding.Verdict.Tag()
	}
	if s := r.ranking(); len(s.Blocks) > 0 {
		d.Sections = append(d.Sections, s)
	}
	// Without sizes between one and all the scalings say no more than the
	// findings, and a terminal need not have them.
	sweeps := slices.ContainsFunc(r.Scalings, func(s evaluation.Scaling) bool { return len(s.Points) >= curveSizes })
	for i, s := range r.Scalings {
		if section, ok := growth(i, s, sweeps); ok {
			d.Sections = append(d.Sections, section)
		}
	}
	return d
}

// href leads to the growth of a metric.
func href(i int) string { return fmt.Sprintf("#growth%d", i) }

// warnings are those of findings and scalings, each text once. Why a finding has
// no verdict is among what the run cannot tell.
func (r *Result) warnings() []doc.Warning {
	findings := slices.Clone(r.findings)
	for i, f := range findings {
		if !f.Answered() && len(f.Warnings) > 0 {
			findings[i].Warnings = f.Warnings[1:]
		}
	}
	out := evaluation.Warnings(findings, func(i int) string {
		if i >= 0 {
			if k := r.scalingOf(findings[i]); k >= 0 && shown(r.Scalings[k]) {
				return href(k)
			}
		}
		return "#resources"
	})
	for i, s := range r.Scalings {
		link := doc.Link{Href: href(i), Text: s.Name()}
		for _, w := range s.Warnings {
			k := slices.IndexFunc(out, func(x doc.Warning) bool { return x.Text == w })
			if k < 0 {
				out = append(out, doc.Warning{Text: w, Links: []doc.Link{link}})
			} else if !slices.Contains(out[k].Links, link) {
				out[k].Links = append(out[k].Links, link)
			}
		}
	}
	return out
}

// scalingOf is the place of the scaling of a finding's metric, -1 if there is
// none.
func (r *Result) scalingOf(f evaluation.Finding) int {
	return slices.IndexFunc(r.Scalings, func(s evaluation.Scaling) bool { return s.Workload == f.Workload && s.Metric == f.Metric })
}

// answer says which resource is lost first.
func (r *Result) answer() []string {
	var first, names []string
	for _, x := range r.Ranking.Resources {
		if x.Rank == 1 && x.Finding.Verdict == evaluation.Degraded {
			first, names = append(first, x.Text+"."), append(names, x.Resource)
		}
	}
	switch {
	case len(r.Ranking.Resources) == 0:
		return []string{"The run does not tell which resource is lost: no metric has a verdict."}
	case len(first) == 0:
		return []string{"No resource loses capacity, as far as this run shows."}
	case len(first) == 1:
		return first
	}
	last := len(names) - 1
	return append([]string{fmt.Sprintf("%s and %s are lost first, and the intervals do not tell them apart.", strings.Join(names[:last], ", "), names[last])}, first...)
}

// ranking shows the resources, worst first, and what the run cannot tell.
func (r *Result) ranking() doc.Section {
	s := doc.Section{ID: "resources", Title: "Which resource?"}
	resources := r.Ranking.Resources
	if len(resources) > 0 {
		findings := make([]evaluation.Finding, len(resources))
		for i, x := range resources {
			findings[i] = x.Finding
		}
		c := evaluation.Chart("The resources by what is lost of them", findings, func(i int, f evaluation.Finding) chart.Row { return r.row(resources[i]) })
		s.Intro = "The resources of this run by how much of each is lost when all work at once, the worst first; those that the intervals do not tell apart share a rank. Whiskers: 95 % interval."
		s.Blocks = append(s.Blocks, doc.Plot("", "", c))
	}
	if len(r.Ranking.Unknown) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Part: &doc.Section{
			Title: "What this run cannot tell", Blocks: []doc.Block{{List: &doc.List{Items: r.Ranking.Unknown}}},
		}})
	}
	return s
}

// row is one resource with what limits it.
func (r *Result) row(x RankedResource) chart.Row {
	f := x.Finding
	out := chart.Row{Name: strconv.Itoa(x.Rank) + ". " + x.Resource}
	if name := f.Name(); !strings.EqualFold(strings.ReplaceAll(x.Resource, "/", " "), name) {
		out.Sub = strings.TrimPrefix(name, evaluation.Category(x.Resource)+" ")
	}
	if i := r.scalingOf(f); i >= 0 && shown(r.Scalings[i]) {
		out.Href = href(i)
	}
	for _, l := range x.Limits {
		out.More = append(out.More, "Shared limit: "+limitText(l))
	}
	if f.Verdict == evaluation.Degraded && f.Nodes > 1 {
		out.More = append(out.More, "The "+f.Work()+".")
	}
	if f.Verdict == evaluation.Unclear {
		out.More = append(out.More, fmt.Sprintf("Unclear: a loss of up to %s is not excluded.", num.Percent(f.CI[1])))
	}
	return out
}

// limitText is the limit in words, with who shares it unless the words say so.
func limitText(l evaluation.SharedLimit) string {
	if l.Among != "" && !strings.Contains(l.Text, l.Among) {
		return l.Among + ": " + l.Text
	}
	return l.Text
}

// curveSizes is how many sizes make a curve: of two, one is the serial phase
// and the other the finding itself.
const curveSizes = 3

// shown reports whether a scaling says more than its finding.
func shown(s evaluation.Scaling) bool {
	return len(s.Points) >= curveSizes || s.Limit != nil || len(s.Groups) > 0 || len(s.Warnings) > 0
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
	if len(s.Warnings) > 0 {
		out.Blocks = append(out.Blocks, doc.Cautions(s.Warnings).On(doc.Page))
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
		out = append(out, "Shared limit: "+strings.TrimSuffix(limitText(l), ".")+".")
	}
	return out
}

func fitWords(s evaluation.Scaling) string {
	scale := scaleOf(s)
	switch {
	case s.Peak != nil:
		return "The total does not stay: " + s.Peak.Text + "."
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

// idealRoom is how far above the largest total the ideal line is followed: an
// axis that reaches it to its end would press the measurements to the ground.
const idealRoom = 2

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

// warningsOf are those of a scaling and of the findings of its metric, each once.
func warningsOf(s evaluation.Scaling, findings []evaluation.Finding) []string {
	out := slices.Clone(s.Warnings)
	for _, f := range findings {
		for _, w := range f.Warnings {
			if f.Workload == s.Workload && f.Metric == s.Metric && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// scalingColumns are the columns of the CSV form; new ones are added at the
// end.
var scalingColumns = []string{
	"workload", "metric", "unit", "resource", "of", "nodes", "trials", "total", "ci_lo", "ci_hi",
	"fit", "slope", "cap", "cap_lo", "cap_hi", "knee", "limit", "warnings", "peak_nodes", "peak_total",
}

// scalingFlat is the table for programs: one row a size, with the warnings of the
// scaling and of the metric's findings.
func scalingFlat(scalings []evaluation.Scaling, findings []evaluation.Finding) *doc.Table {
	t := &doc.Table{Columns: doc.ForPrograms(scalingColumns...)}
	for _, s := range scalings {
		fit := []any{nil, nil, nil, nil, nil, nil}
		if s.Fit != nil {
			lo, hi := s.Fit.CapCI.Ends()
			fit = []any{s.Fit.Model, s.Fit.Slope, s.Fit.Cap, lo, hi, s.Fit.Knee}
		}
		var limit, peakNodes, peakTotal any
		if s.Limit != nil {
			limit = limitText(*s.Limit)
		}
		if s.Peak != nil {
			peakNodes, peakTotal = s.Peak.Nodes, s.Peak.Total
		}
		text := strings.Join(warningsOf(s, findings), "; ")
		for _, p := range s.Points {
			lo, hi := p.CI.Ends()
			values := append([]any{s.Workload, s.Metric, s.Unit, s.Resource, s.Of, p.Nodes, len(p.Totals), p.Total, lo, hi}, fit...)
			t.Add(doc.Values(append(values, limit, text, peakNodes, peakTotal)...)...)
		}
	}
	return t
}
