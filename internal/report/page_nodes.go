package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// fact is one thing that nodes say about themselves, by which they may differ.
type fact struct {
	label string
	of    func(model.Node) string
	// matters says that a difference can explain a difference in capacity.
	matters bool
}

var facts = []fact{
	{"CPU model", func(n model.Node) string { return n.Facts.CPUModel }, true},
	{"cores", func(n model.Node) string { return coresText(n.Facts) }, true},
	{"memory", func(n model.Node) string { return memoryText(n.Facts) }, true},
	{"microcode", func(n model.Node) string { return n.Facts.Microcode }, true},
	{"kernel", func(n model.Node) string { return n.Facts.Kernel }, true},
	{"operating system", func(n model.Node) string { return n.Facts.OS }, true},
	{"architecture", func(n model.Node) string { return n.Facts.Arch }, true},
	{"hypervisor", func(n model.Node) string { return n.Facts.Hypervisor }, true},
	{"provider", func(n model.Node) string { return cloud(n).Provider }, true},
	{"instance type", func(n model.Node) string { return cloud(n).InstanceType }, true},
	{"zone", func(n model.Node) string { return cloud(n).Zone }, true},
	{"agent", func(n model.Node) string { return n.Facts.Agent }, true},
}

// factsOf adds the labels that the user gave, which differ on purpose.
func factsOf(nodes []model.Node) []fact {
	keys := make(map[string]bool)
	for _, n := range nodes {
		for k := range n.Labels {
			keys[k] = true
		}
	}
	out := slices.Clone(facts)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, fact{"label " + k, func(n model.Node) string { return n.Labels[k] }, false})
	}
	return out
}

// differText names the facts by which nodes differ, "" when they are alike.
func differText(nodes []model.Node) string {
	var by []string
	for _, f := range factsOf(nodes) {
		if f.matters && len(values(f, nodes)) > 1 {
			by = append(by, f.label)
		}
	}
	if len(by) == 0 {
		return ""
	}
	return "The nodes are not alike: they differ in " + strings.Join(by, ", ")
}

// values counts how many nodes have each value of a fact.
func values(f fact, nodes []model.Node) map[string]int {
	out := make(map[string]int)
	for _, n := range nodes {
		out[f.of(n)]++
	}
	return out
}

// nodeFacts splits what the nodes say: what all have in common is said once,
// the rest is a table in which the exceptions are marked.
func nodeFacts(nodes []model.Node) (same []field, t *tableView) {
	if len(nodes) == 0 {
		return nil, nil
	}
	var differ []fact
	for _, f := range factsOf(nodes) {
		switch v := f.of(nodes[0]); {
		case len(values(f, nodes)) > 1:
			differ = append(differ, f)
		case v != "":
			same = append(same, field{table.Clean(f.label), table.Clean(v)})
		}
	}
	return same, newTableView(nodeTable(nodes, differ), nodesForPrograms(nodes))
}

func nodeTable(nodes []model.Node, differ []fact) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "number", Head: "#", Align: table.Right}, {Key: "id", Head: "node"}, {Key: "address", Head: "address"},
	}}
	usual := make([]string, len(differ))
	for i, f := range differ {
		t.Columns = append(t.Columns, table.Column{Key: f.label, Head: table.Clean(f.label)})
		if f.matters {
			usual[i] = majority(values(f, nodes), len(nodes))
		}
	}
	for k, n := range nodes {
		row := []table.Cell{table.Of(k+1, strconv.Itoa(k+1)), table.Text(string(n.ID)), table.Text(firstAddress(n))}
		for i, f := range differ {
			row = append(row, factCell(f.of(n), usual[i]))
		}
		t.Add(row...)
	}
	return t
}

// factCell marks what differs from the usual value.
func factCell(v, usual string) table.Cell {
	c := table.Text(v)
	if v == "" {
		c = table.Of(nil, "not known")
	}
	if usual != "" && v != usual {
		return c.As(table.Note)
	}
	return c
}

// majority is the value that more than half of n nodes share, "" for none.
func majority(counts map[string]int, n int) string {
	for v, k := range counts {
		if 2*k > n {
			return v
		}
	}
	return ""
}
