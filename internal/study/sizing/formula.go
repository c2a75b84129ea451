package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
)

// question is what the formula is given.
type question struct {
	target   float64 // m, jobs per second wanted
	nodeRate float64 // r, jobs per second of one node
	// nodeRateCI is the interval of a measured rate.
	nodeRateCI *evaluation.Interval
	rateGiven  bool // by the user, not measured
	slots      int  // jobs that a node works on at once; 0: not known
	demands    []demand
	capacities []capacity
	doubts     []doubt // about the run that rate and demands come from
	// oneRun: the capacities come from that run, too.
	oneRun   bool
	together together
}

// doubt is one of a run, with what it is about.
type doubt struct {
	about string
	model.Doubt
}

// answer says how many nodes the target takes and which resource ends growth
// (section 5.4 of the ScaleBench paper, read with the application's demand d on
// one node, not with the capacity of one node, which would condemn every fleet
// larger than the one measured). With m the target, r a node's rate, C_n the
// capacity that n nodes had together:
//
//	t = ceil(m/r) nodes, which take m/r·d for the target
//	m/r·d ≤ C_n                                 fits, if some fleet is sure to do it
//	m/r·d > C_n and C_n was seen to be a limit  fails; t* = floor(C_n/d), rate t*·r
//	m/r·d > C_n otherwise                       untested: C_n is a lower bound
//	d > C_1, and d was not measured             fails; t* = 0
//
// It fails only beyond the intervals, and beyond every size that was measured.
//
// A question that has no answer (no demand, a rate of 0, a demand in another
// unit than the capacity) is a model.ErrUsage. Beside the answer stands the band
// in which the rates of a fleet lie; where the demand's own run lies outside of
// it, the answer is unknown.
func (q question) answer() (*Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	nodes := queueing.Whole(q.target/q.nodeRate, math.Ceil)
	if nodes > maxFleet {
		return nil, fmt.Errorf("%w: %v jobs/s at %v jobs/s a node take %.3g nodes, more than the limit of %d: check both rates", model.ErrUsage, q.target, q.nodeRate, nodes, maxFleet)
	}
	out := &Result{Target: q.target, NodeRate: q.nodeRate, Nodes: int(nodes), Slots: q.slots, Answer: Fits}
	out.few, out.many = q.sizes(nodes)
	n := model.Doubts{}
	for _, d := range q.demands {
		c, known := q.capacityFor(d, &n)
		if known && c.doubt != "" {
			out.unjudged = append(out.unjudged, d.resource)
		}
		r := q.resource(d, c, known, nodes, &n)
		if r.Answer == Untested && d.measured && !q.rateGiven {
			// Nodes did the target with this demand, which is all that is asked for.
			if did := q.didTarget(out.many); did != "" {
				r.Answer = Fits
				r.Text = r.words(capacity{proof: did}, int(nodes), q.nodeRate)
			}
		}
		out.Resources = append(out.Resources, r)
		out.Answer = worse(out.Answer, r.Answer)
	}
	slices.SortStableFunc(out.Resources, func(a, b Resource) int { return cmp.Compare(endsAt(a), endsAt(b)) })
	if first := out.Resources[0]; first.Largest != nil {
		out.Binding, out.Largest, out.LargestRate = first.Resource, first.Largest, first.LargestRate
	}
	out.bound()
	if out.Answer == Fits && out.Rate != nil && out.NodesSafe == nil {
		out.Answer = Untested // no fleet is sure to do it
	}
	q.widen(out)
	q.agree(out, &n)
	out.noteWaiting(&n)
	out.noteRate(&n)
	q.noteDemands(&n)
	q.noteUnused(&n)
	out.Doubts, out.Warnings = n, model.Texts(n)
	return out, nil
}

// oneNodeDid is what is known of a capacity that a single node did not reach.
const oneNodeDid = "one node alone did this rate while the demand was measured"

// didTarget says who did the target while the demand was measured; empty: nobody.
func (q question) didTarget(many float64) string {
	if many == 1 {
		return oneNodeDid
	}
	if m := q.did(); m != nil {
		return fmt.Sprintf("%s did %s while the demand was measured", num.Count(m.Nodes, "node"), jobs(m.Rate))
	}
	return ""
}

// did is the smallest fleet that surely did the target in the demand's run; nil:
// none.
func (q question) did() *Measured {
	for _, m := range q.together.points {
		if lo, _ := ends(m.Rate, m.CI); lo >= q.target*(1-rounding) {
			return &m
		}
	}
	return nil
}

// maxFleet bounds a plan: more nodes are a slip of the pen.
const maxFleet = queueing.MostUsers

func (q question) check() error {
	switch {
	case !evaluation.IsCapacity(q.target):
		return fmt.Errorf("%w: the target of %v jobs/s must be above 0", model.ErrUsage, q.target)
	case !evaluation.IsCapacity(q.nodeRate):
		return fmt.Errorf("%w: the node rate of %v jobs/s must be above 0", model.ErrUsage, q.nodeRate)
	case len(q.demands) == 0:
		return fmt.Errorf("%w: no demand is given; say what one node takes (--demand, --demand-per-job) or from which run to take it (--demand-run)", model.ErrUsage)
	}
	for i, d := range q.demands {
		if !evaluation.IsCapacity(d.amount) {
			return fmt.Errorf("%w: the demand of %v %s on %s must be above 0", model.ErrUsage, d.amount, d.unit, d.resource)
		}
		if slices.ContainsFunc(q.demands[:i], d.same) {
			return fmt.Errorf("%w: two demands on %s; give one", model.ErrUsage, d.resource)
		}
		if fit, others := q.capacitiesOf(d); !d.measured && len(fit) == 0 && len(others) > 0 {
			return fmt.Errorf("%w: the demand on %s is in %s, its capacity in %s: they cannot be compared; give the demand in the unit of the capacity, or the capacity with --capacity", model.ErrUsage, d.resource, unitText(d.unit), num.List(others))
		}
	}
	return nil
}

// capacitiesOf finds the capacities that a demand may be held against: of the
// same resource in the same unit. others are the units of the rest.
func (q question) capacitiesOf(d demand) (fit []capacity, others []string) {
	for _, c := range q.capacities {
		switch {
		case !c.is(d.resource):
		case c.unit == d.unit:
			fit = append(fit, c)
		case d.unit == evaluation.Core && c.noCores != "":
			others = append(others, fmt.Sprintf("%s (%s)", unitText(c.unit), c.noCores))
		default:
			others = append(others, unitText(c.unit))
		}
	}
	return fit, others
}

// capacityFor is the one that counts: where several workloads measured it, the
// least. Where none is known it holds the reason.
func (q question) capacityFor(d demand, n *model.Doubts) (c capacity, known bool) {
	fit, others := q.capacitiesOf(d)
	if len(fit) == 0 {
		return capacity{open: q.unknown(d, others, n)}, false
	}
	if all := slices.DeleteFunc(slices.Clone(fit), func(c capacity) bool { return c.partial }); len(all) > 0 {
		fit = all
	}
	if calls := slices.DeleteFunc(slices.Clone(fit), func(c capacity) bool { return !c.calls }); len(calls) > 0 {
		fit = calls
	}
	least := slices.MinFunc(fit, func(a, b capacity) int { return cmp.Compare(a.total, b.total) })
	if len(fit) > 1 {
		n.Warn("measured_twice", "%s was measured in %d ways; the least capacity counts, that of %s: name another as WORKLOAD/METRIC", d.resource, len(fit), least.source)
	}
	return least, true
}

// resource answers for one resource.
func (q question) resource(d demand, c capacity, known bool, nodes float64, n *model.Doubts) Resource {
	if known {
		d = d.against(c, n)
	}
	r := Resource{
		Resource: d.resource, Unit: d.unit, Demand: d.amount, DemandCI: d.ci, DemandSource: d.source,
		AtTarget: q.target / q.nodeRate * d.amount, Answer: Untested,
	}
	r.Needed = r.AtTarget
	r.least, r.most = q.takes(d)
	if known {
		r.Capacity, r.CapacityCI, r.CapacitySource, r.MeasuredAt = &c.total, c.ci, c.source, c.nodes
		r.CDI, r.CDICI = c.cdi, c.cdiCI
		r.sizes, r.alone, r.falls = c.sizes, c.alone, c.falls
		switch {
		case r.Needed <= c.total*(1+rounding):
			r.Answer = Fits
		case c.limited && r.least > r.mostSeen()*(1+rounding):
			r.Answer = Fails
		}
		noteCapacity(d, c, r, n)
	}
	switch {
	case d.beyondOne(c):
		r.Answer, r.Largest, r.LargestRate = Fails, new(int), new(float64)
	case known && c.limited:
		r.limit(q.nodeRate, int(nodes))
	}
	r.Text = r.words(c, int(nodes), q.nodeRate)
	return r
}

// takes are the least and the most of a resource that the target takes, by the
// intervals. The interval of the node rate matters to a demand that was given for
// a second: a measured one goes with the rate, and one per job is that of the
// target.
func (q question) takes(d demand) (least, most float64) {
	least, most = ends(d.amount, d.ci)
	slow, fast := q.nodeRate, q.nodeRate
	if d.source == sourceGiven {
		slow, fast = ends(q.nodeRate, q.nodeRateCI)
	}
	return q.target / fast * least, q.target / slow * most
}

// mostSeen is the most that there may be: the upper end of the capacity's
// interval, or what some size of fleet was seen to have.
func (r Resource) mostSeen() float64 {
	_, most := ends(*r.Capacity, r.CapacityCI)
	for _, s := range r.sizes {
		most = max(most, s.total)
	}
	return most
}

// beyondOne reports a demand that not even a node alone can serve, by the
// interval over nodes where there is one. A demand that was measured is one
// that a node did serve.
func (d demand) beyondOne(c capacity) bool {
	if c.alone == nil || d.measured {
		return false
	}
	_, most := ends(*c.alone, c.aloneCI)
	return d.amount > max(*c.alone, most)*(1+rounding)
}

// limit says where growth ends. A target that fits may take one node more than
// floor(C_n/d), of which a part is used.
func (r *Resource) limit(nodeRate float64, nodes int) {
	at, lo, hi, bounded := r.crossing()
	rate, largest := at*nodeRate, count(queueing.Whole(at, math.Floor))
	if r.Answer == Fits {
		largest = max(largest, nodes)
	}
	largestRate := min(float64(largest)*nodeRate, rate)
	r.NodeLimit, r.RateLimit, r.Largest, r.LargestRate = &at, &rate, &largest, &largestRate
	if bounded {
		r.LargestCI = &[2]int{count(queueing.Whole(lo, math.Floor)), max(largest, count(queueing.Whole(hi, math.Floor)))}
	}
}

// crossing is the size of the fleet that takes all of a known capacity, C_n/d.
// Its interval divides the opposite ends of both intervals; without an interval
// bounded is false, and both ends are at.
func (r Resource) crossing() (at, lo, hi float64, bounded bool) {
	at = *r.Capacity / r.Demand
	cLo, cHi := ends(*r.Capacity, r.CapacityCI)
	dLo, dHi := ends(r.Demand, r.DemandCI)
	if r.CapacityCI == nil && r.DemandCI == nil || cLo <= 0 || dLo <= 0 {
		return at, at, at, false
	}
	return at, cLo / dHi, cHi / dLo, true
}

// ends are those of an interval, or the value itself without one.
func ends(v float64, ci *evaluation.Interval) (lo, hi float64) {
	if ci == nil || !num.Finite(ci[0]) || !num.Finite(ci[1]) {
		return v, v
	}
	return ci[0], ci[1]
}

// worse orders answers: fails, untested, fits.
func worse(a, b Answer) Answer {
	order := []Answer{Fits, Untested, Fails}
	if slices.Index(order, a) >= slices.Index(order, b) {
		return a
	}
	return b
}

// endsAt orders resources by where they end growth: first those with a limit,
// then those with a lower bound of the capacity, then those never measured.
func endsAt(r Resource) float64 {
	switch {
	case r.NodeLimit != nil:
		return *r.NodeLimit
	case r.Largest != nil: // not even one node works
		return 0
	case r.Capacity != nil:
		return math.MaxInt32 + *r.Capacity/r.Demand
	}
	return math.Inf(1)
}

// count is a whole number that may be very large.
func count(v float64) int { return int(min(v, math.MaxInt32)) }

// rounding is the relative error that arithmetic may have made.
const rounding = 1e-9
