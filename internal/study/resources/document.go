package resources

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
)

// Document is study.Answer.Document.
func (r *Result) Document() *doc.Document {
	d := &doc.Document{Title: r.title, Warnings: r.warnings(), Data: r.scalingFlat()}
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
	findings := slices.Clone(r.platform.Findings)
	for i, f := range findings {
		if !f.Answered() && len(f.Doubts) > 0 {
			findings[i].Doubts = f.Doubts[1:]
		}
	}
	out := evaluation.Warnings(findings, r.Scalings, func(i int) string {
		if i >= 0 {
			if k := r.scalingOf(findings[i]); k >= 0 && shown(r.Scalings[k]) {
				return href(k)
			}
		}
		return "#resources"
	}, href)
	return append(out, doc.Caveats(r.others()...)...)
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
			first, names = append(first, doc.Words(x.Text)+"."), append(names, x.Resource)
		}
	}
	switch {
	case len(r.Ranking.Resources) == 0:
		return []string{"The measurement does not tell which resource is lost: no metric has a verdict."}
	case len(first) == 0:
		return []string{"No resource loses capacity, as far as was measured."}
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
	if len(r.Path) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Part: &doc.Section{
			Title: "Where on the way of the data", Blocks: []doc.Block{{List: &doc.List{Items: doc.Texts(r.Path)}}},
		}})
	}
	if len(r.Ranking.Unknown) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Part: &doc.Section{
			Title:  "What the measurement cannot tell",
			Blocks: []doc.Block{{List: &doc.List{Items: doc.Texts(r.Ranking.unknown)}}},
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
		out.More = append(out.More, "Shared limit: "+doc.Words(l.Text))
	}
	if f.Verdict == evaluation.Degraded && f.Nodes > 1 {
		out.More = append(out.More, "The "+f.Work()+".")
	}
	if f.Verdict == evaluation.Unclear {
		out.More = append(out.More, fmt.Sprintf("Unclear: a loss of up to %s is not excluded.", num.Percent(f.CI[1])))
	}
	return out
}

// curveSizes is how many sizes make a curve: of two, one is the serial phase
// and the other the finding itself.
const curveSizes = 3

// idealRoom is how far above the largest total the ideal line is followed: an
// axis that reaches it to its end would press the measurements to the ground.
const idealRoom = 2

// others are the disturbances that no finding tells of.
func (r *Result) others() caveat.List {
	return slices.DeleteFunc(slices.Clone(r.Doubts), func(d caveat.Caveat) bool {
		return slices.ContainsFunc(r.platform.Findings, func(f evaluation.Finding) bool {
			place := caveat.Subject{Workload: f.Workload}
			return slices.ContainsFunc(f.Doubts, func(c caveat.Caveat) bool { return c.SameDisturbance(d, place) })
		})
	})
}

// warningsOf are those of a scaling and of the findings of its metric, each once, and
// what disturbed the nodes.
func (r *Result) warningsOf(s evaluation.Scaling) []caveat.Text {
	all := slices.Clone(s.Doubts)
	for _, f := range r.platform.Findings {
		if f.Workload == s.Workload && f.Metric == s.Metric {
			all = append(all, f.Doubts...)
		}
	}
	for _, d := range r.others() {
		if d.Workload == "" || d.Workload == s.Workload {
			all = append(all, d)
		}
	}
	return all.Texts()
}

// scalingColumns are the columns of the CSV form; new ones are added at the
// end.
var scalingColumns = []string{
	"workload", "metric", "unit", "resource", "of", "nodes", "trials", "total", "ci_lo", "ci_hi",
	"fit", "slope", "cap", "cap_lo", "cap_hi", "knee", "limit", "warnings", "peak_nodes", "peak_total",
}

// scalingFlat is the table for programs: one row a size, with the warnings of the
// scaling and of the metric's findings.
func (r *Result) scalingFlat() *doc.Table {
	t := &doc.Table{Columns: doc.ForPrograms(scalingColumns...)}
	for _, s := range r.Scalings {
		fit := []any{nil, nil, nil, nil, nil, nil}
		if s.Fit != nil {
			lo, hi := s.Fit.CapCI.Ends()
			fit = []any{s.Fit.Model, s.Fit.Slope, s.Fit.Cap, lo, hi, s.Fit.Knee}
		}
		var limit, peakNodes, peakTotal any
		if s.Limit != nil {
			limit = doc.Words(s.Limit.Text)
		}
		if s.Peak != nil {
			peakNodes, peakTotal = s.Peak.Nodes, s.Peak.Total
		}
		text := doc.Joined(r.warningsOf(s))
		for _, p := range s.Points {
			lo, hi := p.CI.Ends()
			values := append([]any{s.Workload, s.Metric, s.Unit, s.Resource, s.Of, p.Nodes, len(p.Totals), p.Total, lo, hi}, fit...)
			t.Add(doc.Values(append(values, limit, text, peakNodes, peakTotal)...)...)
		}
	}
	return t
}
