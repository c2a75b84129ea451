package scaleout

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/internal/scalability"
)

// Target is what a throughput takes.
type Target struct {
	Rate float64 `json:"rate"`
	// Nodes is how many nodes reach it; null: no number of them does, or, where Raised is
	// null as well or NodesCI has a lower end, it is not known.
	Nodes   *float64 `json:"nodes"`
	NodesCI *Ends    `json:"nodes_ci"`
	// Reached is the least size measured that did it in the mean of its trials; null: none did.
	Reached *int `json:"reached"`
	// Raised is how many nodes do it once the limits are raised that do not suffice: Rate
	// by the throughput of one node.
	Raised *float64 `json:"nodes_raised"`
	Limits []Needed `json:"limits,omitempty"`
	// Hourly is what Nodes, or else Raised, cost an hour.
	Hourly *float64 `json:"hourly"`
}

// Needed is how much a target needs of a shared resource.
type Needed struct {
	Resource string  `json:"resource"`
	Unit     string  `json:"unit"` // a second
	PerJob   float64 `json:"per_job"`
	Needed   float64 `json:"needed"`
	// Capacity is what there is, RateLimit the throughput with all of it, C/d, and NodeLimit
	// how many nodes do that, C/(d·r); null: not known.
	Capacity  *float64 `json:"capacity"`
	RateLimit *float64 `json:"rate_limit"`
	NodeLimit *float64 `json:"node_limit"`
	Suffices  *bool    `json:"suffices"`
}

func (n Needed) quantity() quantity { return quantity{n.Resource, n.Unit} }

// lacks reports whether there is known to be too little.
func (n Needed) lacks() bool { return n.Suffices != nil && !*n.Suffices }

// perNode is the throughput of one node.
func (r *Result) perNode() float64 {
	if r.curves != nil {
		return r.curves.Curve(r.curves.Kind).Gamma
	}
	s := r.smallest()
	return s.Rate / float64(s.Nodes)
}

// inProportion is how many nodes do so much if growth has no end.
func (r *Result) inProportion(rate float64) float64 {
	return queueing.Whole(rate/r.perNode(), math.Ceil)
}

// aim says what the target takes; each is what a node costs an hour, nil: there is no price.
func (p *Params) aim(r *Result, each *float64) error {
	if p.Target == 0 || len(r.Sizes) == 0 {
		return nil
	}
	t := &Target{Rate: p.Target}
	r.Target = t
	if err := p.needed(r, t); err != nil {
		return err
	}
	r.reach(t)
	if nodes := cmp.Or(t.Nodes, t.Raised); nodes != nil && each != nil {
		hourly := *each * *nodes
		t.Hourly = &hourly
	}
	return nil
}

// reach adds how many nodes do it, or would once the limits are raised. A size that did it
// counts for more than any curve.
func (r *Result) reach(t *Target) {
	i := slices.IndexFunc(r.Sizes, func(s Size) bool { return s.Rate >= t.Rate*(1-rounding) })
	if i >= 0 {
		r.reached(t, i)
		return
	}
	if slices.ContainsFunc(t.Limits, Needed.lacks) {
		t.Raised = num.IfFinite(r.inProportion(t.Rate))
		return
	}
	e, known := r.nodesFor(t.Rate)
	if !known {
		return
	}
	t.Nodes, t.NodesCI = num.IfFinite(e.Value), endsOf(e)
	switch most := r.largest().Nodes; {
	case t.Nodes == nil:
		t.Raised = num.IfFinite(r.inProportion(t.Rate))
	case e.Value > float64(most):
		r.Doubts.Add(beyond.Warn(beyondArgs{int(e.Value), most}))
	default:
		r.Doubts.Add(notReached.Warn(beyondArgs{int(e.Value), most}))
	}
}

// Relative errors that arithmetic may have made, of sums and of the intervals of curves.
const rounding, inexact = 1e-9, 2e-4

// byCurve is how many nodes the curve says, with the ends of an interval that is inexact.
func byCurve(c *scalability.Curves, rate float64) scalability.Estimate {
	e := c.NodesFor(rate * (1 - inexact))
	e.Value = c.NodesFor(rate * (1 - rounding)).Value
	e.Hi = max(e.Hi, e.Value)
	return e
}

// reached adds how many nodes do what size i did in the mean. The curve may say that fewer
// do, as long as these are more than those that fell short.
func (r *Result) reached(t *Target, i int) {
	did, short := float64(r.Sizes[i].Nodes), 0.
	if i > 0 {
		short = float64(r.Sizes[i-1].Nodes)
	}
	t.Reached, t.Nodes = &r.Sizes[i].Nodes, &did
	e := scalability.Estimate{Value: did, Lo: math.NaN(), Hi: math.Inf(1)}
	if r.curves != nil {
		e = byCurve(r.curves, t.Rate)
	}
	if !(e.Value > short && e.Value <= did) {
		e.Value = did
	}
	for _, s := range r.Sizes[i:] {
		if s.surely(t.Rate) {
			e.Hi = min(e.Hi, float64(s.Nodes))
			break
		}
	}
	e.Lo, e.Hi = min(e.Lo, e.Value), max(e.Hi, e.Value)
	if t.Nodes = &e.Value; r.curves != nil {
		t.NodesCI = endsOf(e)
	}
	if e.Hi > did {
		r.Doubts.Add(byChance.Warn(chanceArgs{r.Sizes[i].Nodes, r.Sizes[i].Trials}))
	}
	for _, n := range t.Limits {
		if n.lacks() {
			r.Doubts.Add(overCapacity.Warn(resourceArgs{caveat.Verbatim(n.Resource)}))
		}
	}
}

// surely reports whether the size did so much with its whole interval. Trials without scatter
// have none.
func (s Size) surely(rate float64) bool {
	least := s.Rate
	if s.CI != nil {
		least = s.CI.Lo
	}
	return s.Trials > 1 && least >= rate*(1-rounding)
}

// nodesFor is how many nodes do what no fleet did: by the curve, and past the sizes that
// were measured by the closed network where limits are known. Without a curve the prediction
// says it; false: there is none.
func (r *Result) nodesFor(rate float64) (scalability.Estimate, bool) {
	lo, most := r.inProportion(rate), float64(r.largest().Nodes)
	e := scalability.Estimate{Value: max(lo, most+1), Lo: lo, Hi: math.Inf(1)}
	if r.curves != nil {
		e = byCurve(r.curves, rate)
	} else if r.Predicted == nil {
		return e, false
	}
	if e.Value > most && !math.IsInf(e.Value, 1) && len(r.limits()) > 0 {
		e.Lo, e.Hi, e.Value = lo, math.Inf(1), max(e.Value, lo)
		if n := r.Predicted.fleet(nothing).Safe(rate, int(lo)); n != nil {
			e.Hi = max(float64(*n), e.Value)
		}
	}
	return e, true
}

// needed adds what the target needs of what is shared.
func (p *Params) needed(r *Result, t *Target) error {
	demand, err := p.amounts("demand", p.Demand)
	if err != nil {
		return err
	}
	capacity, err := p.amounts("capacity", p.Capacity)
	if err != nil {
		return err
	}
	set := func(all map[quantity]float64, q quantity, v float64) {
		if _, there := all[q]; !there {
			all[q] = v
		}
	}
	small := r.pointsOf(r.smallest().Nodes)
	for q := range capacity {
		v := average(small, func(x point) float64 { return x.takes[q] })
		if v > 0 {
			set(demand, q, v)
		}
	}
	for _, l := range r.limits() {
		set(demand, l.quantity(), l.PerJob.Value)
		set(capacity, l.quantity(), l.Capacity.Value)
	}
	for _, u := range r.Uses {
		set(demand, u.quantity(), u.Rate/r.largest().Rate)
	}
	byName := func(a, b quantity) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.unit, b.unit))
	}
	for _, q := range slices.SortedFunc(maps.Keys(capacity), byName) {
		if _, known := demand[q]; known {
			continue
		}
		i := slices.IndexFunc(r.Uses, func(u Use) bool {
			return u.Unit == q.unit && u.stage != "" && u.stage == stageOf[q.resource]
		})
		if i < 0 {
			return refuse("capacity", "what a job takes of "+q.resource+" is not known", "say it with --demand, such as "+
				q.resource+"="+q.example())
		}
		demand[q] = r.Uses[i].Rate / r.largest().Rate
	}
	for _, q := range slices.SortedFunc(maps.Keys(demand), byName) {
		n := Needed{Resource: q.resource, Unit: q.unit, PerJob: demand[q], Needed: t.Rate * demand[q]}
		if c, known := capacity[q]; known {
			limit, suffices := c/n.PerJob, n.Needed <= c
			nodes := limit / r.perNode()
			n.Capacity, n.RateLimit, n.NodeLimit, n.Suffices = &c, &limit, num.IfFinite(nodes), &suffices
		}
		t.Limits = append(t.Limits, n)
	}
	return nil
}

// each is what a node costs an hour; nil: there is no price, and a doubt says why.
func (p *Params) each(r *Result) *float64 {
	if p.Prices == "" {
		return nil
	}
	list, err := prices.Read(p.Prices)
	if err != nil {
		return nil // Check has refused it
	}
	r.Currency = list.Currency
	places := []prices.Place{{Type: p.Type}}
	if r.run != nil {
		places = nil
		for _, n := range r.nodes() {
			at := prices.PlaceOf(n)
			at.Type = cmp.Or(p.Type, at.Type)
			places = append(places, at)
		}
	}
	untyped := "name it with --type"
	if r.run != nil {
		untyped = "give them the label type, or " + untyped
	}
	sum, missing := list.Sum(places, untyped)
	if missing != "" || len(places) == 0 {
		r.Doubts.Add(notPriced.Warn(caveat.Because("", missing)))
		return nil
	}
	sum /= float64(len(places))
	return &sum
}

// nodes are those of the application.
func (r *Result) nodes() (out []model.Node) {
	for _, n := range r.run.Nodes() {
		if slices.ContainsFunc(r.points, func(x point) bool {
			return slices.ContainsFunc(x.step.Tasks, func(t model.Task) bool { return t.Node == n.ID })
		}) {
			out = append(out, n)
		}
	}
	return out
}

// price adds what jobs cost at each size.
func (r *Result) price(each *float64) {
	if each == nil {
		return
	}
	for i, s := range r.Sizes {
		r.Sizes[i].JobCost = num.IfFinite(*each * float64(s.Nodes) / (3600 * s.Rate))
	}
}
