package files

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// batch is some rows of a table, in columns.
type batch struct {
	values []float64
	times  []int64
	groups []uint16   // what each row is about
	facts  [][]uint16 // a column each

	newGroups []string // those that this worker had not seen before
	groupAt   []int    // the line of each
	newLevels [][]string
	full      []bool // facts with too many levels

	rows  int // all there are, those that are left out, too
	lines int // that the batch takes in the file; other lines count from its beginning
	forms [forms]noted
	notes map[note]noted
	// hashes are rows that begin as comments do; comments are lines that do, and have
	// not as many cells as the header.
	hashes, comments noted

	problems tabular.Problems
	over     bool // what follows would be guesswork
}

// note is something about a row that is left out or in doubt.
type note struct {
	what  remark
	group uint16
}

type remark uint8

const (
	noValue remark = iota
	noTime
	gapTime   // a local time that does not exist
	twiceTime // a local time that was there twice
)

// noted is how many rows there are of a kind, and the lines of the first ones.
type noted struct {
	count int
	lines []int
}

// mostLines are named; more do not help.
const mostLines = 5

func (n *noted) add(line func() int) {
	if n.count++; len(n.lines) < mostLines {
		n.lines = append(n.lines, line())
	}
}

// join adds those of a later piece, which begins after that many lines.
func (n *noted) join(o noted, before int) {
	n.count += o.count
	for _, l := range o.lines[:min(len(o.lines), mostLines-len(n.lines))] {
		n.lines = append(n.lines, before+l)
	}
}

// worker makes batches of pieces of a table.
type worker struct {
	plan  *plan
	style style
	rows  tabular.Rows
	clock *clock
	group *levels
	facts []*levels
	key   []byte
	most  int // rows of its largest batch
	b     *batch
}

func newWorker(p *plan, comma byte, zone *time.Location) *worker {
	w := &worker{plan: p, style: p.style.own(), rows: tabular.Rows{Comma: comma}, clock: newClock(zone),
		group: newLevels()}
	if p.time >= 0 {
		w.clock.order = p.columns[p.time].order
	}
	w.group.handed = 1 // "" is there from the beginning
	for range p.facts {
		l := newLevelsAmong(len(p.facts))
		l.handed = 1
		w.facts = append(w.facts, l)
	}
	return w
}

// begin begins a batch.
func (w *worker) begin() *batch {
	b := &batch{notes: make(map[note]noted), facts: make([][]uint16, len(w.facts))}
	room := w.most + w.most/32
	b.values = make([]float64, 0, room)
	if w.plan.time >= 0 {
		b.times = make([]int64, 0, room)
	}
	if w.plan.keyed() {
		b.groups = make([]uint16, 0, room)
	}
	for i := range b.facts {
		b.facts[i] = make([]uint16, 0, room)
	}
	w.b = b
	return b
}

// end hands the batch over.
func (w *worker) end() *batch {
	b := w.b
	w.most = max(w.most, len(b.values))
	b.newGroups = w.group.hand()
	if w.group.full {
		b.problems.Add(w.plan.tooManyGroups())
		b.over = true
	}
	for _, l := range w.facts {
		b.newLevels, b.full = append(b.newLevels, l.hand()), append(b.full, l.full)
	}
	return b
}

// read reads a piece, from an offset on.
func (w *worker) read(data []byte, from int) *batch {
	b := w.begin()
	w.rows.Begin(data)
	w.rows.At = from
	for w.rows.Next() {
		w.row()
	}
	if r := &w.rows; r.Err != nil {
		line, col := r.LineOf(r.Bad)
		b.problems.Add(&model.InputError{Line: line, Col: col, Problem: r.Err.Error(), Allowed: tabular.QuotesAllowed})
		b.over = true
	}
	b.lines = bytes.Count(data, []byte{'\n'})
	return w.end()
}

// row reads the current row.
func (w *worker) row() {
	r, b := &w.rows, w.b
	if hash := r.Hash(); r.Width() != len(w.plan.columns) {
		if hash {
			w.count(&b.comments)
		} else if !r.Blank() {
			b.rows++
			w.refuse(0, "the line has "+num.Count(r.Width(), "value"), "the header has "+
				num.Count(len(w.plan.columns), "column"))
		}
		return
	} else if hash {
		if r.Width() == 1 {
			w.count(&b.comments)
			return
		}
		w.count(&b.hashes)
	}
	value := trim(r.Cell(w.plan.value))
	v, ok := w.number(value)
	if !ok && !w.noNumber(value) {
		return
	}
	b.rows++
	var at int64
	if !ok || w.plan.time >= 0 && !w.time(&at) {
		return
	}
	b.values = append(b.values, v)
	if b.times != nil {
		b.times = append(b.times, at)
	}
	if b.groups != nil {
		b.groups = append(b.groups, w.about())
	}
	for i, c := range w.plan.facts {
		code, _ := w.facts[i].of(trim(r.Cell(c)))
		b.facts[i] = append(b.facts[i], code)
	}
}

// noNumber says why there is no value; it reports whether the row counts.
func (w *worker) noNumber(value []byte) bool {
	name := w.plan.columns[w.plan.value].name
	switch {
	case missing(value):
		if w.rows.Blank() {
			return false
		}
		w.note(noValue)
	case infinite(value):
		w.refuse(w.plan.value, fmt.Sprintf("%s is %q", name, value), "a measured value is finite; leave the cell empty where nothing was measured")
	default:
		w.refuse(w.plan.value, fmt.Sprintf("%s is %q", name, value), w.numberAllowed(value))
	}
	return true
}

// inDay is a date with its time of day; nothing where that is missing.
func (w *worker) inDay(date, clock []byte) []byte {
	if missing(date) || missing(clock) {
		return nil
	}
	w.key = append(append(w.key[:0], date...), ' ')
	if len(clock) > 1 && clock[1] == ':' {
		w.key = append(w.key, '0')
	}
	w.key = append(w.key, clock...)
	return w.key
}

// numberAllowed is what to write instead of a cell that is no number.
func (w *worker) numberAllowed(value []byte) string {
	parts := quantity.FindSubmatch(value)
	_, seconds := duration(string(value))
	switch comma := bytes.Count(value, []byte{','}) == 1; {
	case seconds != "":
		return seconds
	case w.style.units:
		return "use a number with its unit, as others of the column have it, such as 1.5 " + w.style.to
	case w.style.decimal == ',':
		return `use a number with a decimal comma, as others of the column have it: "1,5"`
	case parts != nil && len(parts[4]) > 0:
		return fmt.Sprintf("use a number without a unit, as others of the column are; the name of the column may "+
			"have it, as in \"%s (ms)\"", w.plan.columns[w.plan.value].name)
	case comma && groupedBy[','].Match(value):
		return "write it without a mark for thousands (1234), or with a decimal point (1.234)"
	case comma:
		return `use a number with a decimal point: "1.5"`
	}
	return "use a number"
}

// time reads when the row was measured; it reports whether the row is one of
// those with a time.
func (w *worker) time(at *int64) bool {
	text := trim(w.rows.Cell(w.plan.time))
	if w.plan.ofDay >= 0 {
		text = w.inDay(text, trim(w.rows.Cell(w.plan.ofDay)))
	}
	ns, f, odd, ok := w.clock.read(text)
	switch {
	case ok:
	case missing(text):
		w.note(noTime)
		return false
	default:
		allowed := timeAllowed
		if w.clock.order != orderUnknown {
			allowed += "; in others of the column, the " + strings.TrimSuffix(w.clock.order.String(), " first") +
				" is first"
		}
		w.refuse(w.plan.time, fmt.Sprintf("%s is %q", w.plan.columns[w.plan.time].name, text), allowed)
		return false
	}
	if *at = ns; odd != steady {
		w.note(map[shift]remark{gap: gapTime, twice: twiceTime}[odd])
	}
	w.count(&w.b.forms[f])
	return true
}

const timeAllowed = `use a time such as "2026-01-31T12:00:00Z", "2026-01-31 12:00:00" or Unix seconds`

// about is what the row is about: its cells in the key columns.
func (w *worker) about() uint16 {
	w.key = w.key[:0]
	for _, c := range w.plan.keys {
		if c >= 0 {
			w.key = append(w.key, trim(w.rows.Cell(c))...)
		}
		w.key = append(w.key, 0)
	}
	code, fresh := w.group.of(w.key)
	if fresh {
		w.b.groupAt = append(w.b.groupAt, w.line())
	}
	return code
}

// note notes something about the row.
func (w *worker) note(what remark) {
	n := note{what: what}
	if w.plan.keyed() {
		n.group = w.about()
	}
	all := w.b.notes[n]
	w.count(&all)
	w.b.notes[n] = all
}

// count adds the current row to those that are noted.
func (w *worker) count(n *noted) { n.add(w.line) }

// line is the line of the current row, in the piece.
func (w *worker) line() int {
	line, _ := w.rows.LineOf(w.rows.Start)
	return line
}

// refuse reports a cell.
func (w *worker) refuse(cell int, problem, allowed string) {
	p := &model.InputError{Problem: problem, Allowed: allowed}
	if len(w.b.problems.InputErrors) < model.MaxInputErrors {
		p.Line, p.Col = w.rows.CellAt(cell)
	}
	w.b.problems.Add(p)
}
