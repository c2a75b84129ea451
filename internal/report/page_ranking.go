package report

import (
	"html/template"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/table"
)

// rankingView answers "which resource?" at the top of the page.
type rankingView struct {
	Rows    []rankingRow
	Axis    template.HTML
	Unknown []string
}

// rankingRow is one resource.
type rankingRow struct {
	Rank                   string
	Href, Resource, Metric string
	Figure                 template.HTML
	Value, Interval        string
	Verdict, Symbol        string
	Limits                 []string
	Worth                  string // what the fleet does, where that is less than it could
	Possible               string
}

// ranking shows the resources of a run that has several, worst first. A run of
// one resource still says what it cannot tell.
func (b builder) ranking(r *model.Ranking) *rankingView {
	if r == nil || len(r.Resources)+len(r.Unknown) == 0 {
		return nil
	}
	v := &rankingView{}
	for _, u := range r.Unknown {
		v.Unknown = append(v.Unknown, table.Clean(u))
	}
	if len(r.Resources) < 2 {
		return v
	}
	findings := make([]model.Finding, len(r.Resources))
	for i, x := range r.Resources {
		findings[i] = x.Finding
	}
	chart := figure.CDI(cdiRows(findings))
	v.Axis = chart.Axis
	for i, x := range r.Resources {
		v.Rows = append(v.Rows, b.rankingRow(x, chart.Rows[i]))
	}
	return v
}

func (b builder) rankingRow(x model.RankedResource, drawing template.HTML) rankingRow {
	f := x.Finding
	r := rankingRow{
		Rank: strconv.Itoa(x.Rank), Href: b.hrefOf(f), Resource: table.Clean(x.Resource), Metric: name(f), Figure: drawing,
		Value: minus(optional(f.CDI, num.Percent)), Interval: minus(intervalText(f.CI)),
		Verdict: string(verdictOf(f)), Symbol: symbol(verdictOf(f)), Possible: notExcludedWords(f),
	}
	if verdictOf(f) == model.VerdictDegraded && f.Nodes > 1 {
		r.Worth = capital(subjects(f)) + " do the work of " + worthText(f) + "."
	}
	for _, l := range x.Limits {
		r.Limits = append(r.Limits, limitText(l))
	}
	return r
}

// hrefOf leads to a finding's part of the page, "" when it has none.
func (b builder) hrefOf(f model.Finding) string {
	for i, other := range b.findings {
		if other.Workload == f.Workload && other.Metric == f.Metric {
			return findingHref(i)
		}
	}
	return ""
}

// covers reports whether the ranking shows every finding already.
func (v *rankingView) covers(findings []model.Finding) bool {
	return v != nil && len(v.Rows) > 0 && len(v.Rows) >= len(findings)
}
