package scaleout

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/internal/stats"
)

// Prediction is what is expected of fleets, from one node and from what all share. Steps
// of larger fleets store it before they run.
type Prediction struct {
	// Made is when the last measurement ended of which it was made.
	Made time.Time `json:"made"`
	// Rate is what one node alone does, in jobs a second, from so many steps.
	Rate  Range `json:"rate"`
	Steps int   `json:"steps"`
	// Slots is how many jobs a node works on at once.
	Slots int `json:"slots"`
	// Lasts is how long a step does jobs, in s; 0: not known.
	Lasts  float64 `json:"lasts,omitempty"`
	Limits []Limit `json:"limits"`
	Sizes  []Band  `json:"sizes"`
}

// Range is a value with its interval at 95 %; null: not known.
type Range struct {
	Value float64     `json:"value"`
	CI    *[2]float64 `json:"ci"`
}

// rangeOf is something that cannot be negative.
func rangeOf(value float64, ci *stats.Interval) Range {
	r := Range{Value: value}
	if ci != nil {
		r.CI = &[2]float64{max(ci.Lo, 0), ci.Hi}
	}
	return r
}

// exact is the value without its interval.
func (r Range) exact() queueing.Range {
	return queueing.Range{Value: r.Value, Lo: r.Value, Hi: r.Value}
}

// ends are those of the interval, or the value where there is none.
func (r Range) ends() queueing.Range {
	if r.CI == nil {
		return r.exact()
	}
	return queueing.Range{Value: r.Value, Lo: r.CI[0], Hi: r.CI[1]}
}

// Limit is a resource that all nodes share.
type Limit struct {
	Resource string `json:"resource"`
	Workload string `json:"workload,omitempty"` // that measured the capacity
	// PerJob is in bytes, Capacity in bytes a second; of the machine in s and processors.
	PerJob   Range `json:"per_job"`
	Capacity Range `json:"capacity"`
	// Alone is how long a job of one node alone is there, in s; 0: not known.
	Alone float64 `json:"alone,omitempty"`
}

// Band is what is expected of a fleet of one size, in jobs a second.
type Band struct {
	Nodes int     `json:"nodes"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// Network is the closed queueing network and Bound is min(N·r, C/d), both by the values
	// without their intervals.
	Network float64 `json:"network"`
	Bound   float64 `json:"bound"`
	// HalfWidth is that of the band as a share of its middle.
	HalfWidth float64 `json:"half_width"`
}

// band lies around the closed network, which is what nodes do if they share the resources
// evenly, whatever the distribution of their demands (Baskett, Chandy, Muntz, Palacios 1975).
// Below it is only what was measured, upwards also a part of the way to min(N·r, C/d), where
// nodes never wait before something is saturated. Each measured value moves both ends by its
// interval. The values are independent, so that their effects add up as squares.
func (p *Prediction) band(nodes int) Band {
	as := p.fleet(nothing)
	at := as.Band(nodes)
	b := Band{Nodes: nodes, Network: at.Lower, Bound: at.Upper}
	top := p.top(at)
	down, up := square(p.transient(at)*at.Lower), square(p.transient(at)*top)
	for i := range 1 + 2*len(p.Limits) {
		x := p.fleet(i)
		down += square(at.Lower - x.Slowest.Band(nodes).Lower)
		up += square(p.top(x.Fastest.Band(nodes)) - top)
	}
	b.Lower, b.Upper = max(0, at.Lower-math.Sqrt(down)), top+math.Sqrt(up)
	if b.Upper > 0 {
		b.HalfWidth = (b.Upper - b.Lower) / (b.Upper + b.Lower)
	}
	return b
}

// top is where a band of which the ends are these ends. If one job has all of a resource
// while it is there, others wait for it: half of the way to min(N·r, C/d) is for resources
// that serve one after the other. If a job alone can use only a part of it, as much more of
// the way: many jobs are there at once then, before they wait.
func (p *Prediction) top(at queueing.Band) float64 {
	part := .5
	for _, l := range p.Limits {
		used := 0.0
		if l.Alone > 0 {
			used = min(1, l.PerJob.Value/l.Capacity.Value/l.Alone)
		}
		part = max(part, 1-used/2)
	}
	return at.Lower + part*(at.Upper-at.Lower)
}

// transient is by what share what steps of such a fleet do differs from the long run. All
// slots ask for the same at once in the beginning, and after the jobs that do not count
// ([scoreJobs]) they are still in step, for a time that a job's time is the measure of: that
// of Little's law.
func (p *Prediction) transient(at queueing.Band) float64 {
	if !(p.Lasts > 0) || !(at.Lower > 0) {
		return leastTransient
	}
	job := float64(p.Slots*at.Nodes) / at.Lower
	return max(leastTransient, transientPerJob*job/p.Lasts)
}

// Of simulated fleets, steps of 8 jobs and more had at most 3 % less than the steady state,
// with few exceptions. In shorter ones it grows as a job becomes a larger part of the step.
// Real fleets of five jobs a step were 7 % below the network, and 8 % above it.
const (
	leastTransient  = .03
	transientPerJob = 12 * leastTransient
)

func square(x float64) float64 { return x * x }

// What varies in a network, beside a single value.
const everything, nothing = -2, -1

// fleet is the network in which one value has its interval: 0 is the rate, 1 + 2·i what a
// job takes of limit i, 2 + 2·i its capacity; or all have theirs, or none.
func (p *Prediction) fleet(varies int) queueing.Ends {
	at := func(i int, r Range) queueing.Range {
		if i == varies || varies == everything {
			return r.ends()
		}
		return r.exact()
	}
	var limits []queueing.Limit
	for i, l := range p.Limits {
		limits = append(limits, queueing.Limit{Name: l.Resource, PerJob: at(1+2*i, l.PerJob),
			Capacity: at(2+2*i, l.Capacity)})
	}
	return queueing.NewEnds(at(0, p.Rate), p.Slots, limits...)
}

// saturation is C/d, what the shared resources carry in jobs a second, and the most that it is by
// the intervals; +Inf: nothing is shared.
func (p *Prediction) saturation() (value, most float64) {
	f := p.fleet(everything)
	_, value = f.Bottleneck()
	_, most = f.Fastest.Bottleneck()
	return value, most
}

// widest is the largest half-width.
func (p *Prediction) widest() (b Band) {
	for _, x := range p.Sizes {
		if x.HalfWidth > b.HalfWidth {
			b = x
		}
	}
	return b
}

// bandOf is the band of a size; false: there is none.
func (p *Prediction) bandOf(nodes int) (Band, bool) {
	for _, b := range p.Sizes {
		if b.Nodes == nodes {
			return b, true
		}
	}
	return Band{}, false
}

// pilot is what was measured before the prediction.
type pilot struct {
	made       time.Time
	singles    []single
	capacities []Limit // without what a job takes
}

// single is what one node came to alone.
type single struct {
	scored
	bytes, stays map[Part]float64 // of one job, there in s
	time         float64          // of one job, in s; NaN: not known
	machine      machine
}

// prediction is made of all that was measured; nil: one node was not.
func (m *pilot) prediction(slots int, sizes []int) *Prediction {
	if len(m.singles) == 0 {
		return nil
	}
	p := &Prediction{Made: m.made, Steps: len(m.singles), Slots: slots, Limits: []Limit{}}
	all := make([]scored, len(m.singles))
	busy, share := 0.0, 1/float64(len(m.singles))
	for i, s := range m.singles {
		all[i] = s.scored
		busy += s.total * s.time * share
		p.Lasts += s.lasts * share
	}
	p.Rate = estimate(all)
	if slots == 0 {
		p.Slots = queueing.SlotsOf(busy) // Little's law
	}
	for _, l := range m.capacities {
		var values, stays []float64
		for _, s := range m.singles {
			if v := s.bytes[stageOf[l.Resource]]; v > 0 {
				values = append(values, v)
			}
			if v := s.stays[stageOf[l.Resource]]; v > 0 {
				stays = append(stays, v)
			}
		}
		if len(values) == 0 {
			continue
		}
		l.PerJob = rangeOf(stats.MeanWithin(values, stats.DefaultLevel))
		if len(stays) > 0 {
			l.Alone = stats.Average(stays)
		}
		p.Limits = append(p.Limits, l)
	}
	if l, ok := machineLimit(m.singles, p.Rate.Value, slices.Max(sizes)); ok {
		p.Limits = append(p.Limits, l)
	}
	for _, n := range sizes {
		p.Sizes = append(p.Sizes, p.band(n))
	}
	return p
}
