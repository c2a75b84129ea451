package report

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Nodes prints the nodes of a fleet, and how they are doing, in the order
// given. JSON is the array of nodes with all facts; CSV has one line per node.
func Nodes(w io.Writer, nodes []model.NodeInfo, f Format, o Options) error {
	switch {
	case f == JSON && nodes == nil:
		return writeJSON(w, []model.NodeInfo{})
	case f == JSON:
		return writeJSON(w, nodes)
	case f == Text && len(nodes) == 0:
		return writeLines(w, "No nodes have joined. `scalebench token` makes a token with which `scalebench agent` joins.")
	case f == Text:
		return writeTable(w, nodesForPeople(nodes), f, o)
	}
	return writeTable(w, withStatus(nodesForPrograms(plain(nodes)), nodes), f, o)
}

// plain leaves out how the nodes are doing.
func plain(nodes []model.NodeInfo) []model.Node {
	out := make([]model.Node, len(nodes))
	for i, n := range nodes {
		out[i] = n.Node
	}
	return out
}

// withStatus appends to each row how the node is doing.
func withStatus(t *table.Table, nodes []model.NodeInfo) *table.Table {
	for _, key := range []string{"status", "heard", "task"} {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	for i, n := range nodes {
		t.Rows[i] = append(t.Rows[i], table.Of(string(n.Status)), table.Of(n.Heard), table.Of(string(n.Task)))
	}
	return t
}

// statusCell says what a node is doing when it is doing something.
func statusCell(n model.NodeInfo) table.Cell {
	switch {
	case n.Status == model.NodeAlive && n.Task != "":
		return table.Of(string(n.Status), "working").As(table.Good)
	case n.Status == model.NodeSlow:
		return table.Of(string(n.Status), "slow").As(table.Note)
	case !n.Status.Up():
		return table.Text(string(n.Status)).As(table.Bad)
	}
	return table.Text(string(n.Status))
}

func nodesForPeople(nodes []model.NodeInfo) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "id", Head: "node"}, {Key: "status", Head: "status"}, {Key: "address", Head: "address"}, {Key: "cpu_model", Head: "CPU"},
		{Key: "cores", Head: "cores", Align: table.Right}, {Key: "memory", Head: "memory", Align: table.Right},
		{Key: "kernel", Head: "kernel"}, {Key: "instance_type", Head: "type"}, {Key: "zone", Head: "zone"},
		{Key: "labels", Head: "labels"}, {Key: "agent", Head: "agent"},
	}}
	for _, n := range nodes {
		t.Add(table.Text(string(n.ID)), statusCell(n), table.Text(firstAddress(n.Node)), table.Text(n.Facts.CPUModel),
			table.Text(coresText(n.Facts)), table.Text(memoryText(n.Facts)), table.Text(n.Facts.Kernel),
			table.Text(cloud(n.Node).InstanceType), table.Text(cloud(n.Node).Zone),
			table.Text(labelsText(n.Labels)), table.Text(n.Facts.Agent))
	}
	return t
}

func nodesForPrograms(nodes []model.Node) *table.Table {
	t := &table.Table{}
	for _, key := range []string{
		"id", "public_key", "labels", "hostname", "addresses", "os", "kernel", "arch", "cpu_model", "cores",
		"cpu_limit", "microcode", "hypervisor", "memory", "mem_limit", "provider", "instance_type", "zone",
		"instance_id", "agent", "registered",
	} {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	for _, n := range nodes {
		var row []table.Cell
		for _, v := range nodeValues(n) {
			row = append(row, table.Of(v))
		}
		t.Add(row...)
	}
	return t
}

func nodeValues(n model.Node) []any {
	f, c := n.Facts, cloud(n)
	return []any{
		string(n.ID), n.PublicKey, labelsText(n.Labels), f.Hostname, strings.Join(f.Addresses, " "), f.OS,
		f.Kernel, f.Arch, f.CPUModel, known(f.Cores), known(f.CPULimit), f.Microcode, f.Hypervisor,
		known(f.Memory), known(f.MemLimit), c.Provider, c.InstanceType, c.Zone, c.InstanceID, f.Agent, n.Registered,
	}
}

// known is the value, or nil when it is zero: in facts, zero means that the
// node could not find out.
func known[T cmp.Ordered](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func cloud(n model.Node) model.CloudInfo {
	if n.Facts.Cloud == nil {
		return model.CloudInfo{}
	}
	return *n.Facts.Cloud
}

func firstAddress(n model.Node) string {
	if len(n.Facts.Addresses) == 0 {
		return ""
	}
	return n.Facts.Addresses[0]
}

// coresText says "8", or "2 of 8" where a quota allows fewer.
func coresText(f model.Facts) string {
	if f.Cores == 0 {
		return ""
	}
	all := strconv.Itoa(f.Cores)
	if f.CPULimit > 0 && f.CPULimit < float64(f.Cores) {
		return strconv.FormatFloat(f.CPULimit, 'f', -1, 64) + " of " + all
	}
	return all
}

func memoryText(f model.Facts) string {
	switch {
	case f.Memory == 0:
		return ""
	case f.MemLimit > 0 && f.MemLimit < f.Memory:
		return num.Bytes(f.MemLimit) + " of " + num.Bytes(f.Memory)
	}
	return num.Bytes(f.Memory)
}

// labelsText prints labels sorted by key: "disk=ssd, rack=4".
func labelsText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ", ")
}
