package sizing

import (
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
)

// Band is between which rates a fleet of so many nodes works, in jobs per
// second. Upper is where something is used up: the nodes, or a resource that
// they share. Lower is what they do if they wait for each other as customers of
// a queue do: real jobs vary less than those of queueing theory, and wait less.
type Band struct {
	Nodes int     `json:"nodes"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// fleet is the application as a closed queueing network: a node is a customer
// with one job at a time, which takes each shared resource in turn, and for the
// rest of 1/r is on its own.
//
// A node whose own link is slower than the shared one spends some of that rest
// there: a station of m servers is here one of m times the speed and a delay
// (Seidmann, Schweitzer, Shalev-Oren 1987, "Computerized closed queueing network
// models of flexible manufacturing systems").
type fleet struct {
	rate     float64 // r, jobs per second of one node alone
	stations []station
}

// station is a resource that all nodes share, and that is known to end growth.
type station struct {
	resource string
	service  float64 // D, seconds that a job takes with all of it for itself: d/(r·C)
	// alone is how long a job of a single node takes there, d/(r·C_1); 0: not known.
	// shares are how long it takes where so many nodes that were measured are there.
	alone  float64
	shares []share
	falls  bool // larger fleets than these have less of it
}

// share is the time of a job where so many nodes share a station evenly.
type share struct {
	nodes int
	stay  float64 // seconds: n·d/(r·C_n)
}

// fleetOf is the network of nodes with this rate. Resources without a known
// limit are no stations: each node brings its own of them, unless larger fleets were
// seen to have less. of says which demand
// and capacity count.
func fleetOf(rate float64, resources []Resource, of func(Resource) (demand, capacity float64)) fleet {
	f := fleet{rate: rate}
	for _, x := range resources {
		if x.Capacity != nil && (x.NodeLimit != nil || x.falls) {
			d, c := of(x)
			s := station{resource: x.Resource, service: d / (rate * c), falls: x.falls}
			if x.alone != nil {
				s.alone = d / (rate * *x.alone)
			}
			for _, at := range x.sizes {
				total := at.total * c / *x.Capacity // known as well as the capacity is
				s.shares = append(s.shares, share{at.nodes, float64(at.nodes) * d / (rate * total)})
			}
			f.stations = append(f.stations, s)
		}
	}
	return f
}

// proven is a lower bound of what so many nodes do, by what as many were seen to
// share; 0 where no station was measured with so many. Of each station a job has no
// less than an even share, also where all nodes are there at once. That is
// n / (Z + Σ_k R_k) with R_k = n·d_k/(r·C_n), and Z what a job takes elsewhere. A
// station of which no such size was measured is shared evenly as well (the pessimistic
// bound of Denning and Buzen).
func (f fleet) proven(nodes int) float64 {
	think, cycle, known := 1/f.rate, 0.0, false
	for _, s := range f.stations {
		alone, stay, ok := s.evenly(nodes)
		if s.falls && !ok {
			return 0
		}
		known = known || ok
		think -= alone
		cycle += max(alone, stay)
	}
	if !known {
		return 0
	}
	return float64(nodes) / (max(0, think) + cycle)
}

// evenly is how long a job takes at a station alone, and with so many nodes there;
// known where a fleet of that size, or a larger one, was measured.
func (s station) evenly(nodes int) (alone, stay float64, known bool) {
	for _, x := range s.shares {
		if x.nodes >= nodes && s.alone > 0 {
			return s.alone, x.stay, true
		}
	}
	return s.service, float64(nodes) * s.service, false
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
func (r *Result) fleet() fleet { return fleetOf(r.NodeRate, r.Resources, Resource.asIs) }

// bottleneck is the station that is used up first, with the rate at which it
// is; without stations that is endless.
func (f fleet) bottleneck() (resource string, roof float64) {
	roof, slowest := f.network().Limit()
	if slowest >= 0 {
		resource = f.stations[slowest].resource
	}
	return resource, roof
}

// upper is min(n·r, min over k of 1/D_k): what n nodes can do at most (Denning
// and Buzen 1978, "The operational analysis of queueing network models").
func (f fleet) upper(nodes int) float64 {
	_, roof := f.bottleneck()
	return min(float64(nodes)*f.rate, roof)
}

// network is the fleet as queueing theory has it: X(n) is what n nodes do if they wait
// for each other. Z is what a job takes of what its node has for itself: nothing where
// the stations alone take longer than 1/r.
func (f fleet) network() queueing.Closed {
	c := queueing.Closed{}
	for _, s := range f.stations {
		c.Stations = append(c.Stations, queueing.Station{Demand: s.service, Servers: 1})
	}
	c.Think = max(0, 1/f.rate-c.Total())
	return c
}

// waits reports whether there is something to wait for. Where an interval
// reaches down to no rate or no capacity at all, there is nothing to compute.
func (f fleet) waits() bool {
	endless := func(s station) bool { return !num.Finite(s.service) }
	return len(f.stations) > 0 && f.rate > 0 && !slices.ContainsFunc(f.stations, endless)
}

// at is the band for a fleet of this size.
func (f fleet) at(nodes int) Band {
	b := Band{Nodes: nodes, Upper: f.upper(nodes)}
	switch {
	case f.waits():
		b.Lower = min(max(f.least(nodes), f.proven(nodes)), b.Upper) // up to rounding it is
	case len(f.stations) == 0:
		b.Lower = b.Upper
	}
	return b
}

// falls reports a station of which larger fleets have less: mean value analysis
// knows none of that kind.
func (f fleet) falls() bool {
	return slices.ContainsFunc(f.stations, func(s station) bool { return s.falls })
}

// largest is the largest fleet with which a station was measured.
func (f fleet) largest() int {
	most := 0
	for _, s := range f.stations {
		for _, x := range s.shares {
			most = max(most, x.nodes)
		}
	}
	return most
}

// least is X(n), 0 where some station is none of mean value analysis.
func (f fleet) least(nodes int) float64 {
	if f.falls() {
		return 0
	}
	_, roof := f.bottleneck()
	for n, x := range f.network().Rates() {
		if n >= nodes || x >= roof*(1-rounding) { // more nodes add nothing
			return x
		}
	}
	return 0
}

// shortfall is how far below the target, as a part of it, the lower bound may
// lie: demands are not known any better.
const shortfall = 0.01

// safe is the smallest fleet, of at least so many nodes, that reaches the target
// by the lower bound, but for the shortfall; nil if none does.
func (f fleet) safe(target float64, nodes int) *int {
	if len(f.stations) == 0 {
		return &nodes
	}
	if _, roof := f.bottleneck(); !f.waits() || target > roof*(1+rounding) {
		return nil
	}
	enough, falls := target*(1-shortfall), f.falls()
	for n, x := range f.network().Rates() {
		switch {
		case n >= nodes && (!falls && x >= enough || f.proven(n) >= enough):
			return &n
		case n >= maxFleet, falls && n >= f.largest():
			return nil
		}
	}
	return nil
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
	at := f.at(r.Nodes)
	r.Rate, r.NodesSafe = &at, f.safe(r.Target, r.Nodes)
	if r.NodesSafe != nil {
		safe := f.at(*r.NodesSafe)
		r.RateSafe = &safe
	}
}

// noteWaiting warns of a fleet that suffices by its upper bound alone.
func (r *Result) noteWaiting(n *model.Doubts) {
	if r.Rate == nil || r.Answer == Fails || r.Answer == Unknown || r.Rate.Lower >= r.Target*(1-shortfall) {
		return
	}
	enough := "no number of nodes does it by that bound"
	if r.NodesSafe != nil {
		enough = num.Do(*r.NodesSafe, "node") + " it by that bound"
	}
	where, _ := r.fleet().bottleneck()
	n.Warn("nodes_wait", "by the lower bound %s %s of the %s wanted, because nodes wait for each other at %s; %s",
		num.Do(r.Nodes, "node"), perSecond(r.Rate.Lower), perSecond(r.Target), where, enough)
}
