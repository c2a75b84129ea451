package record

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Nodes lists the nodes of a fleet and how they are doing, in the order given;
// served says that a server tells of them, and not the store that it has left.
func Nodes(nodes []model.NodeInfo, served bool) *doc.Document {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "node", Head: "node", For: doc.People, Wrap: leastName}, {Key: "doing", Head: "status", For: doc.People}, {Key: "address", Head: "address", For: doc.People, Spare: 6},
		{Key: "cpu", Head: "CPU", For: doc.People, Wrap: leastName, Spare: 5}, {Key: "cores_of", Head: "cores", Right: true, For: doc.People, Spare: 8},
		{Key: "memory_of", Head: "memory", Right: true, For: doc.People, Spare: 7}, {Key: "kernel_of", Head: "kernel", For: doc.People, Spare: 2},
		{Key: "type", Head: "type", For: doc.People, Spare: 4}, {Key: "zone_of", Head: "zone", For: doc.People, Spare: 3},
		{Key: "label", Head: "labels", For: doc.People, Wrap: leastName, Spare: 9}, {Key: "agent_of", Head: "agent", For: doc.People, Spare: 1},
	}, OneLine: true}
	t.Columns = slices.Concat(t.Columns, factColumns(), doc.ForPrograms("status", "heard", "task"))
	for _, n := range nodes {
		people := func(s string) doc.Cell { return doc.Of(nil, s) }
		row := []doc.Cell{
			people(string(n.ID)), statusCell(n), people(firstAddress(n.Node)), people(n.Facts.CPUModel), people(coresText(n.Facts)),
			people(memoryText(n.Facts)), people(n.Facts.Kernel), people(cloud(n.Node).InstanceType), people(cloud(n.Node).Zone),
			people(labelsText(n.Labels)), people(n.Facts.Agent),
		}
		row = append(row, factCells(n.Node)...)
		t.Add(append(row, doc.Of(string(n.Status)), timeCell(n.Heard), doc.Of(string(n.Task)))...)
	}
	d := listing(t, "No nodes have joined. `scalebench token` makes a token with which `scalebench agent` joins.")
	if !served && len(nodes) > 0 {
		d.Answer = "No server is running here: these nodes were known to the one that has ended. `scalebench server` begins one, which agents join again."
	}
	return d
}

// statusCell says what a node is doing when it is doing something.
func statusCell(n model.NodeInfo) doc.Cell {
	switch {
	case n.Status == model.NodeAlive && n.Task != "":
		return doc.Of(nil, "working").As(doc.Good)
	case n.Status == model.NodeSlow:
		return doc.Of(nil, "slow").As(doc.Note)
	case !n.Status.Up():
		return doc.Of(nil, string(n.Status)).As(doc.Bad)
	}
	return doc.Of(nil, string(n.Status))
}

// factColumns are all facts of a node, for programs.
func factColumns() []doc.Column {
	return doc.ForPrograms(
		"id", "public_key", "labels", "hostname", "addresses", "os", "kernel", "arch", "cpu_model", "cores",
		"cpu_limit", "microcode", "hypervisor", "memory", "mem_limit", "provider", "instance_type", "zone",
		"instance_id", "agent", "registered", "cores_together",
	)
}

func factCells(n model.Node) []doc.Cell {
	f, c := n.Facts, cloud(n)
	return append(doc.Values(
		string(n.ID), n.PublicKey, labelsText(n.Labels), f.Hostname, strings.Join(f.Addresses, " "), f.OS,
		f.Kernel, f.Arch, f.CPUModel, known(f.Cores), known(f.CPULimit), f.Microcode, f.Hypervisor,
		known(f.Memory), known(f.MemLimit), c.Provider, c.InstanceType, c.Zone, c.InstanceID, f.Agent,
	), timeCell(n.Registered), doc.Of(known(f.CoresTogether)))
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

// fact is one thing that nodes say about themselves, by which they may differ.
type fact struct {
	label string
	of    func(model.Node) string
	// matters says that a difference can explain a difference in capacity.
	matters bool
}

// factsOf are the facts that are shown, with the labels that the user gave,
// which differ on purpose.
func factsOf(nodes []model.Node) []fact {
	out := []fact{
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
	out = append(out, fact{"start-up", startupText, false})
	keys := make(map[string]bool)
	for _, n := range nodes {
		for k := range n.Labels {
			keys[k] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, fact{"label " + k, func(n model.Node) string { return n.Labels[k] }, false})
	}
	return out
}

// startupText is how long the node took to come up, the last time; empty if no
// fleet was asked for it.
func startupText(n model.Node) string {
	if len(n.Startups) == 0 {
		return ""
	}
	return num.Seconds(n.Startups[len(n.Startups)-1].Took.Seconds())
}

// values counts how many nodes have each value of a fact.
func (f fact) values(nodes []model.Node) map[string]int {
	out := make(map[string]int)
	for _, n := range nodes {
		out[f.of(n)]++
	}
	return out
}

// differText names the facts by which nodes differ, "" when they are alike.
func differText(nodes []model.Node) string {
	var by []string
	for _, f := range factsOf(nodes) {
		if f.matters && len(f.values(nodes)) > 1 {
			by = append(by, f.label)
		}
	}
	if len(by) == 0 {
		return ""
	}
	return "The nodes are not alike: they differ in " + strings.Join(by, ", ")
}

// nodesSection splits what the nodes say: what all have in common is said once,
// the rest is a table in which the exceptions are marked.
func nodesSection(nodes []model.Node) doc.Section {
	s := doc.Section{ID: "nodes", Title: "On what"}
	var differ []fact
	var same []doc.Field
	for _, f := range factsOf(nodes) {
		switch v := f.of(nodes[0]); {
		case len(f.values(nodes)) > 1:
			differ = append(differ, f)
		case v != "":
			same = append(same, doc.Field{Label: f.label, Text: v})
		}
	}
	if len(same) > 0 {
		s.Intro = "The same on every node:"
		s.Blocks = append(s.Blocks, doc.Block{Fields: same})
	}
	s.Blocks = append(s.Blocks, doc.Block{Table: nodesTable(nodes, differ)})
	note := "The copied table has all facts."
	if differText(nodes) != "" {
		note = "Marked values differ from what most nodes have. " + note
	}
	s.Blocks = append(s.Blocks, doc.Remark(note))
	return s
}

func nodesTable(nodes []model.Node, differ []fact) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "number", Head: "#", Right: true, For: doc.People}, {Key: "node", Head: "node", For: doc.People}, {Key: "address", Head: "address", For: doc.People},
	}}
	usual := make([]string, len(differ))
	for i, f := range differ {
		t.Columns = append(t.Columns, doc.Column{Key: f.label, Head: f.label, For: doc.People})
		for v, k := range f.values(nodes) {
			if f.matters && 2*k > len(nodes) {
				usual[i] = v
			}
		}
	}
	t.Columns = append(t.Columns, factColumns()...)
	for k, n := range nodes {
		row := []doc.Cell{doc.Of(nil, strconv.Itoa(k+1)), doc.Of(nil, string(n.ID)), doc.Of(nil, firstAddress(n))}
		for i, f := range differ {
			c := doc.Of(nil, cmp.Or(f.of(n), "not known"))
			if usual[i] != "" && f.of(n) != usual[i] {
				c = c.As(doc.Note)
			}
			row = append(row, c)
		}
		t.Add(append(row, factCells(n)...)...)
	}
	return t
}
