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

// document is study.Answer.Document. Its table for programs has a row a cell: the names
// and order of the columns are a contract.
func (r *Result) document() *doc.Document {
	d := &doc.Document{Title: r.title, Answer: r.answer(), Warnings: doc.Caveats(r.Doubts...), Data: doc.Flatten(r,
		"cells",
		"node", "volume", "workload", "size", "reads", "depth", "gain", "saturated", "ops=ops_mean", "ops_ci_lo", "ops_ci_hi",
		"bytes=bytes_mean", "expected_ops", "expected_bytes", "expected_limits", "verdict")}
	if len(r.Cells) == 0 {
		return d
	}
	if v := worst(r.Cells, func(c Measurement) Verdict { return c.Verdict }); v != "" {
		d.Verdict = doc.Tag{Word: string(v), Tone: v.tone()}
	}
	figures := doc.Section{ID: "levels", Title: "Service levels", Intro: "Rates in single seconds. Line: mean; " +
		"box: 25th to 75th percentile; whiskers: 1st and 99th percentile. Points: expected by the model."}
	var volumes []string
	for _, c := range r.Cells {
		if !slices.Contains(volumes, c.Volume) {
			volumes = append(volumes, c.Volume)
			figures.Blocks = append(figures.Blocks, r.figure(c.Volume))
		}
	}
	d.Sections = []doc.Section{{ID: "cells", Title: "Measured and expected", Blocks: []doc.Block{{Table: r.table()}}},
		figures, reading()}
	return d
}

// answer is where the model may be believed, and where it is farthest off.
func (r *Result) answer() string {
	held, told, off := 0, 0, 0.0
	text := "."
	for _, c := range r.Cells {
		told += min(1, len(c.Verdict))
		if c.Verdict == Holds {
			held++
		}
		for _, x := range c.Compared {
			apart := math.Abs(math.Log(x.Ratio))
			if (x.Verdict == Lower || x.Verdict == Higher) && apart > off {
				off = apart
				text = fmt.Sprintf("; farthest off is %s: %s, %s of what is expected.", c.name(), x.Verdict, num.Fraction(x.Ratio))
			}
		}
	}
	switch {
	case len(r.Cells) == 0:
		return "This run has no complete cell: nothing was measured."
	case told == 0:
		return fmt.Sprintf("Measured: %s. No model says what is expected of them.", num.Count(len(r.Cells), "cell"))
	}
	return fmt.Sprintf("The model holds in %d of %s%s", held, num.Count(told, "cell"), text)
}

// table has a row a comparison, or a cell that was not compared.
func (r *Result) table() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("volume", "volume"), doc.Number("size", "size"), doc.Number("reads", "reads"),
		doc.Number("depth", "depth"), doc.Label("way", "way"), doc.Number("ops", "measured"),
		doc.Number("bytes", "bandwidth"), doc.Number("expected", "expected"), doc.Label("limit", "limit"),
		doc.Interval("ratio", "measured/expected\n[all "+num.Share(r.Level)+"]"), doc.Label("verdict", "verdict"),
	}, Stack: [][]string{{"size", "reads"}, {"ops", "bytes"}, {"expected", "limit"}}}
	for _, c := range r.Cells {
		all, limits := c.Compared, ""
		if len(all) == 0 {
			all = []Comparison{{Measured: c.Ops.Mean, Verdict: c.Verdict}}
		}
		if c.Expected != nil {
			limits = strings.Join(c.Expected.Limits, ", ")
		}
		for _, x := range all {
			t.Add(doc.Say(fmt.Sprintf("%s of %s", volumeName(c.Volume), c.Node)), doc.Of(c.Size, num.Bytes(c.Size)),
				doc.Of(c.Reads, fmt.Sprintf("%d %%", c.Reads)), doc.Int(c.Depth), doc.Say(cmp.Or(x.Way, "both")),
				shown(x.Measured, "op/s"), shown(x.Measured*float64(c.Size), "byte/s"), shown(x.Expected, "op/s"), doc.Say(limits),
				x.cell(), doc.Say(string(x.Verdict)).As(x.Verdict.tone()))
		}
	}
	return t
}

// shown is a rate; 0: there is none.
func shown(v float64, unit string) doc.Cell {
	if v == 0 {
		return doc.Of(nil, num.Missing)
	}
	return doc.Of(v, num.Human(v, unit))
}

func (x Comparison) cell() doc.Cell {
	switch {
	case x.Expected == 0:
		return doc.Of(nil, num.Missing)
	case x.CI == nil:
		return doc.Of(x.Ratio, num.Fraction(x.Ratio))
	}
	return doc.Of(x.Ratio, num.Fraction(x.Ratio), num.PercentInterval(100*x.CI.Lo, 100*x.CI.Hi)).Within(x.CI.Lo, x.CI.Hi)
}

// figure has the rates of a volume as figures 3 to 5 of the paper: by size, over nodes,
// mixes and repetitions; by mix as well where the model tells reads and writes apart.
func (r *Result) figure(volume string) doc.Block {
	var names []string
	rows := make(map[string][]Measurement)
	for _, c := range r.Cells {
		name := num.Bytes(c.Size)
		if r.apart {
			name += ", " + mixName(c.Reads)
		}
		if c.Volume != volume {
			continue
		}
		if rows[name] == nil {
			names = append(names, name)
		}
		rows[name] = append(rows[name], c)
	}
	f := &doc.Figure{Title: "Service levels of " + volumeName(volume), Columns: 2}
	for _, unit := range [...]string{"op/s", "byte/s"} {
		human := func(v float64) string { return num.Human(v, unit) }
		c := chart.Chart{Title: f.Title + " in " + unit, X: chart.Axis{Unit: unit}, Y: chart.Axis{Kind: chart.Rows}}
		measured := chart.Layer{Mark: chart.Box, Role: chart.Parallel, Name: "measured"}
		expected := chart.Layer{Mark: chart.Point, Role: chart.Reference, Name: "expected"}
		for i, name := range names {
			var seconds []float64
			each := 1.0
			for _, m := range rows[name] {
				if unit == "byte/s" {
					each = float64(m.Size)
				}
				seconds = append(seconds, m.seconds...)
				if m.Expected != nil {
					expected.Add(each*m.Expected.Ops, float64(i))
				}
			}
			box := rate(nil, seconds, each, stats.DefaultLevel).Seconds
			c.Y.Rows = append(c.Y.Rows, chart.Row{Name: name, Value: num.Optional(&box.Five[2], human)})
			measured.Boxes, measured.Y = append(measured.Boxes, box), append(measured.Y, float64(i))
		}
		c.Layers = []chart.Layer{measured, expected}
		f.Panels = append(f.Panels, doc.Panel{Chart: c})
	}
	return doc.Block{Figure: f}
}

// reading explains the words.
func reading() doc.Section {
	return doc.Section{ID: doc.Reading, Title: "Reading this", Show: doc.Page, Blocks: []doc.Block{{Fields: []doc.Field{
		{Label: "Depth", Text: "Operations in flight. The first repetition doubles it until that gains less than 2 %. " +
			"The others measure at the depth that it found."},
		{Label: "Measured/expected", Text: "Geometric mean over repetitions. The intervals are so wide that all " +
			"verdicts together hold at the confidence level (Holm)."},
		{Label: "Verdict", Text: "holds: the interval lies within the margin. lower, higher: it excludes the " +
			"expected rate and reaches beyond the margin. unclear: neither. unknown: credits were left, or more " +
			"operations in flight may do more."},
	}}}}
}
