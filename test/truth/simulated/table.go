package simulated

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// Table is a frame in the making: rows with their facts.
type Table struct {
	F     frame.Frame
	facts []*frame.Column
}

// NewTable begins a table with these facts.
func NewTable(facts ...string) *Table {
	t := &Table{F: frame.Frame{Key: frame.Key{Workload: "w", Metric: "score"}, Unit: "points", Better: model.Higher}}
	for _, name := range facts {
		t.facts = append(t.facts, frame.NewFact(name))
	}
	return t
}

// Noise is n normal values without facts, the same each time.
func Noise(n int, mean, sd float64) *Table {
	rng, t := rand.New(rand.NewPCG(7, 7)), NewTable()
	for range n {
		t.Add(mean + sd*rng.NormFloat64())
	}
	return t
}

// Add appends a row with the levels of its facts, half an hour after the last.
func (t *Table) Add(value float64, levels ...string) {
	t.At(value, int64(len(t.F.Values))*int64(30*time.Minute), levels...)
}

// At appends a row of a time, in nanoseconds since 1970.
func (t *Table) At(value float64, at int64, levels ...string) {
	t.F.Values, t.F.Times = append(t.F.Values, value), append(t.F.Times, at)
	for i, level := range levels {
		t.facts[i].Append(level)
	}
}

// Frame is the table so far.
func (t *Table) Frame() frame.Frame {
	f := t.F
	for _, c := range t.facts {
		f.Facts = append(f.Facts, c.Fact())
	}
	return f
}

// Kept are k nodes that measure times over, all at once; share of the variance is
// between them. The COV is 10 %.
func Kept(rng *rand.Rand, k, times int, share float64) *Table {
	tab := NewTable(frame.FactSubject)
	levels := make([]float64, k)
	for n := range levels {
		levels[n] = 100 + 10*math.Sqrt(share)*rng.NormFloat64()
	}
	for i := range times {
		for n, level := range levels {
			tab.At(level+10*math.Sqrt(1-share)*rng.NormFloat64(), int64(i)*int64(time.Hour), fmt.Sprint("node", n))
		}
	}
	return tab
}
