package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/table"
)

//go:embed page/plan.html.tmpl
var planTemplate string

//go:embed page/plan.css
var planStyle string

var parsedPlan = template.Must(template.Must(template.New("plan").Parse(tableTemplates())).Parse(planTemplate))

// tableTemplates are the parts that pages share: those before the document.
func tableTemplates() string {
	shared, _, _ := strings.Cut(pageTemplate, "<!DOCTYPE html>")
	return shared
}

// planWidth is how wide the picture of a plan is that stands by itself, in
// pixels.
const planWidth = 860

// planPage is what the template of a plan shows.
type planPage struct {
	Policy   string
	Style    template.CSS
	Script   template.JS
	Lead     string
	Answer   string
	Class    string
	Words    []string
	Warnings []string
	Plot     *figure.Plot
	Lines    []string // the legend
	Table    *tableView
}

// PlanHTML writes one self-contained page about a plan: the answer, the demand
// lines against the capacities, and the figures behind them. Nothing is
// written if the page cannot be made.
func PlanHTML(w io.Writer, r model.PlanResult) error {
	p := planPage{
		Policy: policy(), Style: template.CSS(styleSheet), Script: template.JS(script),
		Lead: planLead(r), Answer: table.Clean(string(r.Answer)), Class: planClass(r.Answer),
		Table: newTableView(planTable(r), planTable(r)),
	}
	for _, x := range r.Resources {
		if x.Text != "" {
			p.Words = append(p.Words, table.Clean(x.Text))
		}
	}
	for _, text := range r.Warnings {
		p.Warnings = append(p.Warnings, table.Clean(text))
	}
	drawing := planFigure(r)
	if plot, ok := drawing.Draw(); ok {
		p.Plot = &plot
	}
	for _, l := range drawing.Lines {
		p.Lines = append(p.Lines, l.Name+": "+l.Words)
	}
	var b bytes.Buffer
	if err := parsedPlan.Execute(&b, p); err != nil {
		return fmt.Errorf("writing the page of a plan: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("writing the page of a plan: %w", err)
	}
	return nil
}

// PlanSVG writes the figure of a plan as a picture of its own. It fails with
// model.ErrUsage when no resource has both a demand and a capacity.
func PlanSVG(w io.Writer, r model.PlanResult) error {
	drawing, ok := planFigure(r).SVG(planWidth, planStyle)
	if !ok {
		return fmt.Errorf("drawing the plan: no resource has a capacity to hold its demand against: measure one or give it: %w", model.ErrUsage)
	}
	if _, err := io.WriteString(w, string(drawing)); err != nil {
		return fmt.Errorf("writing the figure of a plan: %w", err)
	}
	return nil
}

func planClass(a model.PlanAnswer) string {
	switch a {
	case model.PlanFits:
		return "none"
	case model.PlanFails:
		return "degraded"
	}
	return "unknown"
}

// planLead is the answer in a sentence or two.
func planLead(r model.PlanResult) string {
	head := fmt.Sprintf("%s take %s", jobsText(r.Target), count(r.Nodes, "node"))
	switch {
	case r.Largest != nil && *r.Largest == 0:
		return fmt.Sprintf("%s, but not even one node fits: it takes more of %s than there is.", head, table.Clean(r.Binding))
	case r.Answer == model.PlanFails && r.Largest != nil:
		return fmt.Sprintf("%s, but the largest useful fleet is %s (%s): %s is used up.", head, count(*r.Largest, "node"),
			jobsText(orNaN(r.LargestRate)), table.Clean(r.Binding))
	case r.Answer == model.PlanFits && r.Largest != nil:
		return fmt.Sprintf("%s, and that fits. The largest useful fleet is %s (%s): then %s is used up.", head, count(*r.Largest, "node"),
			jobsText(orNaN(r.LargestRate)), table.Clean(r.Binding))
	case r.Answer == model.PlanFits:
		return head + ", and that fits what was measured. No resource was shown to end growth."
	case r.Answer == model.PlanFails:
		return head + ", which is more than there is."
	}
	return head + ", which is more than was measured, or not measured at all: whether it works is not known."
}

// jobsText prints a rate of jobs as the text of a plan does.
func jobsText(rate float64) string {
	if !num.Finite(rate) {
		return num.Missing
	}
	return analysis.PlanDigits(rate) + " jobs/s"
}

// planFigure has a line for each resource whose capacity is known.
func planFigure(r model.PlanResult) figure.Plan {
	p := figure.Plan{Nodes: r.Nodes, Target: jobsText(r.Target), Title: "Demand against capacity: " + planLead(r)}
	for _, x := range r.Resources {
		if x.Capacity == nil || !(x.Demand > 0) || !(*x.Capacity > 0) || !num.Finite(*x.Capacity) {
			continue
		}
		at := *x.Capacity / x.Demand
		line := figure.PlanLine{Name: table.Clean(x.Resource), At: at, Lo: at, Hi: at, Limited: x.NodeLimit != nil, Words: crossingWords(x, at)}
		line.Lo, line.Hi = crossingRange(x, at)
		p.Lines = append(p.Lines, line)
	}
	return p
}

// crossingRange is C/d with the intervals of both, the ends taken against each
// other.
func crossingRange(x model.PlanResource, at float64) (lo, hi float64) {
	capacity, demand := model.Interval{*x.Capacity, *x.Capacity}, model.Interval{x.Demand, x.Demand}
	if bounded(x.CapacityCI) {
		capacity = *x.CapacityCI
	}
	if bounded(x.DemandCI) {
		demand = *x.DemandCI
	}
	if capacity[0] <= 0 || demand[0] <= 0 {
		return at, at
	}
	return capacity[0] / demand[1], capacity[1] / demand[0]
}

func crossingWords(x model.PlanResource, at float64) string {
	nodes := analysis.PlanDigits(at)
	switch {
	case x.Largest != nil && *x.Largest == 0:
		return "not even one node fits"
	case x.NodeLimit == nil:
		return "all that was measured is used by " + nodes + " nodes; it was not shown to be a limit"
	}
	words := "used up by " + nodes + " nodes"
	if x.RateLimit != nil {
		words += ", " + jobsText(*x.RateLimit)
	}
	return words
}

// planTable has the figures, each in its resource's own unit.
func planTable(r model.PlanResult) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "resource", Head: "resource\nanswer"},
		{Key: "demand", Head: "a node takes\n[95 %]", Align: table.Right},
		{Key: "needed", Head: count(r.Nodes, "node") + "\ntake", Align: table.Right},
		{Key: "capacity", Head: "capacity\n[95 %]", Align: table.Right},
		{Key: "measured_at", Head: "measured\nwith", Align: table.Right},
		{Key: "cdi", Head: "CDI\n[95 %]", Align: table.Right},
		{Key: "largest", Head: "largest\nuseful fleet", Align: table.Right},
		{Key: "largest_rate", Head: "its rate", Align: table.Right},
	}}
	for _, x := range r.Resources {
		t.Add(planRow(x)...)
	}
	return t
}

func planRow(x model.PlanResource) []table.Cell {
	capacity, measured := table.Of(nil, "not measured").As(table.Note), table.Of(nil, num.Missing)
	if x.Capacity != nil {
		capacity = table.Of(finite(*x.Capacity), amountLines(x, *x.Capacity, x.CapacityCI)...)
		measured = table.Of(nil, "given")
	}
	if x.MeasuredAt > 0 {
		measured = table.Of(x.MeasuredAt, count(x.MeasuredAt, "node"))
	}
	return []table.Cell{
		table.Of(x.Resource, table.Clean(x.Resource), table.Clean(string(x.Answer))),
		table.Of(finite(x.Demand), amountLines(x, x.Demand, x.DemandCI)...), table.Of(finite(x.Needed), amountLines(x, x.Needed, nil)...), capacity, measured,
		table.Of(x.CDI, cdiOf(x)...), largestCell(x), table.Of(x.LargestRate, optional(x.LargestRate, jobsText)),
	}
}

// finite is the value for programs, nil where there is none.
func finite(v float64) any {
	if !num.Finite(v) {
		return nil
	}
	return v
}

func cdiOf(x model.PlanResource) []string {
	if x.CDI == nil {
		return []string{num.Missing}
	}
	return cdiLines(model.Finding{CDI: x.CDI, CI: x.CDICI})
}

func largestCell(x model.PlanResource) table.Cell {
	if x.Largest == nil {
		return table.Of(nil, "not known")
	}
	lines := []string{count(*x.Largest, "node")}
	if ci := x.LargestCI; ci != nil {
		lines = append(lines, fmt.Sprintf("[%d .. %d]", ci[0], ci[1]))
	}
	return table.Of(*x.Largest, lines...)
}
