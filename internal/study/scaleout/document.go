package scaleout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// document is study.Answer.Document. Its table for programs has a row a size: the names
// and order of the columns are a contract.
func (r *Result) document() *doc.Document {
	d := &doc.Document{Title: r.title, Answer: doc.Words(r.Answer), More: r.more(), Warnings: doc.Caveats(r.Doubts...),
		Data: doc.Flatten(r, "sizes", "nodes", "trials", "throughput=rate", "throughput_lo=ci_lo", "throughput_hi=ci_hi",
			"predicted_lower=lower", "predicted_upper=upper", "inside", "bound", "bound_error", "job_cost", "kind",
			"bottleneck")}
	if len(r.Sizes) == 0 {
		return d
	}
	if r.run != nil {
		d.Verdict = r.Bottleneck.tag()
	}
	d.AddSection("throughput", "Throughput by size", "", doc.Everywhere, r.curve(),
		doc.Block{Table: r.sizes()})
	if t := r.evidence(); t != nil {
		d.AddSection("evidence", "What ends growth", "", doc.Everywhere, t...)
	}
	if t := r.jobTables(); t != nil {
		d.AddSection("job", "What a job takes", "", doc.Everywhere, t...)
	}
	if r.Target != nil && len(r.Target.Limits) > 0 {
		d.AddSection("target", "What "+r.shown(r.Target.Rate)+" needs", "", doc.Everywhere, doc.Block{Table: r.needed()})
	}
	if len(r.Curves) > 0 {
		d.AddSection("curves", "Curves", "", doc.Everywhere, doc.Block{Table: r.curvesTable()})
	}
	if f := r.oneNode(); f != nil {
		d.AddSection("node", "What one node consumes", "", doc.Page, doc.Block{Figure: f})
	}
	if c, ok := r.costs(); ok {
		d.AddSection("cost", "Cost of 1,000 jobs", "", doc.Page, doc.Plot("", "", c))
	}
	d.Sections = append(d.Sections, reading())
	return d
}

// sizes is the table of sizes.
func (r *Result) sizes() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Number("nodes", "nodes"), doc.Number("trials", "trials"),
		doc.Interval("throughput", "measured\n[95 %]")}}
	if r.Predicted != nil {
		t.Columns = append(t.Columns, doc.Interval("predicted", "predicted\nbefore"), doc.Label("inside", "inside"),
			doc.Number("bound_error", "against\nmin(N·r, C/d)"))
	}
	if r.Currency != "" {
		t.Columns = append(t.Columns, doc.Number("job_cost", "cost of 1,000\njobs, "+r.Currency))
	}
	for _, s := range r.Sizes {
		cells := []doc.Cell{doc.Int(s.Nodes), doc.Int(s.Trials), r.measured(s)}
		if r.Predicted != nil {
			predicted, inside := doc.Of(nil, num.Missing), doc.Of(nil, num.Missing)
			if s.Lower != nil {
				predicted = doc.Of(nil, r.number(*s.Lower)+" to "+r.number(*s.Upper)).Within(*s.Lower, *s.Upper)
				inside = yesNo(*s.Inside)
			}
			cells = append(cells, predicted, inside, doc.Optional(s.BoundError, num.Signed))
		}
		if r.Currency != "" {
			cells = append(cells, doc.Optional(s.JobCost, func(v float64) string { return num.Digits(1000*v, 3) }))
		}
		t.Add(cells...)
	}
	return t
}

// yesNo is the cell of what is as it should be, or not.
func yesNo(good bool) doc.Cell {
	if good {
		return doc.Say("yes").As(doc.Good)
	}
	return doc.Say("no").As(doc.Bad)
}

// measured is the cell of what a size came to.
func (r *Result) measured(s Size) doc.Cell {
	c := doc.Of(s.Rate, r.shown(s.Rate))
	if s.CI != nil {
		c = doc.Of(s.Rate, r.shown(s.Rate), r.scale.Interval(max(0, s.CI.Lo), s.CI.Hi)).Within(s.CI.Lo, s.CI.Hi)
	}
	return c
}

// evidence is what the bottleneck rests on; nil: nothing is known.
func (r *Result) evidence() []doc.Block {
	var out []doc.Block
	if len(r.Stages) > 0 {
		out = append(out, doc.Block{Table: r.stagesTable()}, doc.Plot("", "", r.stack()))
	}
	if len(r.Uses) > 0 {
		out = append(out, doc.Block{Table: r.usesTable()})
	}
	if p := r.Processors; p != nil && p.Largest != nil {
		text := fmt.Sprintf("A node uses %s of its processors alone, and %s in the largest fleet.",
			num.Optional(p.Smallest, num.Fraction), num.Fraction(*p.Largest))
		if r.run.SharedMachine() && p.MachineLargest != nil {
			text += fmt.Sprintf(" The machine that the nodes share is %s busy then.", num.Fraction(*p.MachineLargest))
		}
		out = append(out, doc.Remark(text))
	}
	return out
}

func (r *Result) stagesTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("stage", "part of a job"),
		doc.Number("smallest", num.Count(r.smallest().Nodes, "node")),
		doc.Number("largest", num.Count(r.largest().Nodes, "node")), doc.Number("share", "of the added time")}}
	for _, s := range r.Stages {
		t.Add(doc.Say(string(s.Stage)), doc.Of(s.Smallest, num.Seconds(s.Smallest)),
			doc.Of(s.Largest, num.Seconds(s.Largest)), doc.Of(s.Share, num.Fraction(s.Share)))
	}
	return t
}

func (r *Result) usesTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("resource", "shared resource"),
		doc.Number("rate", num.Count(r.largest().Nodes, "node")+" use"), doc.Number("capacity", "capacity"),
		doc.Number("use", "use")}}
	for _, u := range r.Uses {
		capacity := doc.Of(nil, "not measured")
		if u.Capacity != nil {
			capacity = doc.Of(u.Capacity.Value, u.quantity().amount(u.Capacity.Value))
		}
		t.Add(doc.Say(u.Resource), doc.Of(u.Rate, u.quantity().amount(u.Rate)), capacity,
			doc.Optional(u.Use, num.Fraction))
	}
	return t
}

// jobTables are what a job takes, and how long; nil: nothing is known.
func (r *Result) jobTables() (out []doc.Block) {
	if t := r.distributionTable(); len(t.Rows) > 0 {
		out = append(out, doc.Block{Table: t})
	}
	if t := r.demandTable(); len(t.Rows) > 0 {
		out = append(out, doc.Block{Table: t})
	}
	return out
}

// distributionTable has a row for each part of a job.
func (r *Result) distributionTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("stage", "part of a job")}}
	for _, nodes := range r.compared() {
		for _, q := range [...]string{"median", "p90", "p99"} {
			t.Columns = append(t.Columns, doc.Number(fmt.Sprintf("%s_%d", q, nodes), num.Count(nodes, "node")+"\n"+q))
		}
	}
	for _, p := range append(parts(), Whole) {
		cells := []doc.Cell{doc.Say(p.words())}
		for _, nodes := range r.compared() {
			for _, d := range r.Distributions {
				if d.Stage == p && d.Nodes == nodes {
					cells = append(cells, doc.Of(d.P50, num.Seconds(d.P50)), doc.Of(d.P90, num.Seconds(d.P90)),
						doc.Of(d.P99, num.Seconds(d.P99)))
				}
			}
		}
		if len(cells) == len(t.Columns) {
			t.Add(cells...)
		}
	}
	return t
}

// demandTable has what a job takes, and what happened that ought not to.
func (r *Result) demandTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("resource", "for each job")}}
	for _, nodes := range r.compared() {
		t.Columns = append(t.Columns, doc.Number(fmt.Sprintf("nodes_%d", nodes), num.Count(nodes, "node")))
	}
	for _, d := range r.Demands {
		if d.usual() {
			continue
		}
		cells := []doc.Cell{doc.Say(d.words()), doc.Optional(d.Smallest, d.shown), doc.Optional(d.Largest, d.shown)}
		t.Add(cells[:len(t.Columns)]...)
	}
	return t
}

// compared are the smallest and the largest size, each once.
func (r *Result) compared() []int {
	return slices.Compact([]int{r.smallest().Nodes, r.largest().Nodes})
}

// needed is the table of what the target needs.
func (r *Result) needed() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("resource", "resource"), doc.Number("per_job", "a job takes"),
		doc.Number("needed", "needed"), doc.Number("capacity", "capacity"), doc.Number("rate_limit", "suffices for"),
		doc.Number("node_limit", "nodes then"), doc.Label("suffices", "suffices")}}
	for _, n := range r.Target.Limits {
		suffices := doc.Of(nil, "not known")
		if n.Suffices != nil {
			suffices = yesNo(*n.Suffices)
		}
		q := n.quantity()
		t.Add(doc.Say(n.Resource), doc.Of(n.PerJob, q.perJob(n.PerJob)), doc.Of(n.Needed, q.amount(n.Needed)),
			doc.Optional(n.Capacity, q.amount),
			doc.Optional(n.RateLimit, r.shown),
			doc.Optional(n.NodeLimit, func(v float64) string { return num.Digits(v, 4) }), suffices)
	}
	return t
}

// curvesTable has the curves that were fitted.
func (r *Result) curvesTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("kind", "kind"), doc.Label("parameters", "parameters"),
		doc.Number("sse", "SSE"), doc.Number("aicc", "AICc"), doc.Label("plausible", "plausible")}}
	for _, c := range r.Curves {
		plausible := "no"
		if c.Plausible {
			plausible = "yes"
		}
		t.Add(doc.Say(string(c.Kind)), doc.Say(c.Parameters.words()), doc.Of(c.SSE, num.Digits(c.SSE, 4)),
			doc.Optional(c.AICc, func(v float64) string { return fmt.Sprintf("%.1f", v) }), doc.Say(plausible))
	}
	return t
}

func (p Parameters) words() string {
	var out []string
	for _, x := range []struct {
		name  string
		value *float64
	}{{"γ", p.Gamma}, {"α", p.Alpha}, {"β", p.Beta}, {"cap", p.Cap}} {
		if x.value != nil {
			out = append(out, fmt.Sprintf("%s = %.4g", x.name, *x.value))
		}
	}
	return strings.Join(out, ", ")
}

// reading explains the words.
func reading() doc.Section {
	return doc.Section{ID: doc.Reading, Title: "Reading this", Show: doc.Page, Blocks: []doc.Block{{Fields: []doc.Field{
		{Label: "Predicted", Text: "Made from one node and the measured capacities before larger fleets ran, and stored " +
			"with their steps. It lies around a closed queueing network, and reaches up a part of the way to min(N·r, C/d). " +
			"Both ends are widened by the intervals of what was measured."},
		{Label: "Plateau", Text: "The most that any number of nodes does. Its interval holds over all kinds of curves " +
			"that the data do not rule out."},
		{Label: "Knee", Text: "The size at which growth in proportion would reach the plateau."},
		{Label: "Bottleneck", Text: "The part of a job whose time grew, with its resource. Where growth does not end: the " +
			"nodes' own processors if they are busy, and none otherwise."},
	}}}}
}
