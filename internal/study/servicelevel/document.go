package servicelevel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// document is study.Answer.Document.
func (r *Result) document() *doc.Document {
	d := &doc.Document{Title: r.title, Answer: r.answer(), Warnings: doc.Caveats(r.Doubts...), Data: r.flat()}
	for _, v := range severity {
		if d.Verdict.Word == "" && slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Verdict == v }) {
			d.Verdict = doc.Tag{Word: string(v), Tone: v.tone()}
		}
	}
	if len(r.Cells) == 0 {
		return d
	}
	figures := doc.Section{ID: "levels", Title: "Service levels", Intro: "Rates in single seconds. Line: mean; box: 25th to 75th percentile; whiskers: 1st and 99th percentile. Points: expected by the model."}
	var volumes []string
	for _, c := range r.Cells {
		if !slices.Contains(volumes, c.Volume) {
			volumes = append(volumes, c.Volume)
			figures.Blocks = append(figures.Blocks, r.figure(c.Volume))
		}
	}
	d.Sections = append(d.Sections, doc.Section{ID: "cells", Title: "Measured and expected", Blocks: []doc.Block{{Table: r.table()}}},
		figures, reading())
	return d
}

// answer is where the model may be believed, and where it is farthest off.
func (r *Result) answer() string {
	var worst *Comparison
	var at Cell
	held, told := 0, 0
	for _, c := range r.Cells {
		if c.Verdict != "" {
			told++
		}
		if c.Verdict == Holds {
			held++
		}
		for i, x := range c.Compared {
			apart := x.Verdict == Lower || x.Verdict == Higher
			if apart && (worst == nil || math.Abs(math.Log(x.Ratio)) > math.Abs(math.Log(worst.Ratio))) {
				worst, at = &c.Compared[i], c
			}
		}
	}
	switch {
	case len(r.Cells) == 0:
		return "This run has no complete cell: nothing was measured."
	case told == 0:
		return fmt.Sprintf("Measured: %s. No model says what is expected of them.", num.Count(len(r.Cells), "cell"))
	case worst == nil:
		return fmt.Sprintf("The model holds in %d of %s.", held, num.Count(told, "cell"))
	}
	way := strings.TrimSuffix(" "+worst.Way, " ")
	return fmt.Sprintf("The model holds in %d of %s; farthest off is %s: %s%s, %s of what is expected.", held, num.Count(told, "cell"),
		at.name(), worst.Verdict, way, num.Fraction(worst.Ratio))
}

// table has a row a comparison, or a cell without a model.
func (r *Result) table() *doc.Table {
	level := num.Share(r.Level)
	t := &doc.Table{Columns: []doc.Column{
		{Key: "volume", Head: "volume"}, {Key: "node", Head: "node"}, {Key: "size", Head: "size", Right: true}, {Key: "reads", Head: "reads", Right: true},
		{Key: "depth", Head: "depth", Right: true}, {Key: "way", Head: "way"}, {Key: "ops", Head: "measured", Right: true},
		{Key: "bytes", Head: "bandwidth", Right: true}, {Key: "expected", Head: "expected", Right: true}, {Key: "limit", Head: "limit"},
		{Key: "ratio", Head: "measured / expected\n[all together " + level + "]", Right: true, Interval: true}, {Key: "verdict", Head: "verdict"},
	}, Stack: [][]string{{"volume", "node"}, {"size", "reads"}, {"ops", "bytes"}, {"expected", "limit"}}}
	for _, c := range r.Cells {
		all := c.Compared
		if len(all) == 0 {
			all = []Comparison{{Measured: c.Ops.Mean, Verdict: c.Verdict}}
		}
		for _, x := range all {
			row := []doc.Cell{doc.Say(volumeName(c.Volume)), doc.Say(string(c.Node)), doc.Of(c.Size, num.Bytes(c.Size)),
				doc.Of(c.Reads, fmt.Sprintf("%d %%", c.Reads)), doc.Int(c.Depth), doc.Say(cmp.Or(x.Way, "both")), shown(x.Measured, "op/s"),
				shown(x.Measured*float64(c.Size), "byte/s")}
			if c.Expected == nil {
				row = append(row, doc.Of(nil, num.Missing), doc.Say(""), doc.Of(nil, num.Missing), doc.Say(""))
			} else {
				row = append(row, shown(cmp.Or(x.Expected, c.Expected.Ops), "op/s"), doc.Say(strings.Join(c.Expected.Limits, ", ")), ratio(x),
					doc.Say(string(x.Verdict)).As(x.Verdict.tone()))
			}
			t.Add(row...)
		}
	}
	return t
}

func shown(v float64, unit string) doc.Cell { return doc.Of(v, num.Human(v, unit)) }

func ratio(x Comparison) doc.Cell {
	if x.Ratio == 0 { // not compared
		return doc.Of(nil, num.Missing)
	}
	text := num.Fraction(x.Ratio)
	if x.CI == nil {
		return doc.Of(x.Ratio, text)
	}
	return doc.Of(x.Ratio, text, num.PercentInterval(100*x.CI.Lo, 100*x.CI.Hi)).Within(x.CI.Lo, x.CI.Hi)
}

// row is what a box of a figure has.
type row struct {
	name     string
	seconds  []float64
	expected []float64
	each     float64
}

// figure has the rates of a volume as figures 3 to 5 of the paper: by size, over nodes,
// mixes and repetitions; by mix as well where the model tells reads and writes apart.
func (r *Result) figure(volume string) doc.Block {
	var rows []*row
	for _, c := range r.Cells {
		if c.Volume != volume {
			continue
		}
		name := num.Bytes(c.Size)
		if r.apart {
			name += ", " + mixName(c.Reads)
		}
		i := slices.IndexFunc(rows, func(x *row) bool { return x.name == name })
		if i < 0 {
			i, rows = len(rows), append(rows, &row{name: name, each: float64(c.Size)})
		}
		rows[i].seconds = append(rows[i].seconds, c.seconds...)
		if c.Expected != nil && !slices.Contains(rows[i].expected, c.Expected.Ops) {
			rows[i].expected = append(rows[i].expected, c.Expected.Ops)
		}
	}
	title := "Service levels of " + volumeName(volume)
	return doc.Block{Figure: &doc.Figure{Title: title, Columns: 2, Panels: []doc.Panel{
		{Title: "operations", Chart: boxes(title+": operations", "op/s", rows, func(*row) float64 { return 1 })},
		{Title: "bandwidth", Chart: boxes(title+": bandwidth", "byte/s", rows, func(x *row) float64 { return x.each })},
	}}}
}

func boxes(title, unit string, rows []*row, each func(*row) float64) chart.Chart {
	c := chart.Chart{Title: title, X: chart.Axis{Unit: unit}, Y: chart.Axis{Kind: chart.Rows}}
	measured := chart.Layer{Mark: chart.Box, Role: chart.Parallel, Name: "measured"}
	expected := chart.Layer{Mark: chart.Point, Role: chart.Reference, Name: "expected"}
	for i, x := range rows {
		box := rate(nil, x.seconds, each(x), stats.DefaultLevel).Seconds
		row := chart.Row{Name: x.name}
		if num.Finite(box.Five[2]) {
			row.Value = num.Human(box.Five[2], unit)
		}
		c.Y.Rows = append(c.Y.Rows, row)
		measured.Boxes, measured.Y = append(measured.Boxes, box), append(measured.Y, float64(i))
		for _, ops := range x.expected {
			expected.Add(each(x)*ops, float64(i))
		}
	}
	c.Layers = append(c.Layers, measured)
	if len(expected.X) > 0 {
		c.Layers = append(c.Layers, expected)
	}
	return c
}

// flat is the table for programs, a row a cell. The names and order of its columns are a
// contract.
func (r *Result) flat() *doc.Table {
	return doc.Flatten(r, "cells", "node", "volume", "workload", "size", "reads", "depth", "gain", "saturated", "ops=ops_mean", "ops_ci_lo", "ops_ci_hi",
		"bytes=bytes_mean", "expected_ops", "expected_bytes", "expected_limits", "verdict")
}

// reading explains the words.
func reading() doc.Section {
	return doc.Section{ID: doc.Reading, Title: "How to read this", Show: doc.Page, Blocks: []doc.Block{{Fields: []doc.Field{
		{Label: "Depth", Text: "Operations in flight. It is doubled until that gains less than 2 %; the other repetitions measure at the depth that the first found."},
		{Label: "Measured / expected", Text: "Geometric mean over repetitions, with an interval so wide that all verdicts together hold at the confidence level (Holm)."},
		{Label: "Verdict", Text: "holds: the interval lies within the margin. lower, higher: it excludes the expected rate and reaches beyond the margin. unclear: neither. unknown: credits were left, or more operations in flight might do more."},
	}}}}
}
