package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/unit"
)

// planProse is how wide sentences become where the terminal's width is not
// known, or larger.
const planProse = 110

// Plan prints what a plan says: as text the answer, a table, a sentence for
// each resource and the warnings; as JSON the model.PlanResult itself; as CSV
// one line a resource.
func Plan(w io.Writer, r model.PlanResult, f Format, o Options) error {
	switch f {
	case JSON:
		return writeJSON(w, r)
	case CSV:
		return planFlat(r).WriteCSV(w)
	case Text:
		return planText(w, r, o)
	}
	return unknownFormat(f)
}

func planText(w io.Writer, r model.PlanResult, o Options) error {
	if err := writeLines(w, planHead(r), ""); err != nil {
		return err
	}
	if err := planTextTable(r).WriteText(w, table.TextOptions{Width: o.Width, Color: o.Color}); err != nil {
		return err
	}
	width := planProse
	if o.Width > 0 {
		width = min(o.Width, planProse)
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, x := range r.Resources {
		writeWrapped(&b, "", table.Clean(x.Text), width)
	}
	for _, text := range r.Warnings {
		writeWrapped(&b, "! ", table.Clean(text), width)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}

// writeWrapped writes a text with a mark before its first line.
func writeWrapped(b *strings.Builder, mark, text string, width int) {
	for i, line := range table.Wrap(text, width-len(mark)) {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		b.WriteString(mark + line + "\n")
	}
}

// planHead is the answer in a sentence.
func planHead(r model.PlanResult) string {
	head := fmt.Sprintf("%s/s at %s/s a node take %s: %s", analysis.PlanDigits(r.Target), analysis.PlanDigits(r.NodeRate), count(r.Nodes, "node"), r.Answer)
	switch {
	case r.Largest == nil:
		return head
	case *r.Largest == 0:
		return head + fmt.Sprintf("; by %s not even one node fits", table.Clean(r.Binding))
	}
	return head + fmt.Sprintf("; the largest useful fleet is %s, %s/s (%s)", count(*r.Largest, "node"), analysis.PlanDigits(orNaN(r.LargestRate)), table.Clean(r.Binding))
}

// planTextTable has a line for each resource, for people.
func planTextTable(r model.PlanResult) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "resource", Head: "resource"},
		{Key: "demand", Head: "a node takes", Align: table.Right},
		{Key: "needed", Head: "needed", Align: table.Right},
		{Key: "capacity", Head: "capacity", Align: table.Right},
		{Key: "measured_at", Head: "measured with", Align: table.Right},
		{Key: "answer", Head: "answer"},
		{Key: "node_limit", Head: "used up at nodes", Align: table.Right},
		{Key: "rate_limit", Head: "at rate", Align: table.Right},
	}}
	for _, x := range r.Resources {
		capacity, measured := []string{num.Missing}, num.Missing
		if x.Capacity != nil {
			capacity = amountLines(x, *x.Capacity, x.CapacityCI)
			measured = "given"
		}
		if x.MeasuredAt > 0 {
			measured = fmt.Sprint(x.MeasuredAt)
		}
		t.Add(table.Text(x.Resource),
			table.Of(x.Demand, amountLines(x, x.Demand, x.DemandCI)...),
			table.Of(x.Needed, analysis.AmountText(x.Needed, x.Unit, x.Resource)),
			table.Of(x.Capacity, capacity...), table.Of(x.MeasuredAt, measured), answerCell(x.Answer),
			table.Of(x.NodeLimit, nodeLimitLines(x)...), optionalCell(x.RateLimit, "/s"))
	}
	return t
}

// amountLines are an amount of a resource and its interval, each in the unit
// that suits it.
func amountLines(x model.PlanResource, v float64, ci *model.Interval) []string {
	show := func(v float64) string {
		if !num.Finite(v) {
			return num.Missing
		}
		return table.Clean(analysis.AmountText(v, x.Unit, x.Resource))
	}
	if !bounded(ci) {
		return []string{show(v)}
	}
	return []string{show(v), "[" + show(ci[0]) + " .. " + show(ci[1]) + "]"}
}

// nodeLimitLines are where demand and capacity meet, with the interval of it.
func nodeLimitLines(x model.PlanResource) []string {
	lo, hi, ok := nodeLimitRange(x)
	switch {
	case x.NodeLimit == nil:
		return []string{num.Missing}
	case !ok:
		return []string{analysis.PlanDigits(*x.NodeLimit)}
	}
	return []string{analysis.PlanDigits(*x.NodeLimit), "[" + analysis.PlanDigits(lo) + " .. " + analysis.PlanDigits(hi) + "]"}
}

// nodeLimitRange is its interval; ok is false where there is none.
func nodeLimitRange(x model.PlanResource) (lo, hi float64, ok bool) {
	if x.NodeLimit == nil || x.Capacity == nil || !bounded(x.CapacityCI) && !bounded(x.DemandCI) {
		return 0, 0, false
	}
	lo, hi = crossingRange(x, *x.NodeLimit)
	return lo, hi, lo < hi
}

// answerCell colours an answer.
func answerCell(a model.PlanAnswer) table.Cell {
	style := map[model.PlanAnswer]table.Style{model.PlanFails: table.Bad, model.PlanFits: table.Good, model.PlanUntested: table.Note}[a]
	return table.Of(string(a), string(a)).As(style)
}

// planFlat is the same for machines: flat, with every number in full.
func planFlat(r model.PlanResult) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "resource", Head: "resource"}, {Key: "unit", Head: "unit"},
		{Key: "demand", Head: "a node takes", Align: table.Right},
		{Key: "needed", Head: "needed", Align: table.Right},
		{Key: "capacity", Head: "capacity", Align: table.Right},
		{Key: "measured_at", Head: "with nodes", Align: table.Right},
		{Key: "cdi", Head: "CDI", Align: table.Right},
		{Key: "answer", Head: "answer"},
		{Key: "largest", Head: "largest fleet", Align: table.Right},
		{Key: "largest_rate", Head: "its rate", Align: table.Right},
		{Key: "node_limit", Head: "ends at nodes", Align: table.Right},
		{Key: "rate_limit", Head: "ends at rate", Align: table.Right},
		{Key: "demand_lo"}, {Key: "demand_hi"}, {Key: "capacity_lo"}, {Key: "capacity_hi"},
		{Key: "node_limit_lo"}, {Key: "node_limit_hi"},
	}}
	for _, x := range r.Resources {
		t.Add(planFlatRow(x)...)
	}
	return t
}

// planFlatRow is the line of one resource.
func planFlatRow(x model.PlanResource) []table.Cell {
	measured := table.Of(nil, num.Missing)
	if x.MeasuredAt > 0 {
		measured = table.Of(x.MeasuredAt, fmt.Sprint(x.MeasuredAt))
	}
	largest := table.Of(nil, num.Missing)
	if x.Largest != nil {
		largest = table.Of(*x.Largest, fmt.Sprint(*x.Largest))
	}
	cells := []table.Cell{
		table.Text(x.Resource), table.Text(x.Unit),
		table.Of(x.Demand, unit.Digits(x.Demand, 4)), table.Of(x.Needed, unit.Digits(x.Needed, 4)),
		optionalCell(x.Capacity, ""), measured, optionalCell(x.CDI, " %"),
		answerCell(x.Answer),
		largest, optionalCell(x.LargestRate, "/s"), optionalCell(x.NodeLimit, ""), optionalCell(x.RateLimit, "/s"),
	}
	var limit *model.Interval
	if lo, hi, ok := nodeLimitRange(x); ok {
		limit = &model.Interval{lo, hi}
	}
	for _, ci := range []*model.Interval{x.DemandCI, x.CapacityCI, limit} {
		cells = append(cells, boundCells(ci)...)
	}
	return cells
}

// boundCells are the two ends of an interval.
func boundCells(ci *model.Interval) []table.Cell {
	if !bounded(ci) {
		return []table.Cell{optionalCell(nil, ""), optionalCell(nil, "")}
	}
	return []table.Cell{optionalCell(&ci[0], ""), optionalCell(&ci[1], "")}
}

// optionalCell prints a number that may be missing.
func optionalCell(v *float64, suffix string) table.Cell {
	if v == nil {
		return table.Of(nil, num.Missing)
	}
	return table.Of(*v, analysis.PlanDigits(*v)+suffix)
}
