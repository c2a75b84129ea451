package files

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// frames makes frames of the batches, which are gone afterwards.
func (t *table) frames() ([]frame.Frame, error) {
	if len(t.problems.InputErrors) == 0 && t.rows == 0 {
		t.refuse("the file has a header and no values", "add at least one line of values")
	}
	t.tellHashes()
	t.tellForms()
	of, out := t.targets()
	if len(t.problems.InputErrors) > 0 {
		t.shorten()
		return nil, &t.problems
	}
	t.tellFacts(of)
	t.fill(of, out)
	t.doubt(of, out)
	t.order(out)
	for _, f := range out {
		if f.Len() == 0 {
			t.say("%s is left out: no row has a value", f.Name())
		}
	}
	if out = slices.DeleteFunc(out, func(f frame.Frame) bool { return f.Len() == 0 }); len(out) == 0 {
		t.refuse("no row has a value", "give a table that has at least one")
		return nil, &t.problems
	}
	return out, nil
}

// shorten makes one problem of those that most rows have: a column is the wrong
// one, or written in another way.
func (t *table) shorten() {
	more := len(t.problems.InputErrors) + t.problems.More - 1
	if first := t.problems.InputErrors[0]; more >= mostLines && more >= t.rows/2 {
		first.Problem += ", and so on: " + num.Count(more, "more problem")
		t.problems = tabular.Problems{InputErrors: model.InputErrors{first}}
	}
}

// target is where the rows of a group go: to a frame, multiplied by scale; -1:
// nowhere.
type target struct {
	frame int
	scale ratio
}

// targets makes the frames, still without rows.
func (t *table) targets() (of []target, out []frame.Frame) {
	known := make(map[frame.Key]int)
	notCounted, converted := 0, 0
	for i, g := range t.groups {
		of = append(of, target{frame: -1, scale: ratio{1, 1}})
		if i == 0 && t.plan.keyed() {
			continue
		}
		if strings.EqualFold(g.text[keyCounted], "false") {
			notCounted += g.rows
			continue
		}
		f := t.frameOf(g)
		at, ok := known[f.Key]
		if !ok {
			at = len(out)
			known[f.Key], out = at, append(out, f)
		}
		of[i].frame = at
		if of[i].scale = t.agree(out[at], f, g.line); of[i].scale != (ratio{1, 1}) {
			converted += g.rows
		}
	}
	if notCounted > 0 {
		t.say("left out, as column counted says: %s", num.Count(notCounted, "row"))
	}
	if converted > 0 {
		t.say("converted to the unit that their metric has first: %s", num.Count(converted, "value"))
	}
	return of, out
}

// frameOf is the frame of a group, without rows.
func (t *table) frameOf(g group) frame.Frame {
	value := t.plan.columns[t.plan.value]
	f := frame.Frame{
		Key:  frame.Key{Workload: g.text[keyWorkload], Metric: g.text[keyMetric], Phase: model.Phase(g.text[keyPhase])},
		Unit: g.text[keyUnit], Better: model.Better(strings.ToLower(g.text[keyBetter])), Info: strings.EqualFold(g.text[keyInfo], "true"),
	}
	if f.Metric == "" {
		f.Metric = value.name
	}
	if labels := g.text[keyLabels]; labels != "" {
		f.Metric += "{" + labels + "}"
	}
	if f.Unit == "" {
		f.Unit = value.unit
	}
	return f
}

// agree is by what the values of a group are multiplied, so that they are in the
// unit of their frame.
func (t *table) agree(f, g frame.Frame, line int) ratio {
	scale, ok := convert(g.Unit, f.Unit)
	wrong := func(problem, allowed string) {
		t.problems.Add(t.wrongAt(line, 1, problem, allowed))
	}
	switch {
	case !ok:
		wrong(fmt.Sprintf("%s is in %q here and in %q before", f.Name(), g.Unit, f.Unit), "give each metric one unit, or units that convert, such as ms and s")
	case g.Better != "" && g.Better != model.Higher && g.Better != model.Lower:
		wrong(fmt.Sprintf("better is %q", g.Better), "use higher or lower")
	case g.Better != f.Better:
		wrong(fmt.Sprintf("of %s %q is better here and %q before", f.Name(), g.Better, f.Better), "use one of them for the whole metric")
	}
	return scale
}

// fill puts the rows into the frames, column by column, so that no more than one
// is there twice.
func (t *table) fill(of []target, out []frame.Frame) {
	for _, b := range t.batches {
		for i, g := range b.groups {
			if s := of[g].scale; s != (ratio{1, 1}) {
				b.values[i] = s.times(b.values[i])
			}
		}
	}
	gather(t, of, len(out), func(b *batch) *[]float64 { return &b.values }, func(f int, column []float64) { out[f].Values = column })
	if t.plan.time >= 0 {
		gather(t, of, len(out), func(b *batch) *[]int64 { return &b.times }, func(f int, column []int64) { out[f].Times = column })
	}
	for i, full := range t.full {
		if full {
			continue
		}
		fact := t.facts[i].Fact()
		gather(t, of, len(out), func(b *batch) *[]uint16 { return &b.facts[i] }, func(f int, column []uint16) {
			if x := compact(frame.Fact{Name: fact.Name, Levels: fact.Levels, Codes: column}); len(x.Levels) > 1 {
				out[f].Facts = append(out[f].Facts, x)
			}
		})
	}
	t.batches = nil
}

// gather takes a column out of all batches and hands it over by frames.
func gather[T any](t *table, of []target, frames int, column func(*batch) *[]T, to func(frame int, column []T)) {
	rows := make([]int, frames)
	for g, x := range of {
		if x.frame >= 0 {
			rows[x.frame] += t.groups[g].rows
		}
	}
	out := make([][]T, frames)
	for f, n := range rows {
		out[f] = make([]T, 0, n)
	}
	for _, b := range t.batches {
		values := column(b)
		if b.groups == nil {
			out[0] = append(out[0], *values...)
		}
		for i, g := range b.groups {
			if f := of[g].frame; f >= 0 {
				out[f] = append(out[f], (*values)[i])
			}
		}
		*values = nil
	}
	for f, values := range out {
		to(f, values)
	}
	if t.memory > largeTable {
		runtime.GC()
	}
}

// largeTable: in bytes. Of one that is larger, the memory of a column that was
// taken is wanted for the next one at once; there are few pointers to follow.
const largeTable = 64 << 20

// compact leaves out the levels that no row has.
func compact(x frame.Fact) frame.Fact {
	used := make([]bool, len(x.Levels))
	for _, c := range x.Codes {
		used[c] = true
	}
	used[0] = true
	if !slices.Contains(used, false) {
		return x
	}
	to, levels := make([]uint16, len(used)), []string(nil)
	for i, level := range x.Levels {
		if to[i] = uint16(len(levels)); used[i] {
			levels = append(levels, level)
		}
	}
	for i, c := range x.Codes {
		x.Codes[i] = to[c]
	}
	return frame.Fact{Name: x.Name, Levels: levels, Codes: x.Codes}
}

// order puts the rows of frames into the order of their times, and tells where
// they were not.
func (t *table) order(frames []frame.Frame) {
	unsorted, doubled := 0, 0
	for i := range frames {
		f := &frames[i]
		if !slices.IsSorted(f.Times) {
			unsorted += f.Len()
			*f = *f.ByTime()
		}
		twice, copies := sameTime(f)
		doubled += twice
		// Where clocks and values are coarse, some rows are equal by chance.
		if copies > 0 && 10*copies >= 9*twice {
			text := fmt.Sprintf("time, value and all facts are those of another row in %d of %s; leave out what is a copy: it makes intervals too narrow", copies, num.Count(f.Len(), "row"))
			f.Doubts = append(f.Doubts, model.Doubt{Code: "copied", Severity: model.Warning, Workload: f.Workload, Text: text})
		}
		f.Doubts = append(f.Doubts, early(f.Times)...)
		f.Doubts = append(f.Doubts, sentinel(f)...)
	}
	if unsorted > 0 {
		t.say("the rows are not in the order of their times; they were sorted")
	}
	if doubled > 0 {
		t.say("%s with the same time as another; all are kept", num.Count(doubled, "row"))
	}
}

// sameTime is how many rows, in the order of time, have that of the one before, and how
// many of these are the same in all.
func sameTime(f *frame.Frame) (twice, copies int) {
	for r := 1; r < len(f.Times); r++ {
		if f.Times[r] != f.Times[r-1] {
			continue
		}
		twice++
		if f.Values[r] == f.Values[r-1] && !slices.ContainsFunc(f.Facts, func(x frame.Fact) bool { return x.Codes[r] != x.Codes[r-1] }) {
			copies++
		}
	}
	return twice, copies
}

// sentinels are what programs write where nothing was measured.
var sentinels = []float64{-1, -99, -999, -9999, -99999}

// sentinel doubts values that may stand for none, where all others are above 0.
func sentinel(f *frame.Frame) []model.Doubt {
	below, n := 0.0, 0
	for _, v := range f.Values {
		switch {
		case v > 0:
		case n > 0 && v != below || !slices.Contains(sentinels, v):
			return nil
		default:
			below, n = v, n+1
		}
	}
	if n == 0 || n == f.Len() {
		return nil
	}
	text := fmt.Sprintf("%g stands in %s of %s, and all others are above 0: if it says that nothing was measured, "+
		"leave these cells empty", below, num.Grouped(int64(n)), num.Count(f.Len(), "row"))
	return []model.Doubt{{Code: "sentinel", Severity: model.Warning, Workload: f.Workload, Text: text}}
}

// early doubts times before 1973, of ascending ones.
func early(times []int64) []model.Doubt {
	n, _ := slices.BinarySearch(times, int64(1e8*time.Second))
	d := model.Doubt{Code: "early_times", Severity: model.Warning, Text: "all times are before 1973, as if they were counted from the beginning of the measurement: dates, hours and weekdays mean nothing"}
	switch n {
	case 0:
		return nil
	case len(times):
	default:
		d.Text = fmt.Sprintf("there are times before 1973 in %s of %s, the first of them %s: if they are not known, leave their cells empty; if all are counted from the beginning, dates, hours and weekdays mean nothing",
			num.Grouped(int64(n)), num.Count(len(times), "row"), time.Unix(0, times[0]).UTC().Format(time.DateTime))
	}
	return []model.Doubt{d}
}
