package scaleout

import (
	"io"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/tabular"
)

// table is what a user measured.
type table struct {
	Nodes      []float64 `json:"nodes"`
	Throughput []float64 `json:"throughput"`
}

// parseTable reads a table in CSV with the columns nodes and throughput, and perhaps
// trial. Its errors name line and column.
func parseTable(name string, in io.Reader) (out table, err error) {
	t, err := tabular.Open(name, in)
	if err != nil {
		return out, err
	}
	const columns = "the first line must name the columns: nodes,throughput, and perhaps trial"
	form := tabular.Form{Required: []string{"nodes", "throughput"}, Optional: []string{"trial"}}
	if _, err := t.Use([]tabular.Form{form}, columns); err != nil {
		return out, err
	}
	type trial struct {
		nodes float64
		name  string
	}
	seen := make(map[trial]bool)
	for t.Next() {
		nodes, whole := tabular.Number(t.Text(t.Column("nodes")))
		if !whole || nodes < 1 || nodes != math.Trunc(nodes) || nodes > mostNodes {
			t.RefuseCell(t.Column("nodes"), "nodes", "a whole number from 1 to 1000000")
		}
		x := t.Amount("throughput", true)
		if v, known := tabular.Number(t.Text(t.Column("throughput"))); known && v == 0 {
			t.RefuseCell(t.Column("throughput"), "throughput", "a number above 0")
		}
		if at := t.Column("trial"); at != tabular.Absent {
			is := trial{nodes, strings.Clone(t.Text(at))}
			if is.name == "" || seen[is] {
				t.RefuseCell(at, "trial", "each trial of a size once")
			}
			seen[is] = true
		}
		out.Nodes, out.Throughput = append(out.Nodes, nodes), append(out.Throughput, x)
	}
	if len(out.Nodes) == 0 && t.Err() == nil {
		t.Refuse("the table has no rows", "one row for each trial of a size")
	}
	return out, t.Err()
}

const mostNodes = 1_000_000

func (t table) points() (out []point) {
	for i, n := range t.Nodes {
		out = append(out, point{nodes: int(n), rate: t.Throughput[i], node: math.NaN(), machine: math.NaN()})
	}
	return out
}
