package sizing

import (
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
)

// fleetOf is the network of nodes with this rate and so many slots. Resources without a known
// limit are not shared: each node brings its own of them, unless larger fleets were
// seen to have less. of says which demand and capacity count.
func fleetOf(rate float64, slots int, resources []Resource,
	of func(Resource) (demand, capacity float64)) queueing.Fleet {
	f := queueing.Fleet{Rate: rate, Slots: slots}
	for _, x := range resources {
		if x.Capacity != nil && (x.NodeLimit != nil || x.falls) {
			d, c := of(x)
			s := queueing.Shared{Name: x.Resource, Service: d / (rate * c), Falls: x.falls}
			if x.alone != nil {
				s.Alone = d / (rate * *x.alone)
			}
			for _, at := range x.sizes {
				total := at.total * c / *x.Capacity // known as well as the capacity is
				s.Shares = append(s.Shares, queueing.Share{Nodes: at.nodes, Stay: float64(at.nodes) * d / (rate * total)})
			}
			f.Shared = append(f.Shared, s)
		}
	}
	return f
}

// What of a resource's figures counts: the figures themselves, or the ends of
// their intervals with which a fleet is slowest, or fastest.
func (r Resource) asIs() (d, c float64) { return r.Demand, *r.Capacity }

func (r Resource) slowest() (d, c float64) {
	_, d = ends(r.Demand, r.DemandCI)
	c, _ = ends(*r.Capacity, r.CapacityCI)
	return d, c
}

func (r Resource) fastest() (d, c float64) {
	d, _ = ends(r.Demand, r.DemandCI)
	_, c = ends(*r.Capacity, r.CapacityCI)
	return d, c
}

// fleet is the network by the figures themselves.
func (r *Result) fleet() queueing.Fleet {
	return fleetOf(r.NodeRate, r.Slots, r.Resources, Resource.asIs)
}

// bound adds what the wanted fleet does, and how large it must be to do that by
// the lower bound. Where not even one node works at its rate there is nothing to add.
func (r *Result) bound() {
	for _, x := range r.Resources {
		if x.Largest != nil && x.NodeLimit == nil {
			return
		}
	}
	f := r.fleet()
	at := f.Band(r.Nodes)
	r.Rate, r.NodesSafe = &at, f.Safe(r.Target, r.Nodes)
	if r.NodesSafe != nil {
		safe := f.Band(*r.NodesSafe)
		r.RateSafe = &safe
	}
}

// noteWaiting warns of a fleet that suffices by its upper bound alone.
func (r *Result) noteWaiting(n *model.Doubts) {
	if r.Rate == nil || r.Answer == Fails || r.Answer == Unknown || r.Rate.Lower >= r.Target*(1-queueing.Shortfall) {
		return
	}
	enough := "no number of nodes does it by that bound"
	if r.NodesSafe != nil {
		enough = num.Do(*r.NodesSafe, "node") + " it by that bound"
	}
	where, _ := r.fleet().Bottleneck()
	n.Warn("nodes_wait", "by the lower bound %s %s of the %s wanted, because nodes wait for each other at %s; %s",
		num.Do(r.Nodes, "node"), perSecond(r.Rate.Lower), perSecond(r.Target), where, enough)
}
