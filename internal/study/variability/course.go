package variability

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// Course is how the level went over time, or over the rows in their order.
type Course struct {
	// Changes are where the level changed for good; Parts what lies between them.
	Changes []Change `json:"changes"`
	Parts   []Part   `json:"parts,omitempty"`
	Drift   *Drift   `json:"drift,omitempty"`
	Why     string   `json:"why,omitempty"` // changes or drift could not be looked for

	calendar []*factor    // hour or weekday, where they were taken out
	cycle    bool         // a daily cycle was taken out
	untold   model.Doubts // of what cannot be told from something else
}

// Change is a change of the level.
type Change struct {
	Row int        `json:"row"` // the first of the new level, from 1
	At  *time.Time `json:"at"`
	// Before and After are the means of the parts; Relative is After/Before − 1.
	Before   float64 `json:"before"`
	After    float64 `json:"after"`
	Relative float64 `json:"relative"`
	P        float64 `json:"p"`
	// Besides is the fact besides which the level changed: it shows only without
	// what that explains. Before and After are then as if nothing else had changed.
	Besides string `json:"besides,omitempty"`
}

// Part is what lies between two changes.
type Part struct {
	From int        `json:"from"` // row, from 0
	N    int        `json:"n"`
	At   *time.Time `json:"at"`
	Mean float64    `json:"mean"`
	COV  *float64   `json:"cov"`
}

// Drift is a trend from begin to end.
type Drift struct {
	Relative    float64   `json:"relative"` // change from begin to end, by the mean
	CI          *Interval `json:"ci"`
	P           float64   `json:"p"`
	Significant bool      `json:"significant"`
	Besides     string    `json:"besides,omitempty"` // as of a change
}

// changed reports whether one mean does not describe all of it.
func (c *Course) changed() bool {
	return c != nil && (len(c.Changes) > 0 || c.Drift != nil && c.Drift.Significant)
}

// words say what changed.
func (c *Course) words() string {
	if len(c.Changes) == 0 {
		return "the level drifts by " + signedPercent(c.Drift.Relative) + " from begin to end"
	}
	first := c.Changes[0]
	text := fmt.Sprintf("the level changed %s by %s", first.when(), signedPercent(first.Relative))
	if n := len(c.Changes); n > 1 {
		text = fmt.Sprintf("the level changed %d times, first %s by %s", n, first.when(), signedPercent(first.Relative))
	}
	return text
}

// when is where the new level begins.
func (c Change) when() string {
	if c.At != nil {
		return "on " + clockOf(*c.At)
	}
	return fmt.Sprintf("after value %d", c.Row-1)
}

// adjusted is whether the levels of the changes are others than the means of the
// parts, and what was taken out of them.
func (m *Metric) adjusted() (facts []string, adjusted bool) {
	changes := m.Course.Changes
	if changes[0].Besides != "" {
		facts = append(facts, changes[0].Besides)
	}
	for _, f := range m.Course.calendar {
		facts = append(facts, Effect{Fact: f.Name, Derived: true}.name())
	}
	if m.Course.cycle {
		facts = append(facts, "a daily cycle")
	}
	for i, c := range changes {
		p := m.Course.Parts
		apart := max(math.Abs(c.Before-p[i].Mean), math.Abs(c.After-p[i+1].Mean))
		adjusted = adjusted || apart > 1e-9*math.Abs(c.Before)
	}
	return facts, adjusted
}

// parts is a fact that tells the part of the time of each row.
func (c *Course) parts(rows int) frame.Fact {
	fact := frame.Fact{Name: factPart, Levels: []string{""}, Codes: make([]uint16, rows)}
	for i, p := range c.Parts {
		name := "part " + strconv.Itoa(i+1)
		if p.At != nil {
			name = "from " + clockOf(*p.At)
		}
		fact.Levels = append(fact.Levels, name)
		for row := p.From; row < p.From+p.N; row++ {
			fact.Codes[row] = uint16(i + 1) //nolint:gosec // few
		}
	}
	return fact
}

// changesTable is a row a part.
func (m *Metric) changesTable() doc.Block {
	if m.Course == nil || len(m.Course.Changes) == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{{Key: "from", Head: "from"}, {Key: "n", Head: "n", Right: true}, {Key: "mean", Head: "mean", Right: true}, {Key: "cov", Head: "COV", Right: true}, {Key: "change", Head: "change", Right: true}}}
	facts, adjusted := m.adjusted()
	if adjusted {
		head := "level, rows of\none time as one"
		if len(facts) > 0 {
			head = "level without what\n" + num.List(facts) + " explains"
		}
		t.Columns = slices.Insert(t.Columns, 4, doc.Column{Key: "level", Head: head, Right: true})
	}
	s := m.scale()
	for i, p := range m.Course.Parts {
		from, change := doc.Say("row "+strconv.Itoa(p.From+1)), doc.Of(nil, "")
		if p.At != nil {
			from = doc.Of(*p.At, clockOf(*p.At))
		}
		level := m.Course.Changes[0].Before
		if i > 0 {
			level = m.Course.Changes[i-1].After
			rel := m.Course.Changes[i-1].Relative
			change = doc.Of(rel, signedPercent(rel)).As(doc.Strong)
		}
		row := []doc.Cell{from, doc.Int(p.N), doc.Of(p.Mean, s.Value(p.Mean, 0)), cov(p.COV)}
		if adjusted {
			row = append(row, doc.Of(level, s.Value(level, 0)))
		}
		t.Add(append(row, change)...)
	}
	return doc.Block{Table: t}
}

// courseWords say what of the course is no table.
func (m *Metric) courseWords() doc.Block {
	c := m.Course
	switch {
	case c == nil:
		return doc.Block{}
	case c.Why != "":
		return doc.Remark("Changes of the level were not looked for: " + c.Why + ".")
	case c.Drift != nil && c.Drift.Significant:
		text := fmt.Sprintf("The level drifts by %s from begin to end", signedPercent(c.Drift.Relative))
		if c.Drift.CI != nil {
			text += " " + num.PercentInterval(100*c.Drift.CI[0], 100*c.Drift.CI[1])
		}
		return doc.Para(text + ".")
	case len(c.Changes) == 0:
		return doc.Remark("The level shows no change and no drift beyond chance.")
	}
	return doc.Block{}
}
