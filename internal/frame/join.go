package frame

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// Join puts frames of the same keys together, as a [Joiner] does. Where each has
// its own key their columns are not copied: a table of millions of rows is large.
func Join(frames ...Frame) ([]Frame, error) {
	keys := make(map[Key]bool, len(frames))
	for i := range frames {
		keys[frames[i].Key] = true
	}
	if len(keys) == len(frames) {
		return each(frames)
	}
	var j Joiner
	for i := range frames {
		if err := j.Add(&frames[i]); err != nil {
			return nil, err
		}
	}
	return j.Frames()
}

// each is frames that need not be joined, checked and by time.
func each(frames []Frame) ([]Frame, error) {
	out := make([]Frame, 0, len(frames))
	for i := range frames {
		if err := frames[i].Check(); err != nil {
			return nil, err
		}
		out = append(out, *frames[i].ByTime())
	}
	return out, nil
}

// Joiner puts frames of the same keys together, in the order of first appearance,
// rows by time. A fact that one of them lacks is not known of its rows; times
// that one of them lacks are known of none. What was added is not kept, so that
// thousands of frames take no more than their rows. The zero value is empty.
type Joiner struct {
	order  []*joined
	joined map[Key]*joined
}

// joined is a frame in the making.
type joined struct {
	Frame
	untimed bool
	columns map[string]*Column
	names   []string // of the columns, in the order of first appearance
}

// Add adds a frame. One in another unit than those of its key before cannot be
// added: model.ErrUsage.
func (j *Joiner) Add(f *Frame) error {
	to := j.joined[f.Key]
	if to == nil {
		to = &joined{Frame: *f, columns: make(map[string]*Column)}
		to.Values, to.Times, to.Ends, to.Facts, to.Doubts = nil, nil, nil, nil, nil
		if j.joined == nil {
			j.joined = make(map[Key]*joined)
		}
		j.order, j.joined[f.Key] = append(j.order, to), to
	}
	if f.Unit != to.Unit || f.Better != to.Better {
		return fmt.Errorf("%w: %s is measured in %q here and in %q there (better: %s and %s); give sources that agree", model.ErrUsage, f.Name(), to.Unit, f.Unit, to.Better, f.Better)
	}
	to.add(f)
	return nil
}

func (to *joined) add(f *Frame) {
	for _, x := range f.Facts {
		if to.columns[x.Name] == nil {
			column := NewFact(x.Name)
			column.add(nil, to.Len())
			to.columns[x.Name], to.names = column, append(to.names, x.Name)
		}
	}
	if f.Ends != nil || to.Ends != nil {
		to.Ends = append(to.Ends, make([][2]float64, to.Len()-len(to.Ends))...)
		to.Ends = append(append(to.Ends, f.Ends...), make([][2]float64, f.Len()-len(f.Ends))...)
	}
	to.untimed = to.untimed || f.Times == nil && f.Len() > 0
	to.Values, to.Times = append(to.Values, f.Values...), append(to.Times, f.Times...)
	to.Doubts = append(to.Doubts, f.Doubts...)
	for _, name := range to.names {
		to.columns[name].add(f.Fact(name), f.Len())
	}
}

// Frames are what was added, together. Values that [Frame.Check] refuses are a
// model.ErrUsage.
func (j *Joiner) Frames() ([]Frame, error) {
	out := make([]Frame, 0, len(j.order))
	for _, to := range j.order {
		f := to.Frame
		if to.untimed {
			f.Times = nil
		}
		for _, name := range to.names {
			if to.columns[name].Full() {
				f.Doubts = append(f.Doubts, TooManyLevels(name))
				continue
			}
			f.Facts = append(f.Facts, to.columns[name].Fact())
		}
		if err := f.Check(); err != nil {
			return nil, err
		}
		out = append(out, *f.ByTime())
	}
	return out, nil
}

// TooManyLevels is the doubt about a column that is no fact.
func TooManyLevels(name string) model.Doubt {
	return model.Doubt{Code: "too_many_levels", Severity: model.Warning, Text: fmt.Sprintf("%s has more than %d different values and is left out as a fact", name, MostLevels)}
}

// Column is a fact in the making.
type Column struct {
	fact Fact
	code map[string]uint16
	full bool
}

// NewFact begins a fact of that name.
func NewFact(name string) *Column {
	return &Column{fact: Fact{Name: name, Levels: []string{""}}, code: map[string]uint16{"": 0}}
}

// Append adds a row. The level is kept: it must not be changed afterwards.
func (c *Column) Append(level string) { c.fact.Codes = append(c.fact.Codes, c.Code(level)) }

// Code is the index of a level, which is new if need be; 0 where there are too
// many.
func (c *Column) Code(level string) uint16 {
	code, known := c.code[level]
	if known {
		return code
	}
	if len(c.fact.Levels) > MostLevels {
		c.full = true
		return 0
	}
	code = uint16(len(c.fact.Levels)) //nolint:gosec // checked above
	c.code[level], c.fact.Levels = code, append(c.fact.Levels, level)
	return code
}

// Full reports whether there were more than [MostLevels] levels: then it is no
// fact ([TooManyLevels]).
func (c *Column) Full() bool { return c.full }

// Fact is the column.
func (c *Column) Fact() Fact { return c.fact }

// add appends the rows of a fact; of nil, n rows of which nothing is known.
func (c *Column) add(x *Fact, n int) {
	if x == nil {
		c.fact.Codes = append(c.fact.Codes, make([]uint16, n)...)
		return
	}
	translate := make([]uint16, len(x.Levels))
	for i, level := range x.Levels {
		translate[i] = c.Code(level)
	}
	for _, code := range x.Codes {
		c.fact.Codes = append(c.fact.Codes, translate[code])
	}
}
