package files

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// table is a file in the making: its batches in their order.
type table struct {
	*file
	plan *plan

	batches  []*batch
	groups   []group
	byText   map[string]uint16
	facts    []*frame.Column
	full     []bool
	handed   []translation // of each worker
	rows     int
	lines    int   // before the next batch
	memory   int64 // of the batches and levels
	forms    [forms]noted
	notes    map[note]noted
	hashes   noted
	comments noted
	problems tabular.Problems
}

// translation is what the numbers of a worker mean in the table.
type translation struct {
	groups []uint16
	facts  [][]uint16
}

// group is rows that are about the same.
type group struct {
	text [keys]string
	line int // the first one
	rows int
}

func newTable(f *file, p *plan, workers int) *table {
	t := &table{file: f, plan: p, byText: make(map[string]uint16), full: make([]bool, len(p.facts)),
		notes: make(map[note]noted)}
	for _, c := range p.facts {
		t.facts = append(t.facts, frame.NewFact(frame.Plain(p.columns[c].name)))
	}
	for range workers {
		w := translation{groups: []uint16{0}, facts: make([][]uint16, len(p.facts))}
		for i := range w.facts {
			w.facts[i] = []uint16{0} // "" has the same number everywhere
		}
		t.handed = append(t.handed, w)
	}
	t.groups = []group{{}} // of rows about which nothing is said
	return t
}

// add adds the next batch, of that worker. It reports whether more are wanted.
func (t *table) add(b *batch, worker int) bool {
	for _, p := range b.problems.InputErrors {
		if p.File = t.name; p.Line > 0 {
			p.Line += t.lines
		}
		t.problems.Add(p)
	}
	t.problems.More += b.problems.More
	t.translate(b, &t.handed[worker])
	for i := range b.forms {
		t.forms[i].join(b.forms[i], t.lines)
	}
	for _, n := range sortedNotes(b.notes) {
		of := note{n.what, t.handed[worker].groups[n.group]}
		all := t.notes[of]
		all.join(b.notes[n], t.lines)
		t.notes[of] = all
	}
	t.hashes.join(b.hashes, t.lines)
	t.comments.join(b.comments, t.lines)
	t.rows += b.rows
	t.lines += b.lines
	t.batches = append(t.batches, b)
	t.memory += int64(len(b.values)) * t.rowBytes()
	return !b.over && t.within()
}

// sortedNotes are in an order that does not change.
func sortedNotes(notes map[note]noted) []note {
	return slices.SortedFunc(maps.Keys(notes), func(a, b note) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.what, b.what))
	})
}

// rowBytes is what a row takes.
func (t *table) rowBytes() int64 {
	n := 8 + 2*len(t.plan.facts)
	if t.plan.time >= 0 {
		n += 8
	}
	if t.plan.keyed() {
		n += 2
	}
	return int64(n)
}

// levelBytes is what a level takes beside its text, about: in the table, and in
// a worker's map and list.
const levelBytes = 150

// translate gives the rows of a batch the numbers of the table.
func (t *table) translate(b *batch, known *translation) {
	for i, text := range b.newGroups {
		code, ok := t.byText[text]
		if !ok {
			if len(t.groups) > math.MaxUint16 {
				t.problems.Add(t.tooManyGroups())
				b.over, code = true, 0
				known.groups = append(known.groups, code)
				continue
			}
			code = uint16(len(t.groups))
			g := group{line: t.lines + b.groupAt[i]}
			copy(g.text[:], strings.Split(text, "\x00"))
			t.byText[text], t.groups = code, append(t.groups, g)
		}
		known.groups = append(known.groups, code)
	}
	for i, code := range b.groups {
		b.groups[i] = known.groups[code]
		t.groups[b.groups[i]].rows++
	}
	if b.groups == nil {
		t.groups[0].rows += len(b.values)
	}
	for f, fresh := range b.newLevels {
		for _, level := range fresh {
			known.facts[f] = append(known.facts[f], t.facts[f].Code(level))
			t.memory += levelBytes + int64(len(level))
		}
		if t.full[f] = t.full[f] || b.full[f] || t.facts[f].Full(); t.full[f] {
			b.facts[f] = nil
			continue
		}
		codes, to := b.facts[f], known.facts[f]
		for i, code := range codes {
			codes[i] = to[code]
		}
	}
}

// within reports whether the limits are kept, and refuses the file otherwise.
func (t *table) within() bool {
	switch {
	case t.rows > t.limits.Rows:
		t.refuse(fmt.Sprintf("there are more than %s rows", num.Grouped(int64(t.limits.Rows))), "give a part of it, such as every tenth row")
	case t.memory > t.limits.Memory:
		t.refuse(fmt.Sprintf("after %s rows it takes more than %s of memory", num.Grouped(int64(t.rows)),
			num.Bytes(t.limits.Memory)), t.advice("choose fewer columns with --by, or ")+
			"give a part of it")
	default:
		return true
	}
	return false
}

// refuse reports what is wrong with the file as a whole.
func (t *table) refuse(problem, allowed string) {
	t.problems.Add(t.wrong(problem, allowed))
}

func (f *file) tooManyGroups() *model.InputError {
	return f.wrong("there are more than 65,535 different measurements in columns such as workload and metric",
		"are these columns what their names say? Rename those that are not")
}
