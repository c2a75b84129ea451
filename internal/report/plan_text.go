package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/num"
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
	head := fmt.Sprintf("%s/s at %s/s a node take %d nodes: %s", unit.Digits(r.Target, 4), unit.Digits(r.NodeRate, 4), r.Nodes, r.Answer)
	if r.Largest == nil {
		return head
	}
	return head + fmt.Sprintf("; %s ends growth at %d nodes, %s/s", table.Clean(r.Binding), *r.Largest, unit.Digits(*r.LargestRate, 4))
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
		{Key: "node_limit", Head: "ends at nodes", Align: table.Right},
		{Key: "rate_limit", Head: "at rate", Align: table.Right},
	}}
	for _, x := range r.Resources {
		capacity, measured := num.Missing, num.Missing
		if x.Capacity != nil {
			capacity = analysis.AmountText(*x.Capacity, x.Unit, x.Resource)
		}
		if x.MeasuredAt > 0 {
			measured = fmt.Sprint(x.MeasuredAt)
		}
		t.Add(table.Text(x.Resource),
			table.Of(x.Demand, analysis.AmountText(x.Demand, x.Unit, x.Resource)),
			table.Of(x.Needed, analysis.AmountText(x.Needed, x.Unit, x.Resource)),
			table.Of(x.Capacity, capacity), table.Of(x.MeasuredAt, measured), answerCell(x.Answer),
			optionalCell(x.NodeLimit, ""), optionalCell(x.RateLimit, "/s"))
	}
	return t
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
	return []table.Cell{
		table.Text(x.Resource), table.Text(x.Unit),
		table.Of(x.Demand, unit.Digits(x.Demand, 4)), table.Of(x.Needed, unit.Digits(x.Needed, 4)),
		optionalCell(x.Capacity, ""), measured, optionalCell(x.CDI, " %"),
		answerCell(x.Answer),
		largest, optionalCell(x.LargestRate, "/s"), optionalCell(x.NodeLimit, ""), optionalCell(x.RateLimit, "/s"),
	}
}

// optionalCell prints a number that may be missing.
func optionalCell(v *float64, suffix string) table.Cell {
	if v == nil {
		return table.Of(nil, num.Missing)
	}
	return table.Of(*v, unit.Digits(*v, 4)+suffix)
}
