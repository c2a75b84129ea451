package report

import (
	"io"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Bars draws the CDI of each finding as a line of text: a bar from 0 to the
// index on an axis up to 100 %, a gain to the left of the zero line, and the
// 95 % interval as a lighter shade. What is unknown has no bar.
func Bars(w io.Writer, findings []model.Finding, o Options) error {
	if len(findings) == 0 {
		return nil
	}
	c := newBarChart(findings, o)
	var lines []string
	for _, f := range findings {
		lines = append(lines, c.line(f))
	}
	return writeLines(w, append(lines, c.legend())...)
}

// barChart is the geometry that all lines share. Cells count from 0 at the
// left; the zero line stands in cell zero.
type barChart struct {
	label, cells, zero int
	perCell            float64 // percent of CDI
	solid, half, light string
	rule               string
	color              bool
}

func newBarChart(findings []model.Finding, o Options) barChart {
	c := barChart{solid: "█", half: "▓", light: "░", rule: "│", color: o.Color}
	if o.ASCII {
		c.solid, c.half, c.light, c.rule = "#", "=", "-", "|"
	}
	low := 0.0
	for _, f := range findings {
		c.label = max(c.label, table.Width(name(f)))
		low = min(low, lowest(f))
	}
	low = math.Max(math.Floor(low/10)*10, -100)
	const numbers = 32 // room right of the bars: "100.0 % [-100.0, 100.0] degraded"
	c.label = min(c.label, 28, max(o.proseWidth()-numbers-4-12, 8))
	c.cells = min(max(o.proseWidth()-c.label-numbers-4, 12), 60)
	c.perCell = (100 - low) / float64(c.cells-1)
	c.zero = int(math.Round(-low / c.perCell))
	return c
}

func lowest(f model.Finding) float64 {
	v := 0.0
	if f.CDI != nil && num.Finite(*f.CDI) {
		v = min(v, *f.CDI)
	}
	if f.CI != nil && num.Finite(f.CI[0]) {
		v = min(v, f.CI[0])
	}
	return v
}

// cell returns where a CDI stands; what is off the axis stands at its end.
func (c barChart) cell(cdi float64) int {
	return min(max(c.zero+int(math.Round(cdi/c.perCell)), 0), c.cells-1)
}

func (c barChart) line(f model.Finding) string {
	label := name(f)
	if table.Width(label) > c.label {
		label = string([]rune(label)[:c.label-1]) + "…"
	}
	label += strings.Repeat(" ", max(0, c.label-table.Width(label)))
	v := verdictCell(f)
	verdict, bar := v.Lines[0], c.bar(f)
	if c.color {
		verdict, bar = table.Paint(verdict, v.Style), table.Paint(bar, v.Style)
	}
	return label + "  " + bar + "  " + strings.Join(cdiLines(f), " ") + " " + verdict
}

// bar fills the cells from the zero line to the index, denser where the
// interval leaves no doubt. The zero line keeps its cell.
func (c barChart) bar(f model.Finding) string {
	cells := make([]string, c.cells)
	for i := range cells {
		cells[i] = c.glyph(f, i)
	}
	cells[c.zero] = c.rule
	return strings.Join(cells, "")
}

// glyph is what stands in one cell: solid within the bar, half within both bar
// and interval, light within the interval alone.
func (c barChart) glyph(f model.Finding, i int) string {
	inBar, inInterval := false, false
	if f.CDI != nil && num.Finite(*f.CDI) {
		at := c.cell(*f.CDI)
		inBar = min(at, c.zero) <= i && i <= max(at, c.zero)
	}
	if f.CI != nil && num.Finite(f.CI[0]) && num.Finite(f.CI[1]) {
		inInterval = c.cell(f.CI[0]) <= i && i <= c.cell(f.CI[1])
	}
	switch {
	case inBar && inInterval:
		return c.half
	case inBar:
		return c.solid
	case inInterval:
		return c.light
	}
	return " "
}

// legend marks 0 and 100 % below the bars and names the shades.
func (c barChart) legend() string {
	const hundred = "100 %"
	space := strings.Repeat(" ", max(1, c.cells-c.zero-1-len(hundred)))
	return strings.Repeat(" ", c.label+2+c.zero) + "0" + space + hundred +
		"  " + c.half + c.light + " 95 % interval"
}
