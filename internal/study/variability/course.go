package variability

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
)

// changeWords say what changed.
func changeWords(c *explain.Course) string {
	if len(c.Changes) == 0 {
		return "the level drifts by " + num.Signed(c.Drift.Relative) + " from begin to end"
	}
	first, times := c.Changes[0], ""
	if n := len(c.Changes); n > 1 {
		times = fmt.Sprintf("%d times, first ", n)
	}
	return fmt.Sprintf("the level changed %s%s by %s", times, whenOf(first), num.Signed(first.Relative))
}

// whenOf is where the new level begins.
func whenOf(c explain.Change) string {
	if c.At != nil {
		return "on " + num.Clock(*c.At)
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
	calendar, cycle := m.Course.TakenOut()
	for _, name := range calendar {
		facts = append(facts, factName(explain.Effect{Fact: name, Derived: true}))
	}
	if cycle {
		facts = append(facts, "a daily cycle")
	}
	for i, c := range changes {
		p := m.Course.Parts
		apart := max(math.Abs(c.Before-p[i].Mean), math.Abs(c.After-p[i+1].Mean))
		adjusted = adjusted || apart > 1e-9*math.Abs(c.Before)
	}
	return facts, adjusted
}

// changesTable is a row a part.
func (m *Metric) changesTable() doc.Block {
	if m.Course == nil || len(m.Course.Changes) == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{{Key: "from", Head: "from"}, doc.Number("n", "n"),
		{Key: "worth", Head: "worth", Right: true, Tip: "how many independent values these are worth"},
		doc.Number("mean", "mean"), doc.Number("cov", "COV"),
		doc.Number("change", "change")}}
	facts, adjusted := m.adjusted()
	if adjusted {
		head := "level, rows of\none time as one"
		if len(facts) > 0 {
			head = "level without what\n" + num.List(facts) + " explains"
		}
		t.Columns = slices.Insert(t.Columns, 5, doc.Number("level", head))
	}
	for i, p := range m.Course.Parts {
		level, change := m.Course.Changes[0].Before, doc.Of(nil, "")
		if i > 0 {
			level = m.Course.Changes[i-1].After
			rel := m.Course.Changes[i-1].Relative
			change = doc.Of(rel, num.Signed(rel)).As(doc.Strong)
		}
		worth := doc.Optional(p.EffectiveN, func(n float64) string { return fmt.Sprintf("%.0f", n) })
		row := []doc.Cell{clock(p.At, "row "+strconv.Itoa(p.From+1)), doc.Int(p.N), worth, m.value(p.Mean), cov(p.COV)}
		if adjusted {
			row = append(row, m.value(level))
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
		text := fmt.Sprintf("The level drifts by %s from begin to end", num.Signed(c.Drift.Relative))
		if c.Drift.CI != nil {
			text += " " + num.PercentInterval(100*c.Drift.CI[0], 100*c.Drift.CI[1])
		}
		return doc.Para(text + ".")
	case len(c.Changes) == 0:
		return doc.Remark("The level shows no change and no drift beyond chance.")
	}
	return doc.Block{}
}
