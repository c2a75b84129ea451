package sizing

import (
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/queueing"
)

// Document implements study.Result.
func (r *Result) Document() *doc.Document {
	d := &doc.Document{
		Title: "How large may the fleet be?", Answer: r.lead(), Verdict: doc.Tag{Word: string(r.Answer), Tone: tones[r.Answer]},
		Warnings: doc.Warnings(r.Warnings),
	}
	if words := r.rateWords(); words != "" {
		d.More = []string{words}
	}
	if c, ok := r.chart(); ok {
		d.AddSection("crossing", "Demand against capacity", "What the application takes of each resource, as a share of "+
			"its capacity, measured or given. Where a line crosses 100 % the capacity is used up. Filled marks: growth ends "+
			"there. Hollow: the capacity was not shown to be a limit, it is a lower bound.", doc.Page, doc.Plot("", "", c))
	}
	if c, ok := r.rateChart(); ok {
		d.AddSection("rate", "How fast is a fleet?", "Between the bounds lies what a fleet does. The upper one is "+
			"reached by nodes that never wait for each other; the lower one by nodes that queue at what they share. Nodes "+
			"with several jobs at once wait less than that.", doc.Page, doc.Plot("", "", c))
	}
	var sentences []string
	for _, x := range r.Resources {
		if x.Text != "" {
			sentences = append(sentences, x.Text)
		}
	}
	d.AddSection("numbers", "All numbers", "", doc.Everywhere, doc.Block{Table: r.table()})
	if len(sentences) > 0 {
		d.AddSection("resources", "Resource by resource", "", doc.Everywhere, doc.Block{List: &doc.List{Items: sentences}})
	}
	d.AddSection(doc.Reading, "How to read this", "", doc.Page, doc.Block{Fields: []doc.Field{
		{Label: "Fits", Text: "What the target takes stays within the capacity that was measured or given."},
		{Label: "Fails", Text: "It exceeds, beyond all intervals, a capacity that was seen not to grow any more: the " +
			"interval of its CDI lies above 0, or it was given as a limit. Or one node takes more than a " +
			"node alone has."},
		{Label: "Untested", Text: "It exceeds what was measured, but that was not shown to be a limit: the capacity " +
			"is only a lower bound. Or the capacity is not known, or the intervals leave it open."},
		{Label: "Unknown", Text: "What several nodes did at once in the run that the demand comes from lies outside of what the plan says of as many, beyond all intervals and 10 %. A figure that the plan rests on is wrong, so it answers nothing."},
		{Label: "Largest useful fleet", Text: "The whole number of nodes whose demand the capacity covers: " +
			"floor(capacity / demand of a node); or one more, where the target fits and uses a part of that node. " +
			"More nodes add nothing to what the fleet can do at most; where nodes wait for each other, a few more " +
			"fill the gaps."},
	}})
	return d
}

var tones = map[Answer]doc.Tone{Fits: doc.Good, Fails: doc.Bad, Untested: doc.Note, Unknown: doc.Doubt}

// table has a row a resource, each in its own unit. Keys and order of the
// columns for programs are a contract; new ones are added at the end.
func (r *Result) table() *doc.Table {
	t := &doc.Table{
		Columns: []doc.Column{
			{Key: "resource", Head: "resource"},
			{Key: "unit", For: doc.Programs},
			doc.Number("demand", "a node takes\n[95 %]"),
			doc.Number("needed", "needed"),
			doc.Number("capacity", "capacity\n[95 %]"),
			doc.Number("measured_at", "measured\nwith"),
			{Key: "cdi", Head: "CDI\n[95 %]", Right: true, Tip: "capacity degradation index with its 95 % interval"},
			{Key: "answer", Head: "answer"},
			doc.Number("largest", "largest\nuseful fleet"),
			doc.Number("largest_rate", "its rate"),
			doc.Number("node_limit", "used up\nat nodes"),
			doc.Number("rate_limit", "at rate"),
		},
		Stack: [][]string{{"node_limit", "rate_limit"}, {"largest", "largest_rate"}, {"resource", "answer"}, {"capacity", "measured_at"}, {"demand", "needed"}},
	}
	t.Columns = append(t.Columns, doc.ForPrograms("demand_lo", "demand_hi", "capacity_lo", "capacity_hi", "node_limit_lo", "node_limit_hi", "warnings", "rate_lower", "rate_upper", "nodes_safe", "plan_answer", "rate_ci_lo", "rate_ci_hi")...)
	var lower, upper, least, most *float64
	if r.Rate != nil {
		lower, upper = &r.Rate.Lower, &r.Rate.Upper
	}
	if r.RateCI != nil {
		least, most = &r.RateCI[0], &r.RateCI[1]
	}
	plan := doc.Values(strings.Join(r.Warnings, "; "), lower, upper, r.NodesSafe, r.Answer, least, most) // in every row
	for _, x := range r.Resources {
		t.Add(append(x.row(), plan...)...)
	}
	return t
}

// row is the line of one resource.
func (r Resource) row() []doc.Cell {
	capacity, measured := doc.Of(nil, "not measured").As(doc.Note), doc.Of(nil, num.Missing)
	if r.Capacity != nil {
		capacity, measured = doc.Of(r.Capacity, within(r.amount, *r.Capacity, r.CapacityCI)...), doc.Of(nil, "given")
	}
	if r.MeasuredAt > 0 {
		measured = doc.Of(r.MeasuredAt, num.Count(r.MeasuredAt, "node"))
	}
	cdi := doc.Of(nil, num.Missing)
	if r.CDI != nil {
		f := evaluation.Finding{CDI: r.CDI, CI: r.CDICI}
		cdi = doc.Of(r.CDI, lines(f.CDIText(), f.IntervalText())...)
	}
	largest := doc.Of(nil, "not known")
	if r.Largest != nil {
		largest = doc.Of(r.Largest, num.Count(*r.Largest, "node"))
	}
	var limitCI *evaluation.Interval
	limit := doc.Of(nil, num.Missing)
	if r.NodeLimit != nil {
		if r.Capacity != nil {
			if _, lo, hi, bounded := r.crossing(); bounded && lo < hi {
				limitCI = &evaluation.Interval{lo, hi}
			}
		}
		limit = doc.Of(r.NodeLimit, within(digits, *r.NodeLimit, limitCI)...)
	}
	cells := []doc.Cell{
		doc.Say(r.Resource), doc.Of(r.Unit), doc.Of(r.Demand, within(r.amount, r.Demand, r.DemandCI)...), doc.Of(r.Needed, r.amount(r.Needed)),
		capacity, measured, cdi, doc.Say(string(r.Answer)).As(tones[r.Answer]),
		largest, doc.Optional(r.LargestRate, perSecond), limit, doc.Optional(r.RateLimit, perSecond),
	}
	for _, ci := range []*evaluation.Interval{r.DemandCI, r.CapacityCI, limitCI} {
		lo, hi := ci.Ends()
		cells = append(cells, doc.Values(lo, hi)...)
	}
	return cells
}

// within are a value and, below it, its interval if there is one.
func within(print func(float64) string, v float64, ci *evaluation.Interval) []string {
	if ci == nil || !num.Finite(ci[0]) || !num.Finite(ci[1]) {
		return []string{print(v)}
	}
	return []string{print(v), "[" + print(ci[0]) + " .. " + print(ci[1]) + "]"}
}

func lines(first, second string) []string {
	return slices.DeleteFunc([]string{first, second}, func(s string) bool { return s == "" })
}

// Of the chart: how far it reaches above the capacity, in percent, and to the
// right, in wanted fleets. Values above that are no plan; the legend gives the
// crossings farther right.
const (
	chartTop   = 140.0
	chartReach = 4
)

// chart draws what the application takes of each resource against the size of
// its fleet, as a share of the capacity: lines t·d/C_n, which cross 100 % where
// the capacity is used up. ok is false where no capacity is known.
func (r *Result) chart() (c chart.Chart, ok bool) {
	reach := 1.15 * float64(r.Nodes)
	var known []Resource
	for _, x := range r.Resources {
		if x.Capacity == nil || !(x.Demand > 0) || !(*x.Capacity > 0) {
			continue
		}
		at, _, _, _ := x.crossing()
		if !num.Finite(at) {
			continue
		}
		known = append(known, x)
		if far := 1.15 * at; far <= chartReach*float64(r.Nodes) {
			reach = max(reach, far)
		}
	}
	if len(known) == 0 || r.Nodes < 1 {
		return c, false
	}
	top := chartTop
	x := chart.Values{0, reach}
	share := func(at float64) chart.Values { return chart.Values{0, 100 * reach / at} }
	var bands, demands []chart.Layer
	whiskers, marks := chart.Layer{Mark: chart.Rule, Role: chart.Interval}, chart.Layer{Mark: chart.Point}
	for i, known := range known {
		at, lo, hi, bounded := known.crossing()
		role, name := chart.Series(i), known.Resource+": "+known.crossingWords(at)
		demands = append(demands, chart.Layer{Mark: chart.Line, Role: role, Name: name, X: x, Y: share(at)})
		if bounded && lo < hi {
			bands = append(bands, chart.Layer{Mark: chart.Band, Role: role, X: x, Y: share(hi), Y2: share(lo)})
		}
		if at > reach {
			continue
		}
		if bounded && lo < hi && known.NodeLimit != nil {
			whiskers.AddSpan(lo, min(hi, reach), 100)
		}
		marks.Add(at, 100)
		marks.Roles, marks.Hollow, marks.Tips = append(marks.Roles, role), append(marks.Hollow, known.NodeLimit == nil), append(marks.Tips, name)
	}
	c = chart.Chart{
		Title: "Demand against capacity: " + r.lead(), Height: 260,
		X: chart.Axis{Label: "nodes of the application", Hi: &reach, Max: &reach, Whole: true, TickCount: 6},
		Y: chart.Axis{Unit: "%", Hi: &top, Max: &top, TickCount: 7},
	}
	c.Layers = slices.Concat(bands, demands, []chart.Layer{
		{Mark: chart.Rule, Role: chart.Estimate, Y: chart.Values{100}, Text: []string{"capacity"}, Place: chart.Below},
		{Mark: chart.Rule, Role: chart.Limit, X: chart.Values{float64(r.Nodes)}, Text: []string{"wanted: " + num.Count(r.Nodes, "node") + " for " + jobs(r.Target)}},
		whiskers, marks,
	})
	return c, true
}

// rateSteps is in how many steps the chart of rates is drawn.
const rateSteps = 48

// rateChart draws the band against the size of the fleet, and what was measured.
// ok is false where no limit is known and nothing was measured: the band is a
// line then, of so much a node.
func (r *Result) rateChart() (c chart.Chart, ok bool) {
	f := r.fleet()
	if r.Rate == nil || len(f.Shared)+len(r.Measured) == 0 {
		return c, false
	}
	reach := r.rateReach()
	hi := float64(reach)
	band := bandLayer(f, reach)
	c = chart.Chart{
		Title: "How fast is a fleet? " + r.lead(), Height: 260,
		X: chart.Axis{Label: "nodes of the application", Hi: &hi, Max: &hi, Whole: true, TickCount: 6},
		Y: chart.Axis{Label: "jobs/s", TickCount: 6},
	}
	c.Layers = []chart.Layer{
		band,
		{Mark: chart.Line, Role: chart.Series(0), X: band.X, Y: band.Y},
		{Mark: chart.Line, Role: chart.Series(0), X: band.X, Y: band.Y2},
		{Mark: chart.Rule, Role: chart.Limit, Y: chart.Values{r.Target}, Text: []string{"wanted: " + jobs(r.Target)}},
		{Mark: chart.Rule, Role: chart.Reference, X: chart.Values{float64(r.Nodes)}, Text: []string{num.Count(r.Nodes, "node")}},
	}
	c.Layers = append(c.Layers, measuredMarks(r.Measured)...)
	return c, true
}

// rateReach is the largest fleet that is drawn: all that is spoken of, up to
// chartReach wanted fleets.
func (r *Result) rateReach() int {
	most := r.Nodes
	for _, m := range r.Measured {
		most = max(most, m.Nodes)
	}
	far := chartReach * most
	for _, n := range []*int{r.NodesSafe, r.Largest} {
		if n != nil && *n <= far {
			most = max(most, *n)
		}
	}
	return int(math.Ceil(1.15 * float64(most)))
}

// bandLayer is the band up to a size, with a corner where something is used up.
func bandLayer(f queueing.Fleet, reach int) chart.Layer {
	l := chart.Layer{Mark: chart.Band, Role: chart.Series(0), Name: "from the lower to the upper bound", X: chart.Values{0}, Y: chart.Values{0}, Y2: chart.Values{0}}
	_, roof := f.Bottleneck()
	knee, apart := roof/f.Rate, max(1, (reach+rateSteps-1)/rateSteps)
	next := 1
	for n, x := range f.Rates() {
		if n < next && n < reach {
			continue
		}
		if f.Falls() {
			x = 0
		}
		x = min(max(x, f.Proven(n)), f.Upper(n))
		at, last := float64(n), len(l.X)-1
		if from := l.X[last]; from < knee && knee < at {
			between := l.Y[last] + (x-l.Y[last])*(knee-from)/(at-from)
			l.AddRange(knee, between, roof)
		}
		l.AddRange(at, x, f.Upper(n))
		if next = n + apart; n >= reach {
			break
		}
	}
	return l
}

// measuredMarks are what was measured, with its intervals.
func measuredMarks(all []Measured) []chart.Layer {
	if len(all) == 0 {
		return nil
	}
	points, whiskers := chart.Layer{Mark: chart.Point, Role: chart.Parallel, Name: "measured in the run of the demand"}, chart.Layer{Mark: chart.Rule, Role: chart.Interval}
	for _, m := range all {
		points.Add(float64(m.Nodes), m.Rate)
		points.Tips = append(points.Tips, num.Count(m.Nodes, "node")+": "+jobs(m.Rate))
		if m.CI != nil {
			whiskers.AddRange(float64(m.Nodes), m.CI[0], m.CI[1])
		}
	}
	return []chart.Layer{whiskers, points}
}
