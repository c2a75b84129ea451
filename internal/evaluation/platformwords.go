package evaluation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// What speaks against a difference.
var (
	platformUnknown = caveat.Define("platform_unknown", func(a unansweredOn) string {
		return fmt.Sprintf("%s has no verdict", a.Platform)
	})
	otherSize = caveat.Define("other_size", func(a sizesApart) string {
		return fmt.Sprintf("%s was measured with %s, %s with %s: larger fleets lose more, so that the difference may come "+
			"from that", a.Platform, num.Count(a.Nodes, string(a.Of)), a.Base, num.Count(a.BaseNodes, string(a.BaseOf)))
	})
	disturbedApart = caveat.Define("disturbed_apart", func(struct{}) string {
		return "what disturbed the nodes can explain the difference, or hide one"
	})
	otherParameters = caveat.Define("other_parameters", func(a parametersApart) string {
		return fmt.Sprintf("the workload had another %s on each: see that both measured the same", num.List(a.Names))
	})
)

type (
	unansweredOn struct {
		Platform caveat.Verbatim `json:"platform"`
	}
	sizesApart struct {
		Platform  caveat.Verbatim `json:"platform"`
		Nodes     int             `json:"nodes"`
		Of        Subjects        `json:"of"`
		Base      caveat.Verbatim `json:"base"`
		BaseNodes int             `json:"base_nodes"`
		BaseOf    Subjects        `json:"base_of"`
	}
	parametersApart struct {
		Names []caveat.Verbatim `json:"names"`
	}
)

// platformsID is the section with all metrics of all platforms.
const platformsID = "platforms"

// Document shows the platforms side by side: a figure and a table of metrics by
// platforms, and the differences.
func (p *Platforms) Document(title string) *doc.Document {
	said := p.answer()
	d := &doc.Document{Title: title, Answer: said[0], More: said[1:], Warnings: p.warnings(), Data: p.data()}
	overview := Chart("Capacity degradation by platform", p.Findings, func(_ int, f Finding) chart.Row {
		return chart.Row{Name: f.Name(), Sub: f.Platform}
	})
	s := doc.Section{ID: platformsID, Title: "Capacity degradation by platform",
		Intro: "How much less each node does when all work at once than when it works alone. Whiskers: 95 % interval.",
		Blocks: []doc.Block{doc.Plot("", "", overview), {Table: p.table()},
			doc.Remark("For each metric: CDI with its 95 % interval, mean of a node alone, mean when all work, and total.")}}
	d.Sections = append(d.Sections, s)
	if len(p.Differences) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "differences", Title: "Differences from " + p.Names[0],
			Intro:  "The CDI of each platform less that of " + p.Names[0] + ". Each interval is 95 % by itself.",
			Blocks: []doc.Block{{Table: p.differenceTable()}}})
	}
	return d
}

// answer says what differs most, and what each platform loses.
func (p *Platforms) answer() []string {
	out := []string{p.mostApart()}
	for _, name := range p.Names {
		if text := p.lossesOf(name); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// mostApart is the largest difference: of those that are certain, or else of all.
func (p *Platforms) mostApart() string {
	var most *Difference
	certain := func(d *Difference) bool { return d.Verdict == More || d.Verdict == Less }
	for i := range p.Differences {
		d := &p.Differences[i]
		switch {
		case d.Points == nil, most != nil && certain(most) && !certain(d):
		case most == nil, certain(d) && !certain(most), math.Abs(*d.Points) > math.Abs(*most.Points):
			most = d
		}
	}
	if most == nil {
		return "No metric has a CDI on " + p.Names[0] + " and on another platform."
	}
	word, ci := "more", most.CI
	if *most.Points < 0 {
		word = "less"
		if ci != nil {
			ci = &Interval{-ci[1], -ci[0]}
		}
	}
	text := fmt.Sprintf("%s: %s loses %.1f points %s than %s", nameOf(most.Workload, most.Metric), most.Platform,
		math.Abs(*most.Points), word, most.Base)
	if !certain(most) {
		return "No difference between the platforms is certain. The largest is in " + text + "."
	}
	return fmt.Sprintf("The largest difference is in %s (95 %% interval %s).", text, pointsInterval(ci))
}

// lossesOf says what one platform loses; empty: nothing was measured there.
func (p *Platforms) lossesOf(name string) string {
	answered, degraded := 0, 0
	var worst *Finding
	for i := range p.Findings {
		f := &p.Findings[i]
		if f.Platform != name || f.CDI == nil {
			continue
		}
		if f.Answered() {
			answered++
		}
		if f.Verdict == Degraded {
			degraded++
		}
		if worst == nil || *f.CDI > *worst.CDI {
			worst = f
		}
	}
	if worst == nil {
		return ""
	}
	text := fmt.Sprintf("%s: the largest CDI is %s, of %s", name, worst.CDIText(), worst.Name())
	if answered == 0 {
		return text + "; no metric has a verdict."
	}
	return fmt.Sprintf("%s; %d of %s degraded.", text, degraded, num.Count(answered, "metric"))
}

// pointsInterval prints an interval in points; empty: there is none.
func pointsInterval(i *Interval) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("[%.1f .. %.1f]", i[0], i[1])
}

// table has four rows a metric, as Table 2 of the paper, and a column a platform.
func (p *Platforms) table() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{{Key: "metric", Head: "metric", Wrap: 30}, {Key: "what", Head: ""}}}
	for i, name := range p.Names {
		t.Columns = append(t.Columns, doc.Column{Key: fmt.Sprintf("platform_%d", i+1), Head: name, Right: true})
	}
	for rest := p.Findings; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].SameMetric(rest[0]) {
			n++
		}
		p.addMetric(t, rest[:n])
		rest = rest[n:]
	}
	return t
}

// addMetric adds the rows of one metric.
func (p *Platforms) addMetric(t *doc.Table, of []Finding) {
	row := func(name, what string, cell func(f Finding) doc.Cell) []doc.Cell {
		cells := []doc.Cell{doc.Say(name), doc.Say(what)}
		for _, platform := range p.Names {
			i := slices.IndexFunc(of, func(f Finding) bool { return f.Platform == platform })
			if i < 0 {
				cells = append(cells, doc.Of(nil, num.Missing))
				continue
			}
			cells = append(cells, cell(of[i]))
		}
		return cells
	}
	t.Add(row(of[0].Name(), "CDI", func(f Finding) doc.Cell {
		return doc.Of(f.CDI, strings.TrimSpace(f.CDIText()+" "+f.IntervalText())).As(f.Verdict.Tone())
	})...)
	amount := func(what string, value func(f Finding) *float64) {
		t.AddMore(row("", what, func(f Finding) doc.Cell {
			v := value(f)
			return doc.Of(v, num.Optional(v, func(v float64) string { return ScaleOf(f.Resource, f.Unit, v).Value(v, 0) }))
		})...)
	}
	amount("alone", func(f Finding) *float64 { return f.Serial.Mean })
	amount("all at once", func(f Finding) *float64 { return f.Parallel.Mean })
	amount("total", func(f Finding) *float64 { return f.Parallel.Total })
}

// differenceTable has a row a metric and platform.
func (p *Platforms) differenceTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{{Key: "metric", Head: "metric", Wrap: 30}, {Key: "platform", Head: "platform"},
		{Key: "points", Head: "difference\nin points", Right: true, Interval: true}, {Key: "verdict", Head: ""}}}
	for _, d := range p.Differences {
		points := doc.Optional(d.Points, func(v float64) string {
			return strings.TrimSpace(fmt.Sprintf("%+.1f %s", v, pointsInterval(d.CI)))
		})
		if d.CI != nil {
			points = points.Within(d.CI[0], d.CI[1])
		}
		tone := map[DifferenceIs]doc.Tone{More: doc.Bad, Less: doc.Gain, UnclearDifference: doc.Doubt,
			UnknownDifference: doc.Doubt}[d.Verdict]
		t.Add(doc.Say(nameOf(d.Workload, d.Metric)), doc.Say(d.Platform), points,
			doc.Of(string(d.Verdict), strings.ReplaceAll(string(d.Verdict), "_", " ")).As(tone))
	}
	return t
}

// warnings are those of findings and differences with their platforms, each text once,
// and the disturbances that no finding has.
func (p *Platforms) warnings() []doc.Warning {
	var parts []doc.Noting
	add := func(name string, caveats []caveat.Caveat) {
		parts = append(parts, doc.Noting{Link: doc.Link{Href: "#" + platformsID, Text: name}, Caveats: caveats})
	}
	for _, d := range p.Differences {
		add(d.Platform+" "+nameOf(d.Workload, d.Metric), d.Doubts)
	}
	for _, f := range p.Findings {
		add(f.Platform+" "+f.Name(), f.Doubts)
	}
	for _, c := range p.Doubts {
		if name, known := p.toldOf(c); !known {
			add(name, []caveat.Caveat{c})
		}
	}
	return doc.LinkedCaveats(parts)
}

// toldOf is the platform of a disturbance, and whether a finding tells of it. Those of
// the first run do not name it.
func (p *Platforms) toldOf(c caveat.Caveat) (platform string, told bool) {
	of := p.of[0]
	for _, x := range p.of[1:] {
		if x.Run != nil && x.Run.Run().ID == c.Run {
			of = x
		}
	}
	c.Run = ""
	return of.Name, slices.ContainsFunc(p.Findings, func(f Finding) bool {
		return f.Platform == of.Name && slices.ContainsFunc(f.Doubts, func(d caveat.Caveat) bool {
			return d.SameDisturbance(c, caveat.Subject{Workload: f.Workload})
		})
	})
}

// data is the table for programs: a row a metric and platform, with its difference.
func (p *Platforms) data() *doc.Table {
	type row struct {
		*Finding
		Difference *Difference `json:"difference"`
	}
	rows := make([]row, len(p.Findings))
	for i := range p.Findings {
		f := &p.Findings[i]
		rows[i].Finding = f
		for k := range p.Differences {
			if d := &p.Differences[k]; d.Workload == f.Workload && d.Metric == f.Metric && d.Platform == f.Platform {
				rows[i].Difference = d
			}
		}
	}
	return doc.Flatten(rows, "", "platform", "workload", "metric", "unit", "resource", "nodes", "serial_mean",
		"parallel_mean", "parallel_total", "cdi", "ci_lo", "ci_hi", "verdict", "difference_points",
		"difference_ci_lo", "difference_ci_hi", "difference_verdict", "warnings")
}
