package frame

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Part is the frames of one of several sources that are to be joined.
type Part struct {
	Name   string
	Frames []Frame
}

// Twice doubts the rows that several sources have: they count as often as they are
// given, and intervals become too narrow. With times, those are rows of the same
// time, value and facts (of the facts that all sources have: a column may be missing
// in one of two exports). Without, only a whole source that equals another is told,
// as values alone may be equal by chance.
func Twice(parts []Part) map[Key]model.Doubt {
	out := make(map[Key]model.Doubt)
	if len(parts) < 2 {
		return out
	}
	copies := copied(parts)
	for _, key := range keysOf(parts) {
		if d, found := twiceOf(key, parts, copies); found {
			out[key] = d
		}
	}
	return out
}

func keysOf(parts []Part) (keys []Key) {
	known := make(map[Key]bool)
	for _, p := range parts {
		for i := range p.Frames {
			if k := p.Frames[i].Key; !known[k] {
				known[k], keys = true, append(keys, k)
			}
		}
	}
	return keys
}

func (p Part) frame(key Key) *Frame {
	for i := range p.Frames {
		if p.Frames[i].Key == key {
			return &p.Frames[i]
		}
	}
	return nil
}

// twiceOf is the doubt about one metric.
func twiceOf(key Key, parts []Part, copies map[int]int) (model.Doubt, bool) {
	m := matches{of: make([]*Frame, len(parts)), has: make([]bool, len(parts)), seen: make([]int, len(parts))}
	rows := 0
	for i, p := range parts {
		f := p.frame(key)
		if f == nil {
			continue
		}
		rows += f.Len()
		if first, copied := copies[i]; copied && f.Times == nil {
			m.twice, m.beside = m.twice+f.Len(), m.beside+f.Len()
			m.has[first], m.has[i] = true, true
		}
		if f.Times != nil {
			m.of[i] = f.ByTime()
		}
	}
	m.find()
	// Of other things that were measured at the same times some values are equal by
	// chance, of the same things all.
	if m.twice == 0 || 2*m.twice < m.beside {
		return model.Doubt{}, false
	}
	return m.doubt(key, parts, rows), true
}

func (m *matches) doubt(key Key, parts []Part, rows int) model.Doubt {
	var names []string
	for i, has := range m.has {
		if has {
			names = append(names, parts[i].Name)
		}
	}
	where, are := "in both "+strings.Join(names, " and "), "are"
	if len(names) > 2 {
		where = "in several of " + num.List(names)
	}
	if m.twice == 1 {
		are = "is"
	}
	text := fmt.Sprintf("%s of %s %s %s; give each row once, or add a column that tells them apart if they are of different things", num.Grouped(int64(m.twice)), num.Count(rows, "row"), are, where)
	return model.Doubt{Code: "rows_twice", Severity: model.Problem, Workload: key.Workload, Text: text}
}

// matches are rows of sources that have times.
type matches struct {
	of  []*Frame // by source; nil where it has none
	has []bool   // the sources that have rows of others
	// twice counts the rows that another source has; beside those that have the time
	// and facts of one in another source, whatever their values.
	twice, beside int

	facts [][]factHash
	seen  []int // by source, of rows that are alike
}

// factHash is a fact with a number for each level.
type factHash struct {
	codes []uint16
	level []uint64
}

// same is a row among those of one time.
type same struct {
	facts, value uint64
	source       int
}

// find goes through all sources in the order of time. Only rows of a time that
// several sources have are compared, so that it takes no memory for the others.
func (m *matches) find() {
	m.hashFacts()
	at := make([]int, len(m.of))
	var rows []same
	for {
		first, several := int64(math.MaxInt64), 0
		for i, f := range m.of {
			switch {
			case f == nil || at[i] == len(f.Times):
			case several == 0 || f.Times[at[i]] < first:
				first, several = f.Times[at[i]], 1
			case f.Times[at[i]] == first:
				several++
			}
		}
		if several == 0 {
			return
		}
		rows = rows[:0]
		for i, f := range m.of {
			for ; f != nil && at[i] < len(f.Times) && f.Times[at[i]] == first; at[i]++ {
				if several > 1 {
					rows = append(rows, m.row(i, at[i]))
				}
			}
		}
		m.count(rows)
	}
}

// hashFacts gives the levels of the facts that all sources have numbers.
func (m *matches) hashFacts() {
	m.facts = make([][]factHash, len(m.of))
	seed := maphash.MakeSeed()
	for i, f := range m.of {
		if f == nil {
			continue
		}
		for _, x := range f.Facts {
			if slices.ContainsFunc(m.of, func(o *Frame) bool { return o != nil && o.Fact(x.Name) == nil }) {
				continue
			}
			h := factHash{codes: x.Codes, level: make([]uint64, len(x.Levels))}
			for c, level := range x.Levels {
				h.level[c] = maphash.String(seed, Plain(x.Name)+"\x00"+level)
			}
			m.facts[i] = append(m.facts[i], h)
		}
	}
}

func (m *matches) row(source, at int) same {
	r := same{value: math.Float64bits(m.of[source].Values[at] + 0), source: source} // + 0: -0 is 0
	for _, h := range m.facts[source] {
		r.facts += h.level[h.codes[at]] // facts may be in another order in each source
	}
	return r
}

// count counts among rows of one time.
func (m *matches) count(rows []same) {
	slices.SortFunc(rows, func(a, b same) int {
		return cmp.Or(cmp.Compare(a.facts, b.facts), cmp.Compare(a.value, b.value))
	})
	for len(rows) > 0 {
		of := beginning(rows, func(r same) bool { return r.facts == rows[0].facts })
		again, _ := m.again(of)
		m.beside, rows = m.beside+again, rows[len(of):]
		for len(of) > 0 {
			equal := beginning(of, func(r same) bool { return r.value == of[0].value })
			again, several := m.again(equal)
			m.twice, of = m.twice+again, of[len(equal):]
			for _, r := range equal {
				m.has[r.source] = m.has[r.source] || several
			}
		}
	}
}

// beginning is the rows before the first that is not like that.
func beginning(rows []same, like func(same) bool) []same {
	if i := slices.IndexFunc(rows, func(r same) bool { return !like(r) }); i >= 0 {
		return rows[:i]
	}
	return rows
}

// again is how many of the rows, which are alike, there are beside those of the
// source that has the most of them, and whether several sources have such.
func (m *matches) again(rows []same) (n int, several bool) {
	most := 0
	for _, r := range rows {
		m.seen[r.source]++
		most = max(most, m.seen[r.source])
	}
	for _, r := range rows {
		m.seen[r.source] = 0
	}
	return len(rows) - most, len(rows) > most
}

// copied are the sources of which all that has no times equals that of an earlier
// one, with that one.
func copied(parts []Part) map[int]int {
	out := make(map[int]int)
	for i := range parts {
		for j := range i {
			if _, copied := out[j]; !copied && equal(parts[j], parts[i]) {
				out[i] = j
				break
			}
		}
	}
	return out
}

// leastOrders: values that could stand in fewer orders, such as less than five
// different ones, or those of a constant, may be equal by chance.
const leastOrders = 100

// equal reports whether two sources have the same values without times, in the same
// order, and not by chance.
func equal(a, b Part) bool {
	orders, frames := 0.0, [2]int{}
	for i := range a.Frames {
		if a.Frames[i].Times == nil {
			frames[0]++
		}
	}
	for i := range b.Frames {
		g := &b.Frames[i]
		if g.Times != nil {
			continue
		}
		frames[1]++
		f := a.frame(g.Key)
		if f == nil || f.Times != nil || !slices.Equal(f.Values, g.Values) || !equalFacts(f, g) {
			return false
		}
		orders += logOrders(g.Values, math.Log(leastOrders))
	}
	return frames[0] == frames[1] && orders >= math.Log(leastOrders)
}

// equalFacts compares the facts that both have.
func equalFacts(f, g *Frame) bool {
	for i := range f.Facts {
		x, y := &f.Facts[i], g.Fact(f.Facts[i].Name)
		for row := 0; y != nil && row < len(x.Codes); row++ {
			if x.Level(row) != y.Level(row) {
				return false
			}
		}
	}
	return true
}

// logOrders is the logarithm of the number of orders in which the values could
// stand; once it is enough, no more are counted.
func logOrders(values []float64, enough float64) (sum float64) {
	count := make(map[float64]int)
	for i, v := range values {
		count[v]++
		if sum += math.Log(float64(i+1)) - math.Log(float64(count[v])); sum >= enough {
			break
		}
	}
	return sum
}
