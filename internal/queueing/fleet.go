package queueing

import (
	"iter"
	"math"
	"slices"
)

// Fleet is an application as a closed queueing network: a node is as many customers as
// it has slots, each with one job at a time, which takes every shared resource in turn, and
// for the rest of its time is on its own.
//
// A node whose own link is slower than the shared one spends some of that rest
// there: a station of m servers is here one of m times the speed and a delay
// (Seidmann, Schweitzer, Shalev-Oren 1987, "Computerized closed queueing network
// models of flexible manufacturing systems").
type Fleet struct {
	Rate  float64 // r, jobs per second of one node alone
	Slots int     // jobs that a node works on at once; 0 is 1
	// Shared are resources that all nodes share, and that are known to end growth.
	Shared []Shared
}

// Shared is a resource that the nodes of a fleet share.
type Shared struct {
	Name    string
	Service float64 // D, seconds that a job takes with all of it for itself: d/(r·C)
	// Alone is how long a job of a single node takes there, d/(r·C_1); 0: not known.
	// Shares are how long it takes where so many nodes that were measured are there.
	Alone  float64
	Shares []Share
	Falls  bool // larger fleets than these have less of it
}

// Share is the time of a job where so many nodes share a resource evenly.
type Share struct {
	Nodes int
	Stay  float64 // seconds: n·d/(r·C_n)
}

// Band is between which rates a fleet of so many nodes works, in jobs per
// second. Upper is where something is used up: the nodes, or a resource that
// they share. Lower is what they do if they wait for each other as customers of
// a queue do: real jobs vary less than those of queueing theory, and wait less.
type Band struct {
	Nodes int     `json:"nodes"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// rounding is the relative error that arithmetic may have made.
const rounding = 1e-9

func (f Fleet) slots() int { return max(1, f.Slots) }

// SlotsOf are the slots of a node that works on so many jobs at once, on average, while it has
// all that it can do; one where that is not known.
func SlotsOf(atOnce float64) int {
	if atOnce > 1 { // NaN is not
		return int(math.Round(atOnce))
	}
	return 1
}

// Whole rounds a number of nodes by math.Ceil or math.Floor, but a whole number up to rounding is
// that number: 0.3/0.1 is 2.9999999999999996.
func Whole(v float64, round func(float64) float64) float64 {
	if near := math.Round(v); math.Abs(v-near) <= rounding*max(1, near) {
		return near
	}
	return round(v)
}

// Bottleneck is the resource that is used up first, with the rate at which it
// is; without shared resources that is endless.
func (f Fleet) Bottleneck() (resource string, roof float64) {
	roof, slowest := f.stations().Limit()
	if slowest >= 0 {
		resource = f.Shared[slowest].Name
	}
	return resource, roof
}

// Upper is min(n·r, min over k of 1/D_k): what n nodes can do at most (Denning
// and Buzen 1978, "The operational analysis of queueing network models").
func (f Fleet) Upper(nodes int) float64 {
	_, roof := f.Bottleneck()
	return min(float64(nodes)*f.Rate, roof)
}

func (f Fleet) stations() Closed {
	c := Closed{}
	for _, s := range f.Shared {
		c.Stations = append(c.Stations, Station{Demand: s.Service, Servers: 1})
	}
	return c
}

// Network is the fleet as queueing theory has it: X(n·slots) is what n nodes do if they
// wait for each other. The think time is what a job takes of what its node has for itself,
// such that one node does r; nothing where the stations alone take longer.
func (f Fleet) Network() Closed {
	c := f.stations()
	c.Think = max(0, float64(f.slots())/f.Rate-c.Total())
	if f.slots() == 1 || c.Think == 0 || math.IsInf(c.Think, 0) {
		return c
	}
	// Slots of one node wait for each other as well: that is in r.
	lo, hi := 0.0, c.Think
	for range 60 { // bisected to the last digit
		c.Think = (lo + hi) / 2
		if c.at(f.slots()) < f.Rate {
			hi = c.Think
		} else {
			lo = c.Think
		}
	}
	return c
}

// at is X with so many users.
func (c Closed) at(users int) float64 {
	for n, x := range c.Rates() {
		if n == users {
			return x
		}
	}
	return 0
}

// Rates yields what 1, 2, 3, … nodes do if they wait for each other.
func (f Fleet) Rates() iter.Seq2[int, float64] {
	return func(yield func(nodes int, rate float64) bool) {
		for users, x := range f.Network().Rates() {
			if users%f.slots() == 0 && !yield(users/f.slots(), x) {
				return
			}
		}
	}
}

// waits reports whether there is something to wait for. Where an interval
// reaches down to no rate or no capacity at all, there is nothing to compute.
func (f Fleet) waits() bool {
	endless := func(s Shared) bool { return math.IsNaN(s.Service) || math.IsInf(s.Service, 0) }
	return len(f.Shared) > 0 && f.Rate > 0 && !slices.ContainsFunc(f.Shared, endless)
}

// Band is the band for a fleet of this size.
func (f Fleet) Band(nodes int) Band {
	b := Band{Nodes: nodes, Upper: f.Upper(nodes)}
	switch {
	case f.waits():
		b.Lower = min(max(f.Least(nodes), f.Proven(nodes)), b.Upper) // up to rounding it is
	case len(f.Shared) == 0:
		b.Lower = b.Upper
	}
	return b
}

// Falls reports a resource of which larger fleets have less: mean value analysis
// knows none of that kind.
func (f Fleet) Falls() bool {
	return slices.ContainsFunc(f.Shared, func(s Shared) bool { return s.Falls })
}

// largest is the largest fleet with which a resource was measured.
func (f Fleet) largest() int {
	most := 0
	for _, s := range f.Shared {
		for _, x := range s.Shares {
			most = max(most, x.Nodes)
		}
	}
	return most
}

// Least is what so many nodes do if they wait for each other, 0 where some resource is
// none of mean value analysis.
func (f Fleet) Least(nodes int) float64 {
	if f.Falls() {
		return 0
	}
	_, roof := f.Bottleneck()
	for n, x := range f.Rates() {
		if n >= nodes || x >= roof*(1-rounding) { // more nodes add nothing
			return x
		}
	}
	return 0
}

// Proven is a lower bound of what so many nodes do, by what as many were seen to
// share; 0 where no resource was measured with so many. Of each resource a job has no
// less than an even share, also where all nodes are there at once. That is
// n / (Z + Σ_k R_k) with R_k = n·d_k/(r·C_n), and Z what a job takes elsewhere. A
// resource of which no such size was measured is shared evenly as well (the pessimistic
// bound of Denning and Buzen).
func (f Fleet) Proven(nodes int) float64 {
	slots := float64(f.slots())
	think, cycle, known := slots/f.Rate, 0.0, false
	for _, s := range f.Shared {
		alone, stay, ok := s.evenly(nodes)
		if s.Falls && !ok {
			return 0
		}
		known = known || ok
		think -= alone
		cycle += max(alone, slots*stay)
	}
	if !known {
		return 0
	}
	return slots * float64(nodes) / (max(0, think) + cycle)
}

// evenly is how long a job takes at a resource alone, and with so many nodes there;
// known where a fleet of that size, or a larger one, was measured.
func (s Shared) evenly(nodes int) (alone, stay float64, known bool) {
	for _, x := range s.Shares {
		if x.Nodes >= nodes && s.Alone > 0 {
			return s.Alone, x.Stay, true
		}
	}
	return s.Service, float64(nodes) * s.Service, false
}

// Shortfall is how far below a target, as a part of it, the lower bound may lie: demands
// are not known any better.
const Shortfall = .01

// Safe is the smallest fleet, of at least so many nodes, that reaches the target
// by the lower bound, but for [Shortfall]; nil if none does.
func (f Fleet) Safe(target float64, nodes int) *int {
	if len(f.Shared) == 0 {
		return &nodes
	}
	if _, roof := f.Bottleneck(); !f.waits() || target > roof*(1+rounding) {
		return nil
	}
	enough, falls := target*(1-Shortfall), f.Falls()
	for n, x := range f.Rates() {
		switch {
		case n >= nodes && (!falls && x >= enough || f.Proven(n) >= enough):
			return &n
		case n >= MostUsers, falls && n >= f.largest():
			return nil
		}
	}
	return nil
}

// Range is a value with the ends of its interval.
type Range struct{ Value, Lo, Hi float64 }

// Limit is a shared resource by what a job takes of it and what there is of it a second.
type Limit struct {
	Name             string
	PerJob, Capacity Range
}

// Ends are a fleet by the figures themselves, and by the ends of their intervals with
// which it is slowest and fastest.
type Ends struct {
	Fleet
	Slowest, Fastest Fleet
}

// NewEnds makes them of the rate of one node and what all share.
func NewEnds(rate Range, slots int, limits ...Limit) Ends {
	at := func(rate float64, ends func(l Limit) (perJob, capacity float64)) Fleet {
		f := Fleet{Rate: rate, Slots: slots}
		for _, l := range limits {
			perJob, capacity := ends(l)
			f.Shared = append(f.Shared, Shared{Name: l.Name, Service: perJob / capacity})
		}
		return f
	}
	return Ends{
		at(rate.Value, func(l Limit) (float64, float64) { return l.PerJob.Value, l.Capacity.Value }),
		at(rate.Lo, func(l Limit) (float64, float64) { return l.PerJob.Hi, l.Capacity.Lo }),
		at(rate.Hi, func(l Limit) (float64, float64) { return l.PerJob.Lo, l.Capacity.Hi }),
	}
}

// Interval is what a fleet of this size does at the ends of all intervals: Lower of the
// slowest, Upper of the fastest.
func (e Ends) Interval(nodes int) Band {
	return Band{Nodes: nodes, Lower: e.Slowest.Band(nodes).Lower, Upper: e.Fastest.Upper(nodes)}
}
