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
		{Key: "node", Head: "node", Wrap: leastName}, column("doing", "status"), {Key: "address", Head: "address", Spare: 6},
		{Key: "cpu", Head: "CPU", Wrap: leastName, Spare: 5}, {Key: "cores_of", Head: "cores", Right: true, Spare: 8},
		{Key: "memory_of", Head: "memory", Right: true, Spare: 7}, {Key: "kernel_of", Head: "kernel", Spare: 2},
		{Key: "type", Head: "type", Spare: 4}, {Key: "zone_of", Head: "zone", Spare: 3},
		{Key: "label", Head: "labels", Wrap: leastName, Spare: 9}, {Key: "agent_of", Head: "agent", Spare: 1},
	}, OneLine: true}
	for i := range t.Columns {
		t.Columns[i].For = doc.People
	}
	t.Columns = slices.Concat(t.Columns, factColumns(), doc.ForPrograms("status", "heard", "task"))
	for _, n := range nodes {
		row := []doc.Cell{
			people(n.ID), statusCell(n), people(firstAddress(n.Node)), people(n.Facts.CPUModel), people(coresText(n.Facts)),
			people(memoryText(n.Facts)), people(n.Facts.Kernel), people(cloud(n.Node).InstanceType), people(cloud(n.Node).Zone),
			people(labelsText(n.Node)), people(n.Facts.Agent),
		}
		row = append(row, factCells(n.Node)...)
		t.Add(append(row, doc.Of(string(n.Status)), timeCell(n.Heard), doc.Of(string(n.Task)))...)
	}
	d := Listing(t, "No nodes have joined. `scalebench token` makes a token with which `scalebench agent` joins.")
	if !served && len(nodes) > 0 {
		d.Answer = "No server is running here: these nodes were known to the one that has ended. `scalebench server` begins one, which agents join again."
	}
	return d
}

// statusCell says what a node is doing when it is doing something.
func statusCell(n model.NodeInfo) doc.Cell {
	word, tone := string(n.Status), doc.Tone("")
	switch {
	case n.Status == model.NodeAlive && n.Task != "":
		word, tone = "working", doc.Good
	case n.Status == model.NodeSlow:
		tone = doc.Note
	case !n.Status.Up():
		tone = doc.Bad
	}
	return people(word).As(tone)
}

// factColumns are all facts of a node, for programs.
func factColumns() []doc.Column {
	return doc.ForPrograms(strings.Fields(`id public_key labels hostname addresses os kernel arch cpu_model cores
		cpu_limit microcode hypervisor memory mem_limit provider instance_type zone
		instance_id agent registered cores_together`)...)
}

func factCells(n model.Node) []doc.Cell {
	f, c := n.Facts, cloud(n)
	return append(doc.Values(
		string(n.ID), n.PublicKey, labelsText(n), f.Hostname, strings.Join(f.Addresses, " "), f.OS,
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

// pairs are names with their values, sorted: "disk=ssd", "rack=4".
func pairs(of map[string]string) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, k+"="+of[k])
	}
	return out
}

func labelsText(n model.Node) string { return strings.Join(pairs(n.Labels), ", ") }

// fact is one thing that nodes say about themselves, by which they may differ.
type fact struct {
	label  string
	values []string // of each node
	// matters says that a difference can explain a difference in capacity.
	matters bool
}

// factsOf are the facts that are shown, with the labels that the user gave,
// which differ on purpose.
func factsOf(nodes []model.Node) []fact {
	var out []fact
	for _, label := range []string{"CPU model", "cores", "memory", "microcode", "kernel", "operating system",
		"architecture", "hypervisor", "provider", "instance type", "zone", "agent"} {
		out = append(out, fact{label: label, matters: true})
	}
	out = append(out, fact{label: "start-up"})
	labels := make(map[string]string)
	for _, n := range nodes {
		maps.Copy(labels, n.Labels)
	}
	keys := slices.Sorted(maps.Keys(labels))
	for _, k := range keys {
		out = append(out, fact{label: "label " + k})
	}
	for _, n := range nodes {
		f, c := n.Facts, cloud(n)
		values := []string{f.CPUModel, coresText(f), memoryText(f), f.Microcode, f.Kernel, f.OS,
			f.Arch, f.Hypervisor, c.Provider, c.InstanceType, c.Zone, f.Agent, startupText(n)}
		for _, k := range keys {
			values = append(values, n.Labels[k])
		}
		for i, v := range values {
			out[i].values = append(out[i].values, v)
		}
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

// counts tells how many nodes have each value of a fact.
func (f fact) counts() map[string]int {
	out := make(map[string]int)
	for _, v := range f.values {
		out[v]++
	}
	return out
}

// differText names the facts by which nodes differ, "" when they are alike.
func differText(nodes []model.Node) string {
	var by []string
	for _, f := range factsOf(nodes) {
		if f.matters && len(f.counts()) > 1 {
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
		switch v := f.values[0]; {
		case len(f.counts()) > 1:
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
		for v, k := range f.counts() {
			if f.matters && 2*k > len(nodes) {
				usual[i] = v
			}
		}
	}
	t.Columns = append(t.Columns, factColumns()...)
	for k, n := range nodes {
		row := []doc.Cell{people(strconv.Itoa(k + 1)), people(n.ID), people(firstAddress(n))}
		for i, f := range differ {
			c := people(cmp.Or(f.values[k], "not known"))
			if usual[i] != "" && f.values[k] != usual[i] {
				c = c.As(doc.Note)
			}
			row = append(row, c)
		}
		t.Add(append(row, factCells(n)...)...)
	}
	return t
}
