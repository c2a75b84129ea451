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
)

// Target is what a throughput takes.
type Target struct {
	Rate float64 `json:"rate"`
	// Nodes is how many nodes reach it; null: no number of them does.
	Nodes   *float64 `json:"nodes"`
	NodesCI *Ends    `json:"nodes_ci"`
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
func (r *Result) inProportion(rate float64) float64 { return math.Ceil(rate/r.perNode() - 1e-9) }

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

// reach adds how many nodes do it, or would once the limits are raised.
func (r *Result) reach(t *Target) {
	reached := slices.ContainsFunc(r.Sizes, func(s Size) bool { return s.Rate >= t.Rate })
	switch {
	case !reached && slices.ContainsFunc(t.Limits, Needed.lacks):
		t.Raised = num.IfFinite(r.inProportion(t.Rate))
	case r.curves != nil:
		e := r.curves.NodesFor(t.Rate)
		t.Nodes = num.IfFinite(e.Value)
		t.NodesCI = endsOf(e)
		if t.Nodes == nil {
			t.Raised = num.IfFinite(r.inProportion(t.Rate))
		} else if e.Value > r.curves.Largest {
			r.network(t)
			r.Doubts.Add(beyond.Warn(beyondArgs{int(*t.Nodes), int(r.curves.Largest)}))
		}
	}
}

// network replaces numbers of nodes past those that were measured by what the closed
// network says, where limits are known.
func (r *Result) network(t *Target) {
	if len(r.limits()) == 0 {
		return
	}
	f := r.Predicted.fleet(-1)
	lo, hi := r.inProportion(t.Rate), math.Inf(1)
	if n := f.Safe(t.Rate, shortfall, int(lo)); n != nil {
		hi = float64(*n)
	}
	t.NodesCI = &Ends{&lo, num.IfFinite(hi)}
	*t.Nodes = max(*t.Nodes, lo)
}

// shortfall is how far below the target, as a part of it, the lower bound may lie.
const shortfall = .01

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
	sum, missing := list.Sum(places)
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
