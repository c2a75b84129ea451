package microbench

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// Section is the part of a page about nodes and connections.
func Section(switches []Switch, network []Network) doc.Section {
	s := doc.Section{ID: "nodes", Title: "Nodes and network", Intro: "Each node, or pair of nodes, by itself, without services."}
	if len(switches) > 0 {
		s.Blocks = append(s.Blocks, switchesFigure(switches), doc.Block{Table: switchesTable(switches)})
	}
	if len(network) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Table: networkTable(network)})
		if slices.ContainsFunc(network, func(n Network) bool { return len(n.Messages) > 0 }) {
			s.Blocks = append(s.Blocks, messagesFigure(network))
		}
	}
	return s
}

// switchesFigure is the cost of a switch against threads, a line for each platform, or
// for each node of the only one (fig. 5a of the n-tier paper).
func switchesFigure(all []Switch) doc.Block {
	name := func(s Switch) string { return string(s.Node) }
	if slices.ContainsFunc(all, func(s Switch) bool { return s.Platform != all[0].Platform }) {
		name = func(s Switch) string { return cmp.Or(s.Platform, "others") }
	}
	if slices.ContainsFunc(all, func(s Switch) bool { return s.Workload != all[0].Workload }) {
		of := name
		name = func(s Switch) string { return of(s) + ", " + s.Workload }
	}
	var lines []chart.Curve
	for _, s := range all {
		if slices.ContainsFunc(lines, func(l chart.Curve) bool { return l.Name == name(s) }) {
			continue
		}
		l := chart.Curve{Name: name(s)}
		for _, x := range Mean(all, func(x Switch) bool { return name(x) == l.Name }) {
			l.Add(x.Threads, &x.Cost)
		}
		lines = append(lines, l)
	}
	const title = "What a context switch costs, against the number of threads"
	x, y := chart.Axis{Kind: chart.Log, Label: "threads", Whole: true}, chart.Axis{Label: "processor time of a switch", Unit: "s"}
	return doc.Plot(title, chart.Cut(lines), chart.Curves(title, x, y, lines)).On(doc.Page)
}

// switchesTable is a row for each node, with a column for each number of threads.
func switchesTable(all []Switch) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("workload", "workload"), doc.Label("platform", "platform"),
		doc.Label("node", "node")}}
	var counts []int
	for _, s := range all {
		counts = append(counts, s.Threads)
	}
	slices.Sort(counts)
	counts = slices.Compact(counts)
	for _, n := range counts {
		t.Columns = append(t.Columns, doc.Interval(fmt.Sprintf("threads_%d", n), num.Count(n, "thread")+"\n[95 %]"))
	}
	same := func(a, b Switch) bool { return a.Node == b.Node && a.Run == b.Run && a.Workload == b.Workload }
	for i, s := range all {
		if i > 0 && same(s, all[i-1]) {
			continue
		}
		cells := []doc.Cell{doc.Say(s.Workload), doc.Say(s.Platform), doc.Say(string(s.Node))}
		for _, n := range counts {
			cell := doc.Of(nil, num.Missing)
			for _, x := range all[i:] {
				if same(x, s) && x.Threads == n {
					cell = doc.Ranged(&x.Cost, x.CI, func(ns float64) string { return num.Seconds(ns / 1e9) })
				}
			}
			cells = append(cells, cell)
		}
		t.Add(cells...)
	}
	return t
}

// messagesFigure is the round trip over the size of a message, a line for each connection.
func messagesFigure(all []Network) doc.Block {
	var lines []chart.Curve
	for _, n := range all {
		l := chart.Curve{Name: string(n.Subject)}
		if slices.ContainsFunc(all, func(x Network) bool { return x.Workload != n.Workload }) {
			l.Name += ", " + n.Workload
		}
		for _, m := range n.Messages {
			l.Add(float64(m.Size), &m.RTT)
		}
		lines = append(lines, l)
	}
	const title = "Round trips of messages while nothing else is sent, against their size"
	x := chart.Axis{Kind: chart.Log, Label: "size of a message", Unit: "byte", Whole: true}
	y := chart.Axis{Kind: chart.Log, Label: "median round trip", Unit: "s"}
	return doc.Plot(title, chart.Cut(lines), chart.Curves(title, x, y, lines)).On(doc.Page)
}

// networkTable is a row for each workload, and node or pair of nodes.
func networkTable(all []Network) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("workload", "workload"), doc.Label("platform", "platform"), doc.Label("subject", "between"),
		doc.Interval("received", "received\n[95 %]"), doc.Interval("sent", "sent\n[95 %]"),
		doc.Interval("rtt_idle", "round trip,\nidle [95 %]"),
		doc.Interval("rtt_loaded", "while full,\nmedian [95 %]"), doc.Interval("rtt_loaded_p99", "p99 [95 %]"),
		doc.Interval("retransmits", "sent again\n[95 %]", "segments in a trial"),
	}}
	carried := func(v float64) string { return num.For("byte/s", v).Value(v, 0) }
	count := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	for _, n := range all {
		t.Add(doc.Say(n.Workload), doc.Say(n.Platform), doc.Say(string(n.Subject)), doc.Ranged(n.Received, n.ReceivedCI, carried), doc.Ranged(n.Sent, n.SentCI, carried),
			doc.Ranged(n.Idle, n.IdleCI, num.Seconds), doc.Ranged(n.Loaded, n.LoadedCI, num.Seconds), doc.Ranged(n.Tail, n.TailCI, num.Seconds), doc.Ranged(n.Retransmits, n.RetransmitsCI, count))
	}
	return t
}
