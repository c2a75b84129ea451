package chart

import (
	"fmt"
	"math"
	"strconv"
)

// The figures of scalebench, declared: examples for the documents of studies.
// The tests draw each of them.

// gallery is every figure by its name; panels of one belong together.
func gallery() map[string]File {
	return map[string]File{
		"overview":   {Title: "Capacity degradation", Panels: []Chart{overview()}, Note: "Whiskers: 95 % interval; circles: single trials."},
		"nodes":      {Title: "int_ops", Titles: []string{"Serial: one node at a time", "Parallel: all nodes at once"}, Columns: 2, Panels: nodes()},
		"growth":     {Title: "How the total grows: throughput", Panels: []Chart{growth()}},
		"timeline":   {Title: "Trial 1", Titles: []string{"start after the first", "at work", "end before the last"}, Columns: 5, Panels: timeline(5)},
		"many":       {Title: "Trial of 70 nodes", Titles: []string{"start after the first", "at work", "end before the last"}, Columns: 5, Panels: timeline(70)},
		"rates":      {Title: "Throughput over time: int_ops", Panels: []Chart{rates(3)}},
		"rates-many": {Title: "Throughput over time: int_ops", Panels: []Chart{rates(12)}},
		"host":       {Title: "Disk writes", Titles: []string{"serial", "parallel"}, Columns: 2, Panels: []Chart{host(), host()}},
		"host-stack": {Title: "CPU by kind, mean of the nodes", Panels: []Chart{hostStack()}},
		"plan":       {Title: "Demand against capacity", Panels: []Chart{plan()}},
		"course":     {Title: "The search over time", Panels: course()},
		"boundary":   {Title: "How often each load was tried", Panels: []Chart{boundary()}},
		"heat":       {Title: "Latency by load and percentile", Words: "In ms, of all operations due.", Panels: []Chart{heat()}},
		"boxes":      {Title: "Capacity of three targets", Panels: []Chart{boxes()}},
		"boxes-far":  {Title: "Capacity of targets that are far apart", Panels: []Chart{boxesFarApart()}},
		"sketch":     {Title: "Loads of a search", Panels: []Chart{sketch()}},

		"series":       {Title: "Every value over time, by zone", Panels: []Chart{series(1400)}},
		"series-many":  {Title: "Very many values over time, by zone", Panels: []Chart{series(200_000)}},
		"changes":      {Title: "Change points", Panels: []Chart{changes()}},
		"histogram":    {Title: "Distribution, and the bands in it", Panels: []Chart{histogram()}},
		"summaries":    {Title: "By zone", Panels: []Chart{summaries()}},
		"week-even":    {Title: "COV by hour and weekday", Panels: []Chart{week()}},
		"repetitions":  {Title: "The interval against repetitions", Panels: []Chart{repetitions()}},
		"daylight":     {Title: "The night in which the clock was turned", Panels: []Chart{daylight()}},
		"scatter-both": {Title: "One metric against another", Panels: []Chart{against()}},
	}
}

func ptr(v float64) *float64 { return &v }

var nan = math.NaN()

// overview: one row a metric, a bar from 0 to its CDI, the interval as a
// whisker, trials as circles. What is unknown is hatched over the whole axis.
func overview() Chart {
	return Chart{
		Title: "Capacity degradation of every metric",
		X:     Axis{Unit: "%", Lo: ptr(0), Hi: ptr(100), Min: ptr(-100)},
		Y: Axis{Kind: Rows, Rows: []Row{
			{Name: "raid0", Sub: "write", Href: "#m0", Value: "49.8 %", Note: "[36.5, 63.1]", Tag: "degraded", Role: Bad},
			{Name: "network", Sub: "throughput", Href: "#m1", Value: "-8.2 %", Note: "[-9.3, -7.1]", Tag: "gain", Role: Better},
			{Name: "memory", Sub: "triad", Href: "#m2", Value: "0.1 %", Note: "[-2.0, 2.2]", Tag: "none", Role: Faint},
			{Name: "cpu", Sub: "int_ops", Href: "#m3", Value: "75.1 %", Note: "[74.2, 76.0]", Tag: "degraded", Role: Bad},
			{Name: "memory", Sub: "latency", Href: "#m4", Value: "n/a", Tag: "unknown", Role: Unknown},
		}},
		Layers: []Layer{
			{Mark: Bar, X: Values{49.8, -8.2, 0.1, 75.1}, Y: Values{0, 1, 2, 3}, Roles: []Role{Bad, Better, Faint, Bad},
				Tips: []string{"CDI 49.8 %, 95 % interval [36.5, 63.1], verdict degraded", "CDI -8.2 %, …", "CDI 0.1 %, …", "CDI 75.1 %, …"}},
			{Mark: Bar, Role: Unknown, X: Values{0}, X2: Values{100}, Y: Values{4}},
			{Mark: Label, X: Values{50}, Y: Values{4}, Text: []string{"unknown"}},
			{Mark: Rule, Role: Interval, Name: "95 % interval", X: Values{36.5, -9.3, -2, 74.2}, X2: Values{63.1, -7.1, 2.2, 76}, Y: Values{0, 1, 2, 3}},
			{Mark: Point, Role: Interval, Hollow: []bool{true}, Name: "single trials", X: Values{40, 55, 48}, Y: Values{0},
				Tips: []string{"trial 1 alone: 40.0 %", "trial 2 alone: 55.0 %", "trial 3 alone: 48.0 %"}},
		},
	}
}

// nodes: serial and parallel beside each other; panels share the y axis
// because kind, label and unit of it are the same.
func nodes() []Chart {
	rows := []Row{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}, {Name: "n4"}}
	place := Values{0, 1, 2, 3}
	panel := func(role Role, values, whole Values, mean, sd float64) Chart {
		c := Chart{
			Title: "Capacity of every node, " + string(role), Height: 200,
			X: Axis{Kind: Rows, Rows: rows}, Y: Axis{Unit: "op/s"},
			Layers: []Layer{
				{Mark: Band, Role: role, Y: Values{mean - sd}, Y2: Values{mean + sd}},
				{Mark: Rule, Role: role, X: place, Y: Values{0}, Y2: values},
			},
		}
		if whole != nil {
			c.Layers = append(c.Layers,
				Layer{Mark: Rule, Role: Reference, Y: Values{12.34e6}, Text: []string{"serial mean"}},
				Layer{Mark: Point, Role: role, X: place, Y: whole, Hollow: []bool{true, true, true, true}, Tips: []string{"n1, whole task: 3.2 Mop/s", "", "", ""}})
		}
		c.Layers = append(c.Layers,
			Layer{Mark: Point, Role: role, X: place, Y: values, Tips: []string{"n1: 3.067 Mop/s", "n2: …", "n3: …", "n4: …"}},
			Layer{Mark: Rule, Role: role, Y: Values{mean}})
		return c
	}
	return []Chart{
		panel(Serial, Values{12.24e6, 12.43e6, 12.5e6, 12.2e6}, nil, 12.34e6, 0.1e6),
		panel(Parallel, Values{3.05e6, 3.08e6, 2.6e6, 3.4e6}, Values{3.17e6, 3.2e6, 2.9e6, 3.5e6}, 3.03e6, 0.28e6),
	}
}

// growth: the fitted curve with its cap, the ideal line cut off at twice the
// largest total, trials as points, their mean as a short rule.
func growth() Chart {
	return Chart{
		Title: "How the total grows", Height: 240,
		X: Axis{Label: "nodes at work", Whole: true, Hi: ptr(8.48), Tight: true},
		Y: Axis{Unit: "B/s", Hi: ptr(640e6 * 1.05), Max: ptr(640e6 * 1.05)},
		Layers: []Layer{
			{Mark: Line, Role: Reference, X: Values{0, 8.48}, Y: Values{0, 8.48 * 110e6}},
			{Mark: Rule, Role: Limit, Y: Values{310e6}, Text: []string{"the total stays at 310 MB/s"}},
			{Mark: Line, Role: Parallel, X: Values{0, 310. / 110, 8.48}, Y: Values{0, 310e6, 310e6}},
			{Mark: Label, Role: Reference, X: Values{4.2}, Y: Values{4.2 * 110e6}, Text: []string{"ideal"}, Place: Left},
			{Mark: Rule, Role: Parallel, X: Values{1.92, 3.92, 7.92}, X2: Values{2.08, 4.08, 8.08}, Y: Values{217e6, 309e6, 311e6}},
			{Mark: Point, Role: Serial, X: Values{1}, Y: Values{110e6}, Tips: []string{"1 node: 110 MB/s"}},
			{Mark: Point, Role: Parallel, X: Values{2, 2, 4, 4, 8, 8}, Y: Values{215e6, 219e6, 301e6, 317e6, 309e6, 313e6},
				Tips: []string{"2 nodes, trial 1: 215 MB/s"}},
		},
	}
}

// timeline: three panels of a figure with five columns, the middle one over
// three. Only the first shows the names.
func timeline(n int) []Chart {
	var rows []Row
	var row, starts, ends, early, late, before Values
	var roles []Role
	for i := range n {
		rows = append(rows, Row{Name: "node-" + strconv.Itoa(i+1)})
		row = append(row, float64(i))
		start, end := float64(i*7%5)*130e-6, 10+float64(i*3%4)*2.3e-3
		starts, ends = append(starts, start), append(ends, end)
		early, late = append(early, max(start-40e-6, 0)), append(late, start+40e-6)
		before = append(before, 10.0069-end)
		roles = append(roles, Parallel)
	}
	roles[n-1] = Unknown // did not end as intended
	y := Axis{Kind: Rows, Dense: true, Rows: rows}
	hidden := y
	hidden.Hidden = true
	return []Chart{
		{Title: "starts", X: Axis{Unit: "s", TickCount: 2}, Y: y, Layers: []Layer{
			{Mark: Rule, Role: Faint, X: early, X2: late, Y: row},
			{Mark: Point, Role: Serial, X: starts, Y: row, Tips: []string{"node-1: 0 s"}},
		}},
		{Title: "when each node was at work", Span: 3, X: Axis{Unit: "s", Tight: true, TickCount: 2}, Y: hidden, Layers: []Layer{
			{Mark: Band, Role: Window, X: Values{520e-6}, X2: Values{10}, Tips: []string{"10.0 s in which all tasks were running"}},
			{Mark: Bar, X: starts, X2: ends, Y: row, Roles: roles, Tips: []string{"node-1: 10.0 s, started 0 s after the first"}},
		}},
		{Title: "ends", X: Axis{Unit: "s", TickCount: 2}, Y: hidden, Layers: []Layer{
			{Mark: Point, Role: Serial, X: before, Y: row},
		}},
	}
}

// rates: steps of every node over common bins, the common window shaded.
func rates(n int) Chart {
	var edges []float64
	for i := range 13 {
		edges = append(edges, float64(i)*10/12)
	}
	var names []string
	var lines [][]float64
	for k := range n {
		names = append(names, fmt.Sprintf("n%d", k+1))
		var line []float64
		for i := range 12 {
			line = append(line, 3e6+2e5*math.Sin(float64(i+3*k)))
		}
		lines = append(lines, line)
	}
	lines[0][5] = nan
	return Chart{
		Title: "Throughput of every node over time", Height: 120,
		X: Axis{Unit: "s", Tight: true}, Y: Axis{Unit: "op/s"},
		Layers: append([]Layer{{Mark: Band, Role: Window, X: Values{0.3}, X2: Values{9.8}, Tips: []string{"9.5 s in which all tasks were running"}}},
			Steps(edges, names, lines)...),
	}
}

// host: a small one of several that share x and y, with the agreed start.
func host() Chart {
	c := rates(2)
	c.Title, c.Height = "Disk writes of the nodes over time", 74
	c.X.Lo, c.X.TickCount = ptr(-1), 4
	c.Layers = append(c.Layers, Layer{Mark: Rule, Role: Faint, X: Values{0}})
	return c
}

// hostStack: bands on each other, the first at the bottom.
func hostStack() Chart {
	from, to := Values{0, 1, 2, 3}, Values{1, 2, 3, 4}
	layer := func(name string, role Role, y ...float64) Layer {
		return Layer{Mark: Band, Name: "CPU: " + name, Role: role, X: from, X2: to, Y2: y, Stack: true}
	}
	return Chart{
		Title: "CPU by kind, mean of the nodes over time", Height: 74,
		X: Axis{Unit: "s", Tight: true, TickCount: 4}, Y: Axis{Unit: "%", Hi: ptr(100)},
		Layers: []Layer{
			layer("user", Series1, 60, 62, 58, 3), layer("system", Series3, 12, 11, 14, 2),
			layer("waiting for I/O", Series5, 4, 9, 3, 1), layer("stolen", Alarm, 2, 5, 9, 0),
		},
	}
}

// plan: demands as shares of the capacity; where a line crosses 100 % it is
// used up. Open marks: the capacity is only a lower bound.
func plan() Chart {
	reach := 250.0
	share := func(at float64) Values { return Values{0, 100 * reach / at} }
	x := Values{0, reach}
	return Chart{
		Title: "Demand against capacity", Height: 260,
		X: Axis{Label: "nodes of the application", Hi: &reach, Max: &reach, Whole: true, TickCount: 6}, Y: Axis{Unit: "%", Hi: ptr(140), Max: ptr(140), TickCount: 7},
		Layers: []Layer{
			{Mark: Band, Role: Series1, X: x, Y: share(125), Y2: share(120)},
			{Mark: Line, Role: Series1, Name: "network.receive: used up by 122.8 nodes, 589.8 jobs/s", X: x, Y: share(122.8)},
			{Mark: Line, Role: Series2, Name: "cpu: all that was measured is used by 200 nodes; it was not shown to be a limit", X: x, Y: share(200)},
			{Mark: Rule, Role: Estimate, Y: Values{100}, Text: []string{"capacity"}, Place: Below},
			{Mark: Rule, Role: Limit, X: Values{125}, Text: []string{"wanted: 125 nodes for 600 jobs/s"}},
			{Mark: Rule, Role: Interval, X: Values{120}, X2: Values{125}, Y: Values{100}},
			{Mark: Point, Roles: []Role{Series1, Series2}, Hollow: []bool{false, true}, X: Values{122.8, 200}, Y: Values{100}, Tips: []string{"network.receive: used up", "cpu: a lower bound"}},
		},
	}
}

// course: load above, latency below, on one axis of time.
func course() []Chart {
	window := func(mark Mark, role Role, name string, from, to, y Values) Layer {
		l := Layer{Mark: mark, Role: role, Name: name, X: from, X2: to, Y: y, Tips: []string{"window …"}}
		if mark == Band {
			l.Y, l.Y2 = Values{0}, y
		}
		return l
	}
	x := Axis{Unit: "s", Tight: true, Lo: ptr(0), Hi: ptr(30), TickCount: 6}
	named := x
	named.Label = "time since the first window began"
	good, bad := [3]Values{{0, 5, 10}, {5, 10, 15}, {100, 400, 1600}}, [3]Values{{15, 20}, {20, 25}, {6400, 3200}}
	pause := Layer{Mark: Rule, Role: Faint, X: Values{20}}
	return []Chart{
		{Title: "The search over time: load offered and answered", Height: 150, X: x, Y: Axis{Unit: "op/s"}, Layers: []Layer{
			window(Band, Good, "", good[0], good[1], good[2]), window(Band, Bad, "", bad[0], bad[1], bad[2]),
			window(Band, Unknown, "", Values{25}, Values{30}, Values{2400}),
			window(Rule, Good, "", good[0], good[1], good[2]), window(Rule, Bad, "", bad[0], bad[1], bad[2]),
			window(Rule, Unknown, "", Values{25}, Values{30}, Values{2400}),
			{Mark: Step, Role: Plain, Name: "answered well, of what was due in that second",
				X: Values{1, 3, 6, 8, 11, 13, 16, 18, 21, 23, 26, 28}, X2: Values{3, 5, 8, 10, 13, 15, 18, 20, 23, 25, 28, 30},
				Y: Values{100, 99, 400, 400, 1600, 1590, 3000, 2500, 2900, 2700, 2300, 2200}},
			pause,
			window(Point, Good, "kept the SLA", Values{2.5, 7.5, 12.5}, nil, good[2]), window(Point, Bad, "missed it", Values{17.5, 22.5}, nil, bad[2]),
			window(Point, Unknown, "says nothing about the target; repeated", Values{27.5}, nil, Values{2400}),
		}},
		{Title: "The search over time: latency", Height: 150, X: named, Y: Axis{Kind: Log, Label: "latency", Unit: "s"}, Layers: []Layer{
			{Mark: Step, Role: Series3, Name: "p50", X: Values{1, 6, 11, 16, 21, 26}, X2: Values{5, 10, 15, 20, 25, 30}, Y: Values{0.0018, 0.002, 0.0021, 0.4, 0.09, 0.03}},
			{Mark: Step, Role: Series4, Name: "p90", X: Values{1, 6, 11, 16, 21, 26}, X2: Values{5, 10, 15, 20, 25, 30}, Y: Values{0.005, 0.006, 0.009, nan, 0.3, 0.1}},
			pause,
			{Mark: Band, Role: Unknown, Place: Above, Name: "more than one in ten did not end well: no p90", X: Values{16}, X2: Values{20}, Tips: []string{"4 steps, the first: half"}},
			{Mark: Rule, Role: Limit, Y: Values{0.15}, Text: []string{"p90 ≤ 150 ms"}, Place: Left},
		}},
	}
}

// boundary: one mark a window, stacked at its load, those that passed above
// the line. The x axis is declared to have room around what was found; loads
// beyond it are left out.
func boundary() Chart {
	return Chart{
		Title: "How often each load near the boundary was tried", Height: 124,
		X: Axis{Kind: Log, Unit: "op/s", Label: "load offered", Tight: true, Lo: ptr(6100), Min: ptr(6100), Hi: ptr(8200), Max: ptr(8200)},
		Y: Axis{NoGrid: true, Lo: ptr(-1), Hi: ptr(1), Ticks: []Tick{{At: .5, Text: "passed"}, {At: -.5, Text: "missed"}}},
		Layers: []Layer{
			{Mark: Band, Role: Interval, Name: "95 % interval of the estimate", X: Values{7010}, X2: Values{7160}},
			{Mark: Rule, Role: Estimate, X: Values{7090}, Text: []string{"estimate 7.09 kop/s"}},
			{Mark: Rule, Role: Good, X: Values{7055}, Text: []string{"passed 7.055 kop/s"}},
			{Mark: Rule, Role: Bad, X: Values{7132}, Text: []string{"failed 7.132 kop/s"}},
			{Mark: Rule, Y: Values{0}},
			{Mark: Point, Role: Good, Name: "kept the SLA", Stack: true, X: Values{6400, 6979, 7055, 7055}, Y: Values{1}, Tips: []string{"6.4 kop/s: 1 passed"}},
			{Mark: Point, Role: Bad, Name: "missed it", Stack: true, X: Values{7055, 7132, 7132, 7132, 7611}, Y: Values{-1}},
			{Mark: Point, Role: Unknown, Name: "says nothing about the target; repeated", Stack: true, X: Values{7611}, Y: Values{-1}},
		},
	}
}

// heat: loads side by side, the highest percentile at the top; rows of the SLA
// are outlined, cells above its limit are Bad, the boundary is a rule between
// two loads.
func heat() Chart {
	loads := []string{"0.1", "0.4", "1.6", "6.4", "6.979", "7.055", "7.132", "12.8"}
	quantiles := []Row{{Name: "p99"}, {Name: "p90", Role: Limit}, {Name: "p50"}}
	c := Chart{
		Title: "Latency by load and percentile",
		X:     Axis{Kind: Rows, Label: "load offered", Unit: "kop/s"},
		Y:     Axis{Kind: Rows, Rows: quantiles},
	}
	l := Layer{Mark: Cell, Unit: "s"}
	for i, load := range loads {
		c.X.Rows = append(c.X.Rows, Row{Name: load})
		for k := range quantiles {
			v := 0.0018 * math.Pow(2.2, float64(i)) * math.Pow(0.4, float64(k-1))
			if i == 7 && k == 0 {
				v = math.Inf(1)
			}
			text, role := fmt.Sprintf("%.3g", 1e3*v), Plain
			if k == 1 && v > 0.15 {
				role = Bad
			}
			if math.IsInf(v, 0) {
				text = "—"
			}
			l.X, l.Y, l.Value = append(l.X, float64(i)), append(l.Y, float64(k)), append(l.Value, v)
			l.Text, l.Roles, l.Tips = append(l.Text, text), append(l.Roles, role), append(l.Tips, load+" kop/s; "+quantiles[k].Name+" "+text)
		}
	}
	c.Layers = []Layer{
		l,
		{Mark: Band, Role: Limit, Name: "SLA: p90 ≤ 150 ms", Y: Values{1}, Y2: Values{1}},
		{Mark: Rule, Role: Limit, Name: "boundary", X: Values{5.5}},
	}
	return c
}

// boxes: one row a target, all values as points; open ones were not confirmed.
func boxes() Chart {
	return Chart{
		Title: "Capacity of the targets",
		X:     Axis{Unit: "op/s", Relative: true},
		Y: Axis{Kind: Rows, Rows: []Row{
			{Name: "http://10.0.0.7/", Href: "#target0", Value: "3 kop/s", Note: "n = 5"},
			{Name: "http://10.0.0.8/", Href: "#target1", Value: "2.25 kop/s", Note: "n = 2", More: []string{"1 trial without an estimate: 3"}},
			{Name: "http://10.0.0.9/", Value: "n/a", Note: "n = 0"},
		}},
		Layers: []Layer{
			{Mark: Box, X: Values{1000, 2000, 3000, 4000, 5000, 2000, 2500}, Y: Values{0, 0, 0, 0, 0, 1, 1}},
			{Mark: Point, X: Values{1000, 2000, 3000, 4000, 5000, 2000, 2500}, Y: Values{0, 0, 0, 0, 0, 1, 1},
				Hollow: []bool{true, false, false, false, false, false, true}, Tips: []string{"trial 1: 1 kop/s, not confirmed"}},
			{Mark: Label, Y: Values{2}, Text: []string{"no estimate"}},
		},
	}
}

func boxesFarApart() Chart {
	c := boxes()
	x := Values{95, 100, 105, 960, 980, 1000, 1020, 1040}
	y := Values{0, 0, 0, 1, 1, 1, 1, 1}
	c.Layers = []Layer{{Mark: Box, X: x, Y: y}, {Mark: Point, X: x, Y: y}, c.Layers[2]}
	return c
}

// sketch is for terminals: what each load became, and a bar of its latency
// against the limit.
func sketch() Chart {
	return Chart{
		X: Axis{Unit: "s", Hi: ptr(0.225), Max: ptr(0.225)},
		Y: Axis{Kind: Rows, Rows: []Row{
			{Name: "100 op/s", Value: "4.97 ms"}, {Name: "6.4 kop/s", Value: "37.0 ms"}, {Name: "7.055 kop/s", Value: "569 ms"},
			{Name: "7.132 kop/s", Value: "196 ms"}, {Name: "9.051 kop/s", Value: "1.17 s"}, {Name: "25.6 kop/s", Value: "not reached"},
		}},
		Layers: []Layer{
			{Mark: Bar, X: Values{0.00497, 0.037, 0.569, 0.196, 1.17, math.Inf(1)}, Y: Values{0, 1, 2, 3, 4, 5}, Roles: []Role{Good, Good, Good, Bad, Bad, Bad},
				Name: "p90 of all windows at a load"},
			{Mark: Rule, Role: Limit, X: Values{0.15}, Name: "its limit of 150 ms"},
			{Mark: Point, Role: Good, Name: "passed", Y: Values{0, 1, 2, 2}},
			{Mark: Point, Role: Bad, Name: "missed", Y: Values{2, 3, 3, 3, 4, 5}},
			{Mark: Point, Role: Unknown, Name: "unusable", Y: Values{4}},
		},
	}
}
