package render

import (
	"math"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
)

// gallery is a document with every kind of block, and with texts from outside
// that try to be more than text.
func gallery() *doc.Document {
	return &doc.Document{
		Title: "Gallery of <b>blocks</b>",
		About: []doc.Field{
			{Text: "incomplete", Tone: doc.Bad}, {Text: "01KJ2Q8Z7V3N5XW9T4B6C8D0EF"},
			{Label: "started", Text: "2026-03-14 09:26:53 UTC"}, {Label: "reason", Text: "1 step has no valid attempt", Tone: doc.Bad},
		},
		Answer:  "3 of 5 metrics degrade when nodes work at once. The worst is cpu int_ops: with 4 nodes, each node loses 75.1 % of its capacity (95 % interval 74.2 to 76.0 %).",
		More:    []string{"Together the 4 nodes do the work of 1.0 node."},
		Verdict: doc.Tag{Word: "degraded", Tone: doc.Bad},
		Warnings: []doc.Warning{
			{Text: "overlap is 79 %, below 90 %: fast nodes finished early, so the parallel capacity over whole tasks is overstated; the common window is used",
				Links: []doc.Link{{Href: "#m0", Text: "raid0 write"}}},
			{Text: "3 nodes or fewer in a group", Links: []doc.Link{
				{Href: "#m1", Text: "network throughput"}, {Href: "#m2", Text: "memory triad"}, {Href: "#gone", Text: "disk read"}, {Href: "javascript:alert(1)", Text: "cpu"}}},
			{Text: "node \x1b[31mn1\u202e said | `no` *thanks* <script>alert(1)</script>"},
		},
		Sections: []doc.Section{gallerySummary(), galleryTables(), galleryFigures(), galleryRest(),
			{Title: "Empty", Intro: "It has a table without rows.", Blocks: []doc.Block{{Table: &doc.Table{Columns: []doc.Column{{Key: "a", Head: "a"}}}}}},
			{Title: "For pages", Show: doc.Page, Intro: "A section may be an introduction alone."},
		},
		Footer: "Made by scalebench v0.1.0 on 2026-03-15. This page is self-contained and loads nothing.",
	}
}

func gallerySummary() doc.Section {
	lo, hi, least := 0.0, 100.0, -100.0
	return doc.Section{
		ID: "overview", Title: "Capacity degradation",
		Intro: "How much less each node does when all work at once than when it works alone. 0 % is perfect scaling.",
		Blocks: []doc.Block{doc.Plot("", "", chart.Chart{
			Title: "Capacity degradation of every metric",
			X:     chart.Axis{Unit: "%", Lo: &lo, Hi: &hi, Min: &least},
			Y: chart.Axis{Kind: chart.Rows, Rows: []chart.Row{
				{Name: "raid0", Sub: "write", Href: "#m0", Value: "49.8 %", Note: "[36.5, 63.1]", Tag: "degraded", Role: chart.Bad, More: []string{"20 nodes do the work of 10.0 nodes."}},
				{Name: "network", Sub: "throughput", Href: "#m1", Value: "-8.2 %", Note: "[-9.3, -7.1]", Tag: "gain", Role: chart.Better},
				{Name: "memory", Sub: "triad", Value: "0.1 %", Note: "[-2.0, 2.2]", Tag: "none", Role: chart.Faint},
				{Name: "memory", Sub: "latency", Value: "n/a", Tag: "unknown", Role: chart.Unknown},
			}},
			Layers: []chart.Layer{
				{Mark: chart.Bar, X: chart.Values{49.8, -8.2, 0.1}, Y: chart.Values{0, 1, 2}, Roles: []chart.Role{chart.Bad, chart.Better, chart.Faint}},
				{Mark: chart.Bar, Role: chart.Unknown, X: chart.Values{0}, X2: chart.Values{100}, Y: chart.Values{3}},
				{Mark: chart.Rule, Role: chart.Interval, Name: "95 % interval", X: chart.Values{36.5, -9.3, -2}, X2: chart.Values{63.1, -7.1, 2.2}, Y: chart.Values{0, 1, 2}},
				{Mark: chart.Point, Role: chart.Interval, Hollow: []bool{true}, Name: "single trials", X: chart.Values{40, 55, math.NaN()}, Y: chart.Values{0}},
			},
		})},
	}
}

func galleryTables() doc.Section {
	findings := &doc.Table{
		Columns: []doc.Column{
			{Key: "workload", Head: "workload"}, {Key: "metric", Head: "metric"},
			{Key: "nodes", Head: "nodes", Right: true},
			{Key: "unit", For: doc.Programs},
			{Key: "serial", Head: "serial mean ±SD\n[min .. max]", Right: true},
			{Key: "parallel", Head: "parallel mean ±SD\n[min .. max]", Right: true},
			{Key: "total", Head: "total", Right: true, Tip: "sum over all that worked at once"},
			{Key: "cdi", Head: "CDI\n[95 %]", Right: true, Interval: true, Tip: "capacity degradation index with its 95 % interval"},
			{Key: "verdict", Head: "verdict"},
			{Key: "overlap", Head: "overlap", Right: true},
			{Key: "skew_ms", Head: "skew", Right: true},
		},
		Stack: [][]string{{"overlap", "skew_ms"}, {"workload", "metric", "nodes"}, {"parallel", "total"}, {"verdict", "overlap"}},
	}
	findings.Add(doc.Say("raid0"), doc.Say("write").To("#m0"), doc.Of(20, "20"), doc.Say("byte/s"), doc.Of(957.1e6, "957 ±18 MB/s", "[914 .. 984]"),
		doc.Of(480.7e6, "481 ±266 MB/s", "[232 .. 1014]"), doc.Of(9613e6, "9613 MB/s"),
		doc.Of(49.7767, "49.8 %", "[36.5, 63.1]").Within(36.53, 63.11).As(doc.Strong), doc.Say("degraded").As(doc.Bad), doc.Of(.797, "79.7 %"), doc.Of(1.73, "1.73 ms"))
	findings.AddMore(doc.Of(nil), doc.Of(nil, "on whole tasks").As(doc.Faint), doc.Of(nil), doc.Of(nil), doc.Of(nil),
		doc.Of(nil, "500 ±276 MB/s").As(doc.Faint), doc.Of(nil, "9998 MB/s").As(doc.Faint), doc.Of(nil, "47.8 %").As(doc.Faint), doc.Of(nil), doc.Of(nil), doc.Of(nil))
	findings.Add(doc.Say("network"), doc.Say("throughput").To("#m1"), doc.Of(6, "6"), doc.Say("byte/s"), doc.Of(1.102e9, "1.102 ±0.006 GB/s", "[1.092 .. 1.110]"),
		doc.Of(1.193e9, "1.193 ±0.009 GB/s", "[1.174 .. 1.203]"), doc.Of(7.16e9, "7.16 GB/s"),
		doc.Of(-8.23, "-8.2 %", "[-9.3, -7.1]").Within(-9.3, -7.1).As(doc.Strong), doc.Say("gain").As(doc.Gain), doc.Of(.997, "99.7 %"), doc.Of(.998, "998 µs"))
	findings.Add(doc.Say("memory"), doc.Say("latency"), doc.Of(4, "4"), doc.Say("s"), doc.Of(92.03e-9, "92.03 ±0.99 ns", "[90.33 .. 92.71]"),
		doc.Of(91.9e-9, "91.9 ±1.6 ns", "[89.4 .. 93.4]"), doc.Of(368e-9, "368 ns"),
		doc.Of(math.NaN(), "n/a").Within(math.Inf(-1), math.Inf(1)), doc.Say("unknown").As(doc.Doubt), doc.Of(nil, "n/a"), doc.Of(.781, "781 µs"))
	events := &doc.Table{Columns: []doc.Column{
		{Key: "time", Head: "time"}, {Key: "severity", Head: "severity"}, {Key: "node", Head: "node"}, {Key: "text", Head: "text", Wrap: 30},
	}}
	events.Add(doc.Of("2026-03-14T09:28:23Z", "2026-03-14 09:28:23 UTC"), doc.Say("problem").As(doc.Bad), doc.Say("n7"),
		doc.Say("=not heard of for 10 s, although the lease of the node had been renewed by the agent twice since the step began; its tasks are given up"))
	events.Add(doc.Of("2026-03-14T09:28:28Z", "2026-03-14 09:28:28 UTC"), doc.Say("warning").As(doc.Note), doc.Say(""), doc.Say("step 42 is tried again (2 of 3)"))
	spread := &doc.Table{Columns: []doc.Column{{Key: "level", Head: "COV between the means of"}, {Key: "a", Head: "zone a", Right: true}, {Key: "b", Head: "zone b", Right: true}}}
	spread.Add(doc.Say("hours of the day"), doc.Of(.017, ".017"), doc.Of(.213, ".213").As(doc.Notable))
	spread.Add(doc.Say("days"), doc.Of(.404, ".404").As(doc.High), doc.Of(.2, ".200"))
	return doc.Section{ID: "numbers", Title: "All numbers", Blocks: []doc.Block{
		{Table: findings},
		doc.Remark("SD is the population standard deviation over nodes."),
		{Table: events},
		{Table: spread},
	}}
}

func galleryFigures() doc.Section {
	rows := []chart.Row{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}, {Name: "n4"}}
	panel := func(role chart.Role, title string, values chart.Values, mean float64) doc.Panel {
		return doc.Panel{Title: title, Words: "mean and ± one SD", Role: role, Chart: chart.Chart{
			Title: "Capacity of every node, " + string(role), X: chart.Axis{Kind: chart.Rows, Rows: rows}, Y: chart.Axis{Unit: "op/s"},
			Layers: []chart.Layer{
				{Mark: chart.Band, Role: role, Y: chart.Values{mean * .97}, Y2: chart.Values{mean * 1.03}},
				{Mark: chart.Point, Role: role, Name: title, X: chart.Values{0, 1, 2, 3}, Y: values},
				{Mark: chart.Rule, Role: role, Y: chart.Values{mean}},
			},
		}}
	}
	rates := chart.Chart{Title: "Throughput over time", X: chart.Axis{Label: "time since the start", Unit: "s"}, Y: chart.Axis{Unit: "op/s"},
		Layers: []chart.Layer{
			{Mark: chart.Line, Name: "n1 <i>", Role: chart.Series(0), X: chart.Values{0, 1, 2, 3}, Y: chart.Values{0, 3e6, 3.1e6, math.NaN()}},
			{Mark: chart.Line, Name: "n2", Role: chart.Series(1), X: chart.Values{0, 1, 2, 3}, Y: chart.Values{0, 2.8e6, 3e6, 3.1e6}},
		}}
	metric := doc.Section{
		ID: "m0", Title: "int_ops", Tag: doc.Tag{Word: "degraded", Tone: doc.Bad}, Words: "CDI 75.1 % [74.2, 76.0]",
		Blocks: []doc.Block{
			doc.Cautions([]string{"capacities are bimodal: read the bootstrap interval rather than Fieller's"}),
			{Figure: &doc.Figure{Columns: 2, Note: "One mark per node. Line: mean; band: ± one population SD.", Panels: []doc.Panel{
				panel(chart.Serial, "Serial: one node at a time", chart.Values{12.24e6, 12.43e6, 12.5e6, 12.2e6}, 12.34e6),
				panel(chart.Parallel, "Parallel: all nodes at once", chart.Values{3.05e6, 3.08e6, 2.6e6, 3.4e6}, 3.03e6),
			}}},
			{Fields: []doc.Field{{Label: "nodes", Text: "4"}, {Label: "total, all at once", Text: "12.3 Mop/s"}, {Label: "overlap", Text: "99.6 %", Tone: doc.Good}}},
			{Fold: &doc.Fold{ID: "pairs", Title: "Every node's values", Words: "4 in all", Blocks: []doc.Block{doc.Para("Closed folds are left out on a terminal.")}}},
		},
	}
	return doc.Section{Kind: "Workload", Title: "cpu", Blocks: []doc.Block{
		{Part: &metric},
		{Part: &doc.Section{ID: "m1", Title: "Over time", Blocks: []doc.Block{doc.Plot("Throughput over time", "op/s per node", rates)}}},
	}}
}

func galleryRest() doc.Section {
	return doc.Section{ID: "rest", Title: "Texts", Blocks: []doc.Block{
		{Text: &doc.Text{Text: "The server takes 7.09 kop/s: passed at 7.055 kop/s, failed at 7.132 kop/s; 95 % interval 7.01 to 7.16 kop/s.", Tone: doc.Strong}},
		doc.Para("- a paragraph that looks like a list, with an \x1b[2J escape sequence, | pipes | and <b>markup</b> & entities &lt;"),
		{List: &doc.List{Items: []string{"network: the sum stays at 300 Mbit/s", "1. cpu"}}},
		{List: &doc.List{Items: []string{"Object storage was not measured."}, Tone: doc.Doubt}},
		{Code: &doc.Code{Text: "fleet: {local: 4}\n\tworkloads: ```\n<b>&amp;\x1b[31m\r\n"}},
		doc.Para("only on a page").On(doc.Page), doc.Para("only on a terminal").On(doc.Terminal),
		{Fold: &doc.Fold{Title: "Open", Words: "shown everywhere", Open: true, Blocks: []doc.Block{{Fields: []doc.Field{
			{Label: "CDI", Text: "Capacity degradation index: 100 · (1 − mean parallel capacity / mean serial capacity), in percent. 75 % means that a node does a quarter of what it does alone."},
			{Label: "Worth", Text: "n · (1 − CDI / 100): how many nodes without degradation would do the same work."},
		}}}}},
	}}
}
