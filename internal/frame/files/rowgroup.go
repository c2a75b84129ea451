package files

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// rowGroup is a group of rows that was read, before it is judged row by row.
type rowGroup struct {
	*parquetFile
	b       *batch
	before  int // rows
	about   [keys][]uint16
	moments []moment
	gone    []bool // rows that are left out; nil: none
}

// judge looks at every row, and leaves out those without a value or a time.
func (r *rowGroup) judge(rows int) {
	b := r.b
	b.rows, b.lines = rows, rows
	if r.plan.keyed() {
		b.groups = make([]uint16, rows)
		for i := range rows {
			b.groups[i] = r.group(i)
		}
	}
	for i, v := range b.values {
		switch {
		case math.IsNaN(v):
			r.note(noValue, i, true)
		case math.IsInf(v, 0):
			r.refuse(i, r.plan.value, "is infinite", "a measured value is finite; leave it out where nothing was measured")
		}
	}
	if r.plan.time >= 0 {
		r.judgeTimes(rows)
	}
	if r.gone != nil {
		b.values, b.times, b.groups = without(b.values, r.gone), without(b.times, r.gone), without(b.groups, r.gone)
		for i := range b.facts {
			b.facts[i] = without(b.facts[i], r.gone)
		}
	}
}

func (r *rowGroup) judgeTimes(rows int) {
	l := r.leaves[r.plan.time]
	if r.moments != nil {
		r.b.times = make([]int64, rows)
	} else if !l.local && !slices.ContainsFunc(r.b.times, unusual) {
		r.b.forms[formZoned].count += rows
		r.b.forms[formZoned].lines = append(r.b.forms[formZoned].lines, 1)
		return
	}
	for i := range rows {
		m := moment{ns: r.b.times[i], form: formZoned}
		if r.moments != nil {
			m = r.moments[i]
		} else if l.local && m.ns > farMoment {
			m.form = formLocal
			m.ns, m.odd = r.worker.clock.local((m.ns - mod(m.ns, second)) / second)
			m.ns += mod(r.b.times[i], second)
		}
		r.b.times[i] = m.ns
		switch {
		case m.bad:
			r.refuse(i, r.plan.time, "is no time", timeAllowed)
		case m.ns == farMoment:
			r.refuse(i, r.plan.time, fmt.Sprintf("has a time before the year %d or after %d", firstYear, lastYear),
				"leave the cell empty where the time is not known")
		case m.ns == noMoment:
			r.note(noTime, i, true)
		case m.odd != steady:
			r.note(map[shift]remark{gap: gapTime, twice: twiceTime}[m.odd], i, false)
		}
		if n := &r.b.forms[m.form]; m.ns != noMoment {
			n.add(func() int { return i + 1 })
		}
	}
}

// group is what a row is about.
func (r *rowGroup) group(row int) uint16 {
	w := r.worker
	w.key = w.key[:0]
	for k, codes := range r.about {
		if codes != nil {
			w.key = append(w.key, r.keys[k].all[codes[row]]...)
		}
		w.key = append(w.key, 0)
	}
	code, fresh := w.group.of(w.key)
	if fresh {
		r.b.groupAt = append(r.b.groupAt, row+1)
	}
	return code
}

// note notes something about a row; gone: it is left out.
func (r *rowGroup) note(what remark, row int, gone bool) {
	if r.gone != nil && r.gone[row] {
		return
	}
	n := note{what: what}
	if r.b.groups != nil {
		n.group = r.b.groups[row]
	}
	all := r.b.notes[n]
	all.add(func() int { return row + 1 })
	if r.b.notes[n] = all; gone {
		if r.gone == nil {
			r.gone = make([]bool, len(r.b.values))
		}
		r.gone[row] = true
	}
}

func (r *rowGroup) refuse(row, column int, problem, allowed string) {
	r.b.problems.Add(&model.InputError{Problem: fmt.Sprintf("%s %s in row %s", r.plan.columns[column].name, problem, num.Grouped(int64(r.before+row+1))), Allowed: allowed})
}
