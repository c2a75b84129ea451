package sizing

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/observe"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/scalability"
	"github.com/scalebench/scalebench/internal/stats"
)

// level is the confidence level of every interval.
const level = 0.95

// capacity is what a fleet had of one resource.
type capacity struct {
	resource, workload, metric string
	total                      float64 // C_n
	unit                       string  // normal
	ci                         *evaluation.Interval
	// nodes is n, the nodes that measured it together; 0 for a limit that was
	// given. perSubject is how many nodes measure what was measured as one: 2
	// for a pair that measures both ways. alone is of a node.
	nodes, perSubject int
	alone             *float64
	aloneCI           *evaluation.Interval // over nodes
	cdi               *float64
	cdiCI             *evaluation.Interval
	// limited: it is known not to grow any more, by a CDI with an interval
	// above 0, or because the user says so.
	limited bool
	// sizes are the totals of the sizes that were measured together, ascending.
	// falls: they fall past the size at which total was measured.
	sizes []sizeTotal
	falls bool
	// open says why it is not a limit, beyond the CDI; advice how to find out;
	// both may be empty. partial: it left some of what the nodes have unused.
	open, advice string
	proof        string // who did the target without more of it; empty: nobody
	partial      bool
	calls        bool   // operations, packets or calls bound it, not their bytes
	caution      string // what the limit leaves open; empty when nothing
	doubt        string // why the figure has no verdict; empty when it has one
	noCores      string // why a capacity of the cpu is not known in cores
	source       string
	warnings     []model.Doubt // of the finding, without the doubt
}

// sizeTotal is what so many nodes had together.
type sizeTotal struct {
	nodes int
	total float64
}

// is reports whether a name means this capacity: its resource, WORKLOAD/METRIC,
// or the workload where no resource is known.
func (c capacity) is(name string) bool {
	return c.resource == name || c.workload+"/"+c.metric == name || c.resource == "" && c.workload == name
}

// name is the capacity's for people.
func (c capacity) name() string {
	if c.resource != "" {
		return c.resource
	}
	return c.workload + "/" + c.metric
}

// capacitiesOf turns findings into capacities, in nodes where the findings count
// pairs. scalings give intervals of totals over trials, and say whether a loss
// was a limit. run is that of the findings, nil for those of a table: it tells
// which nodes measured a subject, and how many cores a capacity of the cpu
// stands for. Findings without a parallel total are passed over.
func capacitiesOf(findings []evaluation.Finding, scalings []evaluation.Scaling, run *observe.Run) []capacity {
	var out []capacity
	for _, f := range findings {
		if f.Parallel.Total == nil {
			continue
		}
		c := capacityOf(f, scalings, run)
		if evaluation.Category(c.resource) != model.ResourceCPU || c.unit == evaluation.Core || c.alone == nil {
			out = append(out, c)
			continue
		}
		p, err := processorOf(f, run)
		if err != nil {
			c.noCores = err.Error()
			out = append(out, c)
			continue
		}
		out = append(out, c, c.inCores(p))
	}
	return out
}

// capacityOf reads one finding. An interval of the index above 0 makes its
// total a limit; a finding with doubts proves none.
func capacityOf(f evaluation.Finding, scalings []evaluation.Scaling, run *observe.Run) capacity {
	unitName, factor := evaluation.NormalUnit(f.Unit)
	c := capacity{
		resource: f.Resource, workload: f.Workload, metric: f.Metric, unit: unitName,
		total: factor * *f.Parallel.Total, cdi: f.CDI, cdiCI: f.CI,
		limited: f.Verdict == evaluation.Degraded,
		source:  fmt.Sprintf("%s/%s, %s", f.Workload, f.Metric, f.Count()),
	}
	c.measuredBy(f, factor, endsOf(f, run))
	s, _ := scalingOf(f, scalings)
	for _, p := range s.Points {
		c.sizes = append(c.sizes, sizeTotal{p.Nodes * c.perSubject, factor * p.Total})
	}
	if len(c.sizes) == 0 {
		c.sizes = []sizeTotal{{c.nodes, c.total}}
	}
	declared := sharedBy(run, f.Workload)
	if c.doubt, c.warnings = doubtOf(f, declared); c.doubt != "" {
		c.open = "the run does not show whether this is a limit (" + c.doubt + ")"
		c.advice = "give the limit with --capacity if you know it"
	}
	c.limited = c.limited || declared && c.doubt == ""
	c.ci = multiplied(totalInterval(f, scalings), factor)
	if s.Peak != nil {
		c.peak(*s.Peak, factor)
	}
	if c.limited {
		c.checkGrowth(f, scalings)
	}
	return c
}

// peak makes the largest total the capacity, where larger fleets have less.
func (c *capacity) peak(p evaluation.Peak, factor float64) {
	c.falls, c.total, c.nodes, c.ci = true, factor*p.Total, p.Nodes*c.perSubject, nil
	if p.CI != nil {
		c.ci = &evaluation.Interval{factor * max(0, p.CI[0]), factor * p.CI[1]}
	}
	c.source += fmt.Sprintf(", of which %d had the most", c.nodes)
}

// doubtsOf are the caveats of a finding, with their texts, as this study has them.
func doubtsOf(f evaluation.Finding) []model.Doubt {
	all := slices.Clone(f.Doubts)
	slices.Concat(evaluation.Caveats, observe.Caveats).Fill(caveat.Subject{Workload: f.Workload}, all)
	return caveat.Doubts(all)
}

// sharedBy reports whether a study says that a workload measured what all nodes share.
func sharedBy(run *observe.Run, workload string) bool {
	return run != nil && slices.ContainsFunc(run.Steps(), func(s model.Step) bool {
		return s.Workload == workload && s.OfCapacity()
	})
}

// doubtOf is why a finding has no verdict, and the rest of its doubts: that it has
// none is what they mean for the plan. A capacity that is declared to be what nodes share
// needs no values of nodes alone.
func doubtOf(f evaluation.Finding, declared bool) (doubt string, rest []model.Doubt) {
	for i, d := range doubtsOf(f) {
		if declared && d.Code == evaluation.CodeNoSerial {
			continue
		}
		if d.Severity == model.Problem && doubt == "" {
			doubt = doc.Words(evaluation.Reason(f.Doubts[i]))
			continue
		}
		d.Severity = model.Warning
		rest = append(rest, d)
	}
	if f.Verdict == evaluation.Unknown && doubt == "" && !declared {
		doubt = "there is no interval"
	}
	return doubt, rest
}

// measuredBy counts nodes instead of subjects: those that measured together,
// and what one of them had alone.
func (c *capacity) measuredBy(f evaluation.Finding, factor float64, e subjectEnds) {
	c.perSubject, c.nodes = e.perSubject(), len(e.nodes())
	if len(e) == 0 { // only means were given
		c.nodes = f.Nodes
	}
	if c.perSubject > 1 {
		c.source += fmt.Sprintf(" of %d measuring nodes", c.perSubject)
	}
	if f.Serial.Mean == nil {
		return
	}
	factor /= float64(c.perSubject)
	alone := factor * *f.Serial.Mean
	c.alone = &alone
	serial, _ := evaluation.Columns(f.Pairs)
	c.aloneCI = around(alone, serial, factor)
}

// around is Student's interval over values whose mean, so many times, is this: a capacity
// is not negative. Nil of fewer than two values.
func around(mean float64, values []float64, times float64) *evaluation.Interval {
	half, err := stats.MeanHalfWidth(values, level)
	if err != nil {
		return nil
	}
	return &evaluation.Interval{max(0, mean-times*half), mean + times*half}
}

// multiplied is an interval so many times; nil: there is none.
func multiplied(ci *evaluation.Interval, by float64) *evaluation.Interval {
	if ci == nil {
		return nil
	}
	return &evaluation.Interval{by * ci[0], by * ci[1]}
}

// totalInterval is the interval of a finding's total over trials: that of the
// limit, where one was inferred, else that of the largest size, if it is of the
// same trials. Of numbers from a table it is Student's over nodes: n times that
// of their mean. Nil is an interval that is not known: of one trial or node, or
// of other trials than the total. A capacity is not negative.
func totalInterval(f evaluation.Finding, scalings []evaluation.Scaling) *evaluation.Interval {
	s, known := scalingOf(f, scalings)
	if !known {
		_, parallel := evaluation.Columns(f.Pairs)
		return around(*f.Parallel.Total, parallel, float64(len(parallel)))
	}
	if s.Limit != nil && s.Limit.CI != nil && s.Limit.CI.Contains(*f.Parallel.Total) {
		return s.Limit.CI
	}
	for _, p := range s.Points {
		if p.Nodes == f.Nodes && p.CI != nil && math.Abs(p.Total-*f.Parallel.Total) <= rounding*p.Total {
			return &evaluation.Interval{max(0, p.CI[0]), p.CI[1]}
		}
	}
	return nil
}

// scalingOf finds the growth of a finding's metric.
func scalingOf(f evaluation.Finding, scalings []evaluation.Scaling) (evaluation.Scaling, bool) {
	i := slices.IndexFunc(scalings, func(s evaluation.Scaling) bool {
		return s.Workload == f.Workload && s.Metric == f.Metric && s.Unit == f.Unit
	})
	if i < 0 {
		return evaluation.Scaling{}, false
	}
	return scalings[i], true
}

// checkGrowth compares a limit that the index shows with the growth over sizes:
// a loss is not a limit if the sum still grew with n. If the sizes cannot tell,
// it stays a limit, with a caution.
func (c *capacity) checkGrowth(f evaluation.Finding, scalings []evaluation.Scaling) {
	s, known := scalingOf(f, scalings)
	switch {
	case s.Peak != nil:
		c.caution = fmt.Sprintf("%s: %s; more nodes than these do less", c.name(), doc.Words(s.Peak.Text))
	case s.Fit == nil && slices.ContainsFunc(s.Doubts, func(c caveat.Caveat) bool {
		return c.Code == evaluation.CodeNoCurve
	}):
		c.limited, c.open = false, "no curve describes how the sum grew with n, so that this may not be a limit"
	case !known || s.Fit == nil: // fewer than three sizes, or too few totals
		c.caution = fmt.Sprintf("one size cannot show whether %s is a limit that all nodes share or a loss of each node; measure more sizes", c.name())
	case len(s.Groups) > 0:
		c.caution = fmt.Sprintf("the limits of %s hold for single groups of nodes; another group may have more", c.name())
	case s.Limit != nil:
	case s.Fit.Knee == nil:
		c.limited, c.open = false, "the sum was still growing with n"
	default:
		c.pastKnee(s)
	}
}

// pastKnee judges totals past a knee that stay on no one level. Those that fall
// end growth as well as a limit does.
func (c *capacity) pastKnee(s evaluation.Scaling) {
	var sizes, totals []float64
	for _, p := range s.Points {
		for _, total := range p.Totals {
			sizes, totals = append(sizes, float64(p.Nodes)), append(totals, total)
		}
	}
	curve := scalability.Curve{Kind: scalability.Capped, Gamma: s.Fit.Slope, Cap: *s.Fit.Cap}
	l, err := curve.LevelOff(sizes, totals, 0)
	switch {
	case err != nil: // fewer than two sizes past the knee
		c.caution = fmt.Sprintf("the sum of %s seems to stop growing, but only one size lies past that point: measure more sizes", c.name())
	case l.Slope.Hi < 0:
	case l.Slope.Lo > 0:
		c.limited, c.open = false, "the sum was still growing with n, more slowly"
	default:
		c.limited, c.open = false, "the sum may still have been growing with n"
	}
}

// subjectEnds are the nodes that measure each subject of a finding: the node
// itself, both nodes of a pair that measures both ways, the client of one that
// does not. A plan counts nodes, a finding subjects.
type subjectEnds map[model.NodeID][]model.NodeID

// endsOf finds them in the steps of the finding's workload. A subject of
// which no step is known (numbers from a table) measures itself.
func endsOf(f evaluation.Finding, run *observe.Run) subjectEnds {
	out := make(subjectEnds)
	for _, p := range f.Pairs {
		out[p.Node] = nil
	}
	var steps []model.Step
	if run != nil {
		steps = run.Steps()
	}
	for _, s := range steps {
		if s.Workload != f.Workload || s.State != model.StepComplete {
			continue
		}
		for _, t := range observe.Measuring(s) {
			subject := observe.SubjectOf(t)
			if known, wanted := out[subject]; wanted && !slices.Contains(known, t.Node) {
				out[subject] = append(known, t.Node)
			}
		}
	}
	for subject, nodes := range out {
		if len(nodes) == 0 {
			out[subject] = []model.NodeID{subject}
		}
	}
	return out
}

// nodes lists the measuring nodes of all subjects, each once.
func (e subjectEnds) nodes() []model.NodeID {
	var out []model.NodeID
	for nodes := range maps.Values(e) {
		out = append(out, nodes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// perSubject is how many nodes measure one subject, 1 where none is known.
func (e subjectEnds) perSubject() int {
	most := 1
	for _, nodes := range e {
		most = max(most, len(nodes))
	}
	return most
}

// giveCapacities adds the limits that the user gave. Each replaces the measured
// one of the same resource in the same unit, after that has shown what calls bind.
func (p *Params) giveCapacities(q *question) error {
	var given []capacity
	for _, g := range p.given() {
		if g.key != "capacity" {
			continue
		}
		a, err := g.of(q.capacities)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(given, func(c capacity) bool { return c.resource == a.resource && c.unit == a.unit }) {
			return wrong(g.key, "is given twice for "+a.resource, "give one")
		}
		given = append(given, capacity{resource: a.resource, total: a.value, unit: a.unit, limited: true, source: "given"})
	}
	measured := len(q.capacities)
	q.capacities = append(q.capacities, given...)
	boundByCalls(q.capacities)
	replaced := func(c capacity) bool {
		return slices.ContainsFunc(given, func(a capacity) bool { return c.is(a.resource) && c.unit == a.unit })
	}
	q.capacities = append(slices.DeleteFunc(q.capacities[:measured], replaced), given...)
	return nil
}
