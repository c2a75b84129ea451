package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// findingsWide is the table for a wide terminal and for the page.
func findingsWide(findings []model.Finding) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "workload", Head: "workload"}, {Key: "metric", Head: "metric"},
		{Key: "nodes", Head: nounOfAll(findings), Align: table.Right},
		{Key: "serial", Head: "serial mean ±SD\n[min .. max]", Align: table.Right},
		{Key: "parallel", Head: "parallel mean ±SD\n[min .. max]", Align: table.Right},
		{Key: "total", Head: "total", Align: table.Right},
		{Key: "cdi", Head: "CDI\n[95 %]", Align: table.Right},
		{Key: "verdict", Head: "verdict"},
		{Key: "overlap", Head: "overlap", Align: table.Right},
		{Key: "start_skew_ms", Head: "skew", Align: table.Right},
	}}
	for _, f := range findings {
		t.Add(wideRow(f, ofBoth(findings))...)
		if wholeDiffers(f) {
			t.AddMore(wideWholeRow(f)...)
		}
	}
	return t
}

// findingsPage is the table for the page: what belongs together is stacked, so
// that it need not be scrolled sideways.
func findingsPage(findings []model.Finding) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "workload", Head: "workload\nmetric"},
		{Key: "nodes", Head: nounOfAll(findings), Align: table.Right},
		{Key: "serial", Head: "serial mean ±SD\n[min .. max]", Align: table.Right},
		{Key: "parallel", Head: "parallel mean ±SD\n[min .. max]", Align: table.Right},
		{Key: "total", Head: "total", Align: table.Right, Tip: "sum over all that worked at once"},
		{Key: "cdi", Head: "CDI\n[95 %]", Align: table.Right, Tip: "capacity degradation index with its 95 % interval"},
		{Key: "verdict", Head: "verdict"},
		{Key: "overlap", Head: "overlap\nskew", Align: table.Right,
			Tip: "share of the time in which all were at work; last start less the first"},
	}}
	for _, f := range findings {
		t.Add(pageRow(wideRow(f, ofBoth(findings)))...)
		if wholeDiffers(f) {
			t.AddMore(pageRow(wideWholeRow(f))...)
		}
	}
	return t
}

// pageRow stacks the first two and the last two cells of a wide row.
func pageRow(wide []table.Cell) []table.Cell {
	row := slices.Clone(wide[1:9])
	row[0].Lines = append(slices.Clone(wide[0].Lines), wide[1].Lines...)
	row[7].Lines = append(slices.Clone(wide[8].Lines), wide[9].Lines...)
	return row
}

// wideRow has n as a bare number where the column's head says of what.
func wideRow(f model.Finding, mixed bool) []table.Cell {
	size := strconv.Itoa(f.Nodes)
	if mixed {
		size = subjects(f)
	}
	return []table.Cell{
		table.Text(f.Workload), table.Text(f.Metric),
		table.Of(f.Nodes, size),
		table.Of(f.Serial.Mean, spreadLines(f, f.Serial)...),
		table.Of(f.Parallel.Mean, spreadLines(f, f.Parallel.Spread)...),
		table.Of(f.Parallel.Total, totalText(f, f.Parallel.Total)),
		table.Of(f.CDI, cdiLines(f)...).As(table.Strong),
		verdictCell(f),
		table.Of(f.Overlap, optional(f.Overlap, num.Fraction)),
		table.Of(f.StartSkewMS, optional(f.StartSkewMS, num.Millis)),
	}
}

// wideWholeRow is the second line of a finding: the same on whole tasks.
func wideWholeRow(f model.Finding) []table.Cell {
	row := make([]table.Cell, 10)
	row[1] = table.Of(nil, "on whole tasks").As(table.Faint)
	if p, ok := wholeSpread(f); ok {
		row[4] = table.Of(p.Mean, spreadLines(f, p.Spread)...).As(table.Faint)
		row[5] = table.Of(p.Total, totalText(f, p.Total)).As(table.Faint)
	}
	row[6] = table.Of(f.CDIWhole, num.Percent(*f.CDIWhole)).As(table.Faint)
	return row
}

// findingsCompact stacks what belongs together, for a terminal of 80 columns.
func findingsCompact(findings []model.Finding) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "workload", Head: "workload\nmetric\n" + nounOfAll(findings)},
		{Key: "serial", Head: "serial\nmean ±SD\n[min .. max]", Align: table.Right},
		{Key: "parallel", Head: "parallel\nmean ±SD\n[min .. max]", Align: table.Right},
		{Key: "cdi", Head: "CDI\n[95 %]", Align: table.Right},
		{Key: "verdict", Head: "verdict\noverlap\nskew"},
	}}
	for _, f := range findings {
		t.Add(compactRow(f)...)
		if wholeDiffers(f) {
			t.AddMore(compactWholeRow(f)...)
		}
	}
	return t
}

func compactRow(f model.Finding) []table.Cell {
	parallel := append(spreadLines(f, f.Parallel.Spread), "total "+totalText(f, f.Parallel.Total))
	verdict := verdictCell(f)
	verdict.Lines = append(verdict.Lines, optional(f.Overlap, num.Fraction), optional(f.StartSkewMS, num.Millis))
	return []table.Cell{
		table.Of(f.Workload, table.Clean(f.Workload), table.Clean(f.Metric), subjects(f)),
		table.Of(f.Serial.Mean, spreadLines(f, f.Serial)...),
		table.Of(f.Parallel.Mean, parallel...),
		table.Of(f.CDI, cdiLines(f)...).As(table.Strong),
		verdict,
	}
}

func compactWholeRow(f model.Finding) []table.Cell {
	row := make([]table.Cell, 5)
	row[0] = table.Of(nil, "whole tasks").As(table.Faint)
	if p, ok := wholeSpread(f); ok {
		row[2] = table.Of(p.Mean, spreadLines(f, p.Spread)[0]).As(table.Faint)
	}
	row[3] = table.Of(f.CDIWhole, num.Percent(*f.CDIWhole)).As(table.Faint)
	return row
}

// flatColumns are the columns of the CSV form. Their names and order are a
// contract; new ones are added at the end.
var flatColumns = []string{
	"workload", "metric", "unit", "nodes",
	"serial_mean", "serial_min", "serial_max", "serial_sd",
	"parallel_mean", "parallel_min", "parallel_max", "parallel_sd", "parallel_total",
	"cdi", "ci_lo", "ci_hi", "overlap", "start_skew_ms", "verdict", "warnings",
	"ci_bca_lo", "ci_bca_hi", "end_spread_ms", "window", "cdi_whole", "reciprocal", "of", "resource",
}

// findingsFlat is the table for CSV: one line per finding, unrounded.
func findingsFlat(findings []model.Finding) *table.Table {
	t := &table.Table{}
	for _, key := range flatColumns {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	for _, f := range findings {
		var row []table.Cell
		for _, v := range flatValues(f) {
			row = append(row, table.Of(v))
		}
		t.Add(row...)
	}
	return t
}

func flatValues(f model.Finding) []any {
	lo, hi := ends(f.CI)
	bcaLo, bcaHi := ends(f.BCa)
	return []any{
		f.Workload, f.Metric, f.Unit, f.Nodes,
		f.Serial.Mean, f.Serial.Min, f.Serial.Max, f.Serial.SD,
		f.Parallel.Mean, f.Parallel.Min, f.Parallel.Max, f.Parallel.SD, f.Parallel.Total,
		f.CDI, lo, hi, f.Overlap, f.StartSkewMS, string(verdictOf(f)), strings.Join(f.Warnings, "; "),
		bcaLo, bcaHi, f.EndSpreadMS, f.Window, f.CDIWhole, f.Reciprocal,
		noun(f.Of), f.Resource,
	}
}

// ends returns the bounds of an interval, nil where there is none.
func ends(i *model.Interval) (lo, hi *float64) {
	if i == nil {
		return nil, nil
	}
	return &i[0], &i[1]
}
