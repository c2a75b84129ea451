package cli

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/num"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/unit"
)

// planProse is how wide sentences become where the terminal's width is not
// known, or larger.
const planProse = 110

// printPlanText prints the answer, the table, a sentence for each resource and
// the warnings.
func (c *common) printPlanText(r model.PlanResult) error {
	if err := write(c.env.Stdout, planHead(r)+"\n\n"); err != nil {
		return err
	}
	o := c.printing()
	if err := planTable(r).WriteText(c.env.Stdout, table.TextOptions{Width: o.Width, Color: o.Color}); err != nil {
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
	for _, w := range r.Warnings {
		writeWrapped(&b, "! ", table.Clean(w), width)
	}
	return write(c.env.Stdout, b.String())
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

// planTable has a line for each resource. Machines get every number in full.
func planTable(r model.PlanResult) *table.Table {
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
		t.Add(planRow(x)...)
	}
	return t
}

// planRow is the line of one resource.
func planRow(x model.PlanResource) []table.Cell {
	measured := table.Of(nil, num.Missing)
	if x.MeasuredAt > 0 {
		measured = table.Of(x.MeasuredAt, fmt.Sprint(x.MeasuredAt))
	}
	largest := table.Of(nil, num.Missing)
	if x.Largest != nil {
		largest = table.Of(*x.Largest, fmt.Sprint(*x.Largest))
	}
	style := map[model.PlanAnswer]table.Style{model.PlanFails: table.Bad, model.PlanFits: table.Good, model.PlanUntested: table.Note}[x.Answer]
	return []table.Cell{
		table.Text(x.Resource), table.Text(x.Unit),
		table.Of(x.Demand, unit.Digits(x.Demand, 4)), table.Of(x.Needed, unit.Digits(x.Needed, 4)),
		optionalCell(x.Capacity, ""), measured, optionalCell(x.CDI, " %"),
		table.Of(string(x.Answer), string(x.Answer)).As(style),
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
