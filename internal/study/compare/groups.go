package compare

import (
	"strings"

	"github.com/scalebench/scalebench/internal/frame"
)

// group is rows of one level.
type group struct {
	key  string
	rows []int
}

// groupsOf takes the rows of a frame apart by the levels of facts together, in
// the order of first appearance. Rows that lack one are in none.
func groupsOf(f *frame.Frame, facts ...string) []group {
	columns := make([]*frame.Fact, len(facts))
	for i, name := range facts {
		if columns[i] = f.Fact(name); columns[i] == nil {
			return nil
		}
	}
	var out []group
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
			out = append(out, group{key: key.String()})
		}
		out[i].rows = append(out[i].rows, row)
	}
	return out
}

func byKey(groups []group) map[string]group {
	out := make(map[string]group, len(groups))
	for _, g := range groups {
		out[g.key] = g
	}
	return out
}

// whole reports whether every row is in one of the groups.
func whole(f *frame.Frame, groups []group) bool {
	n := 0
	for _, g := range groups {
		n += len(g.rows)
	}
	return n == f.Len()
}
