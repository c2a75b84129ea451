package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// Demand is what the application takes of one resource on one node that works
// at its rate.
type Demand struct {
	Resource string // of the taxonomy, or "workload/metric"
	Amount   float64
	Unit     string          // normal: "byte/s", "op/s", "core", or as given
	CI       *model.Interval // over nodes; nil when the figure was given
	// Wire: it was counted in packets, with their headers.
	Wire bool
	// Measured: a node was seen to take it, so that one can work at that rate.
	Measured bool
	Source   string // where the figure comes from, for people
}

// Capacity is what a fleet had of one resource.
type Capacity struct {
	Resource, Workload, Metric string
	Total                      float64 // C_n
	Unit                       string  // normal
	CI                         *model.Interval
	// Nodes is n, the nodes that measured it together; 0 for a limit that was
	// given. Of is what was measured as one, PerSubject how many nodes measure
	// such a subject: 2 for a pair that measures both ways. Alone is of a node.
	Nodes      int
	Of         model.Subjects
	PerSubject int
	Alone      *float64
	AloneCI    *model.Interval // over nodes
	CDI        *float64
	CDICI      *model.Interval
	// Limited: it is known not to grow any more, by a CDI whose interval lies
	// above 0, or because somebody says so.
	Limited bool
	// Open says why it is no limit, beyond the CDI; Advice what would tell;
	// both may be empty. Partial: it left some of what the nodes have unused.
	Open, Advice string
	Partial      bool
	Caution      string // what the limit leaves open; empty when nothing
	Doubt        string // why the figure has no verdict; empty when it has one
	NoCores      string // why a capacity of the cpu is not known in cores
	Source       string
	Warnings     []string // of the finding, without the doubt
}

// PlanInput is the question that [Plan] answers.
type PlanInput struct {
	Target   float64 // m, jobs per second wanted
	NodeRate float64 // r, jobs per second of one node
	// NodeRateCI is the interval of a measured rate.
	NodeRateCI *model.Interval
	Demands    []Demand
	Capacities []Capacity
}

// Plan says how many nodes a target takes and which resource ends growth
// (section 5.4 of the ScaleBench paper, read with the application's demand d on one node, not
// with the capacity of one node, which would condemn every fleet larger than
// the one measured). With m the target, r a node's rate, C_n the capacity that
// n nodes had together:
//
//	t = ceil(m/r) nodes
//	t·d ≤ C_n                                 fits
//	t·d > C_n and C_n was seen to be a limit  fails; t* = floor(C_n/d), rate t*·r
//	t·d > C_n otherwise                       untested: C_n is a lower bound
//	d > C_1, and d was not measured           fails; t* = 0
//
// A question that has no answer (no demand, a rate of 0, a demand in another
// unit than the capacity) is a model.ErrUsage.
func Plan(in PlanInput) (model.PlanResult, error) {
	if err := in.check(); err != nil {
		return model.PlanResult{}, err
	}
	nodes := wholeUp(in.Target / in.NodeRate)
	if nodes > maxFleet {
		return model.PlanResult{}, fmt.Errorf("%w: %v jobs/s at %v jobs/s a node take %.3g nodes, at most %.0g are possible: check both rates", model.ErrUsage, in.Target, in.NodeRate, nodes, float64(maxFleet))
	}
	out := model.PlanResult{Target: in.Target, NodeRate: in.NodeRate, Nodes: int(nodes), Answer: model.PlanFits, Warnings: []string{}}
	var n notes
	for _, d := range in.Demands {
		r := in.resource(d, nodes, &n)
		out.Resources = append(out.Resources, r)
		out.Answer = worseAnswer(out.Answer, r.Answer)
	}
	slices.SortStableFunc(out.Resources, func(a, b model.PlanResource) int { return cmp.Compare(endsAt(a), endsAt(b)) })
	if first := out.Resources[0]; first.Largest != nil {
		out.Binding, out.Largest, out.LargestRate = first.Resource, first.Largest, first.LargestRate
	}
	in.noteRate(nodes, &n)
	in.noteUnused(&n)
	out.Warnings = n.all()
	return out, nil
}

// maxFleet bounds a plan: more nodes are a slip of the pen.
const maxFleet = 1e9

func (in PlanInput) check() error {
	positive := func(v float64) bool { return isCapacity(v) }
	switch {
	case !positive(in.Target):
		return fmt.Errorf("%w: a target of %v jobs/s; want a number above 0", model.ErrUsage, in.Target)
	case !positive(in.NodeRate):
		return fmt.Errorf("%w: a node rate of %v jobs/s; want a number above 0", model.ErrUsage, in.NodeRate)
	case len(in.Demands) == 0:
		return fmt.Errorf("%w: no demand is given; say what one node takes (--demand, --demand-per-job) or from which run to take it (--demand-run)", model.ErrUsage)
	}
	for i, d := range in.Demands {
		if !positive(d.Amount) {
			return fmt.Errorf("%w: a demand of %v %s on %s; want a number above 0", model.ErrUsage, d.Amount, d.Unit, d.Resource)
		}
		if slices.ContainsFunc(in.Demands[:i], func(o Demand) bool { return o.Resource == d.Resource && o.Unit == d.Unit }) {
			return fmt.Errorf("%w: two demands on %s; give one", model.ErrUsage, d.Resource)
		}
		if fit, others := in.capacitiesOf(d); !d.Measured && len(fit) == 0 && len(others) > 0 {
			return fmt.Errorf("%w: the demand on %s is in %s, its capacity in %s: they cannot be compared; give the demand in the unit of the capacity, or the capacity with --capacity", model.ErrUsage, d.Resource, unitText(d.Unit), list(others))
		}
	}
	return nil
}

// resource answers for one resource.
func (in PlanInput) resource(d Demand, nodes float64, n *notes) model.PlanResource {
	c, ok := in.capacityFor(d, n)
	if ok {
		d = d.against(c, n)
	} else {
		c.Open = in.unknown(d)
	}
	r := model.PlanResource{
		Resource: d.Resource, Unit: d.Unit, Demand: d.Amount, DemandCI: d.CI, DemandSource: d.Source,
		AtTarget: in.Target / in.NodeRate * d.Amount, Needed: nodes * d.Amount, Answer: model.PlanUntested,
	}
	if ok {
		r.Capacity, r.CapacityCI, r.CapacitySource, r.MeasuredAt = &c.Total, c.CI, c.Source, c.Nodes
		r.CDI, r.CDICI = c.CDI, c.CDICI
		r.Answer = answerOf(r.Needed, c)
		noteCapacity(d, c, r, n)
	}
	switch {
	case ok && d.beyondOne(c):
		r.Answer, r.Largest, r.LargestRate = model.PlanFails, new(int), new(float64)
	case ok && c.Limited:
		in.limits(&r, d, c)
	}
	r.Text = planText(r, c, int(nodes), in.NodeRate)
	return r
}

// beyondOne reports a demand that not even a node alone can serve, by the
// interval over nodes where there is one. A demand that was measured is one
// that a node did serve.
func (d Demand) beyondOne(c Capacity) bool {
	if c.Alone == nil || d.Measured {
		return false
	}
	_, most := rangeOf(*c.Alone, c.AloneCI)
	return d.Amount > max(*c.Alone, most)*(1+rounding)
}

// answerOf is the rule of section 5.4.
func answerOf(needed float64, c Capacity) model.PlanAnswer {
	switch {
	case needed <= c.Total*(1+rounding):
		return model.PlanFits
	case c.Limited:
		return model.PlanFails
	}
	return model.PlanUntested
}

// limits says where growth ends.
func (in PlanInput) limits(r *model.PlanResource, d Demand, c Capacity) {
	at := c.Total / d.Amount
	rate := at * in.NodeRate
	whole := int(min(wholeDown(at), maxFleet))
	wholeRate := float64(whole) * in.NodeRate
	r.NodeLimit, r.RateLimit, r.Largest, r.LargestRate = &at, &rate, &whole, &wholeRate
	if c.CI == nil && d.CI == nil {
		return
	}
	cLo, cHi := rangeOf(c.Total, c.CI)
	dLo, dHi := rangeOf(d.Amount, d.CI)
	if cLo > 0 && dLo > 0 {
		r.LargestCI = &[2]int{int(min(wholeDown(cLo/dHi), maxFleet)), int(min(wholeDown(cHi/dLo), maxFleet))}
	}
}

// rangeOf is an interval, or the value itself where there is none.
func rangeOf(v float64, ci *model.Interval) (lo, hi float64) {
	if ci == nil {
		return v, v
	}
	return ci[0], ci[1]
}

// Is reports whether a name means this capacity: its resource, WORKLOAD/METRIC,
// or the workload where no resource is known.
func (c Capacity) Is(name string) bool {
	if c.Resource == name || c.Workload+"/"+c.Metric == name {
		return true
	}
	return c.Resource == "" && c.Workload == name
}

// noteRate warns where a measured node rate leaves the fleet's size open.
func (in PlanInput) noteRate(nodes float64, n *notes) {
	if in.NodeRateCI == nil {
		return
	}
	if in.NodeRateCI[0] <= 0 {
		n.warn("the rate of one node cannot be told from 0: how many nodes the target takes is not known")
		return
	}
	few, many := wholeUp(in.Target/in.NodeRateCI[1]), wholeUp(in.Target/in.NodeRateCI[0])
	if few != nodes || many != nodes {
		n.warn("by the interval of the node rate the target takes %.0f to %.0f nodes", few, many)
	}
}

// worseAnswer orders answers: fails, untested, fits.
func worseAnswer(a, b model.PlanAnswer) model.PlanAnswer {
	order := []model.PlanAnswer{model.PlanFits, model.PlanUntested, model.PlanFails}
	if slices.Index(order, a) >= slices.Index(order, b) {
		return a
	}
	return b
}

// endsAt orders resources by where they end growth: first those with a limit,
// then those whose capacity is a lower bound, then those never measured.
func endsAt(r model.PlanResource) float64 {
	switch {
	case r.NodeLimit != nil:
		return *r.NodeLimit
	case r.Largest != nil: // not even one node works
		return 0
	case r.Capacity != nil:
		return maxFleet + *r.Capacity/r.Demand
	}
	return math.Inf(1)
}

// rounding is the relative error that arithmetic may have made of a whole
// number: 0.3/0.1 is 2.9999999999999996.
const rounding = 1e-9

// wholeUp is ceil, wholeDown floor, but a whole number up to rounding is that
// number.
func wholeUp(v float64) float64 {
	if near := math.Round(v); math.Abs(v-near) <= rounding*max(1, near) {
		return near
	}
	return math.Ceil(v)
}

func wholeDown(v float64) float64 {
	if near := math.Round(v); math.Abs(v-near) <= rounding*max(1, near) {
		return near
	}
	return math.Floor(v)
}
