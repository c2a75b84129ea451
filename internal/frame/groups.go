package frame

import "strings"

// RowGroup is rows that belong together. Key tells them from others, where they
// have levels of facts in common.
type RowGroup struct {
	Key  string
	Rows []int
}

// GroupBy divides the rows of a frame by the levels of all these facts, in the order
// of first appearance. Rows that lack a level are in no group; where the frame lacks
// a fact there is no group.
func (f *Frame) GroupBy(facts ...string) []RowGroup {
	columns := make([]*Fact, len(facts))
	for i, name := range facts {
		if columns[i] = f.Fact(name); columns[i] == nil {
			return nil
		}
	}
	var out []RowGroup
	index := make(map[string]int)
	var key strings.Builder
	for row := range f.Len() {
		key.Reset()
		known := true
		for _, x := range columns {
			known = known && x.Codes[row] != 0
			key.WriteString(x.Level(row))
			key.WriteByte(0)
		}
		if !known {
			continue
		}
		i, seen := index[key.String()]
		if !seen {
			i = len(out)
			index[key.String()] = i
			out = append(out, RowGroup{Key: key.String()})
		}
		out[i].Rows = append(out[i].Rows, row)
	}
	return out
}

// GroupsByKey finds groups by their key.
func GroupsByKey(groups []RowGroup) map[string]RowGroup {
	out := make(map[string]RowGroup, len(groups))
	for _, g := range groups {
		out[g.Key] = g
	}
	return out
}

// InGroups reports whether every row of the frame is in one of its groups.
func (f *Frame) InGroups(groups []RowGroup) bool {
	n := 0
	for _, g := range groups {
		n += len(g.Rows)
	}
	return n == f.Len()
}

// Rounds divides rows that follow each other into rounds: a round ends where a level
// of the fact comes again. At one time it may come several times.
func (f *Frame) Rounds(fact string) (out []RowGroup) {
	x := f.Fact(fact)
	if x == nil {
		return nil
	}
	seen, began := make(map[uint16]bool), 0
	for row, code := range x.Codes {
		if len(out) == 0 || seen[code] && (f.Times == nil || f.Times[row] != f.Times[began]) {
			if f.Times == nil && row > 0 && code == x.Codes[row-1] {
				out[len(out)-1].Rows = append(out[len(out)-1].Rows, row) // several rows of one
				continue
			}
			out, began = append(out, RowGroup{}), row
			clear(seen)
		}
		seen[code] = true
		out[len(out)-1].Rows = append(out[len(out)-1].Rows, row)
	}
	return out
}

// RoundsByOrder puts the first row of each level of a fact into one round, the second
// ones into the next: rows without times are in the order of measurement, of all nodes
// or of each.
func (f *Frame) RoundsByOrder(fact string) (out []RowGroup) {
	x := f.Fact(fact)
	seen := make(map[uint16]int)
	for row, code := range x.Codes {
		k := seen[code]
		seen[code]++
		if k == len(out) {
			out = append(out, RowGroup{})
		}
		out[k].Rows = append(out[k].Rows, row)
	}
	return out
}
