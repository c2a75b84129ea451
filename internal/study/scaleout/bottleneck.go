package scaleout

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/scalability"
	"github.com/scalebench/scalebench/internal/stats"
)

// Bottleneck is what ends growth: the name of a shared resource such as objectstore.put,
// or one of these.
type Bottleneck string

// The bottlenecks that are no resource by name.
const (
	OwnProcessors Bottleneck = "processors" // of the nodes: growth goes on with nodes
	Machine       Bottleneck = "machine"    // processors of a machine that nodes share
	Queue         Bottleneck = "queue"      // jobs do not come fast enough
	None          Bottleneck = "none"       // growth was not seen to end
	Unknown       Bottleneck = "unknown"    // the data do not show it
)

// From which shares something counts.
const (
	goodEfficiency = .9  // with it a fleet grows in proportion
	poorEfficiency = .75 // with it growth ends, whatever a resource's use
	busyNode       = .8  // of a node's processors
	busyMachine    = .85 // of a machine's processors
	heavyUse       = .7  // of a resource's capacity
	lightUse       = .5  // of a resource's capacity: something else must be saturated
	grownShare     = .25 // of all growth of the time of a job, to be a candidate
)

// Stage is what a part of a job takes on average in the smallest and in the largest fleet.
type Stage struct {
	Stage    Part    `json:"stage"`
	Smallest float64 `json:"smallest"` // s
	Largest  float64 `json:"largest"`  // s
	// Share is its share of all growth.
	Share float64 `json:"share"`
}

// Use is how much the largest fleet took of a shared resource.
type Use struct {
	Resource string  `json:"resource"`
	Unit     string  `json:"unit"` // a second
	Rate     float64 `json:"rate"`
	// Use is a share of the capacity; null: it is not known.
	Capacity *Range   `json:"capacity"`
	Use      *float64 `json:"use"`

	stage Part
}

func (u Use) quantity() quantity { return quantity{u.Resource, u.Unit} }

// Processors is how much of them nodes and machines used, as shares of 1; null: not known.
type Processors struct {
	Smallest        *float64 `json:"smallest"`
	Largest         *float64 `json:"largest"`
	MachineSmallest *float64 `json:"machine_smallest"`
	MachineLargest  *float64 `json:"machine_largest"`
}

// average is the mean over points of what is known; NaN: nothing is.
func average(points []point, of func(point) float64) float64 {
	var values []float64
	for _, x := range points {
		if v := of(x); num.Finite(v) {
			values = append(values, v)
		}
	}
	return stats.Average(values)
}

// bind names the bottleneck, with the evidence. capacity has what the user gave.
func (r *Result) bind(capacity map[quantity]float64) {
	if len(r.Sizes) == 0 {
		r.Bottleneck = Unknown
		return
	}
	small, large := r.pointsOf(r.smallest().Nodes), r.pointsOf(r.largest().Nodes)
	r.stages(small, large)
	r.demand(small, large)
	r.distribute(small, large)
	r.uses(large)
	r.given(large, capacity)
	node := func(x point) float64 { return x.node }
	machine := func(x point) float64 { return x.machine }
	busy, shared := average(large, node), average(large, machine)
	if num.Finite(busy) || num.Finite(shared) {
		r.Processors = &Processors{num.IfFinite(average(small, node)), num.IfFinite(busy),
			num.IfFinite(average(small, machine)), num.IfFinite(shared)}
	}
	if r.run != nil && num.Finite(shared) && r.run.SharedCores() > 0 {
		cores := r.run.SharedCores()
		r.Uses = append(r.Uses, Use{string(Machine), evaluation.Core, shared * cores, &Range{Value: cores}, &shared, ""})
	}
	r.Bottleneck = r.bottleneck(busy, shared)
}

func (r *Result) bottleneck(busy, shared float64) Bottleneck {
	e := r.efficiency()
	linear := e >= goodEfficiency
	if c := r.curves; c != nil { // noise may look like the end of growth
		plausible := slices.Contains(c.Plausible, scalability.Linear)
		linear = linear || c.Kind == scalability.Linear || plausible && e > poorEfficiency
	}
	switch {
	case math.IsNaN(e):
		return Unknown
	case linear && busy >= busyNode:
		return OwnProcessors
	case linear:
		return None
	}
	at, use := r.grown()
	if r.machineBinds(shared, use) {
		return Machine
	}
	switch at {
	case Get, Put:
		switch {
		case use == nil:
		case use.Use != nil && *use.Use < heavyUse && e > poorEfficiency:
			return None
		case use.Use != nil && *use.Use < lightUse:
			return Unknown
		default:
			return Bottleneck(use.Resource)
		}
		return Bottleneck(map[Part]string{Get: model.ResourceObjectGet, Put: model.ResourceObjectPut}[at])
	case Wait:
		return Queue
	}
	switch {
	case shared >= busyMachine:
		return Machine
	case at == Compute && busy >= busyNode:
		return OwnProcessors
	}
	return Unknown
}

// grown is the part of a job that grew; of several, the one whose resource is nearest to
// its capacity, or else the one that grew most. Empty: none is known to have grown.
func (r *Result) grown() (at Part, use *Use) {
	best, nearest := 0.0, 0.0
	for _, s := range r.Stages {
		if s.Share < grownShare {
			continue
		}
		i := r.nearest(s.Stage)
		near := 0.0
		if i >= 0 && *r.Uses[i].Use >= heavyUse {
			near = *r.Uses[i].Use
		}
		if near < nearest || near == nearest && s.Share <= best {
			continue
		}
		at, best, nearest, use = s.Stage, s.Share, near, nil
		if i >= 0 {
			use = &r.Uses[i]
		}
	}
	return at, use
}

// nearest is the use of a part of a job that is nearest to its capacity; -1: none is known.
func (r *Result) nearest(p Part) int {
	at := -1
	for i, u := range r.Uses {
		if u.stage == p && u.Use != nil && (at < 0 || *u.Use > *r.Uses[at].Use) {
			at = i
		}
	}
	return at
}

func (r *Result) stages(small, large []point) {
	total := 0.0
	for _, part := range parts() {
		of := func(x point) float64 {
			if v, ok := x.stages[part]; ok {
				return v
			}
			return math.NaN()
		}
		s := Stage{Stage: part, Smallest: average(small, of), Largest: average(large, of)}
		if num.Finite(s.Smallest) && num.Finite(s.Largest) {
			s.Share = max(0, s.Largest-s.Smallest)
			total += s.Share
			r.Stages = append(r.Stages, s)
		}
	}
	for i := range r.Stages {
		if total > 0 {
			r.Stages[i].Share /= total
		}
	}
}

// uses adds what the largest fleet took of what is shared.
func (r *Result) uses(large []point) {
	for _, resource := range [...]string{model.ResourceObjectGet, model.ResourceObjectPut} {
		q, stage, found := quantity{resource, evaluation.ByteRate}, stageOf[resource], false
		rate := average(large, func(x point) float64 {
			if v, ok := x.takes[q]; ok {
				return v * x.rate
			}
			return math.NaN()
		})
		if !(rate > 0) {
			continue
		}
		for _, l := range r.limits() {
			if stageOf[l.Resource] == stage {
				share := rate / l.Capacity.Value
				r.Uses, found = append(r.Uses, Use{l.Resource, l.unit(), rate, &l.Capacity, &share, stage}), true
			}
		}
		if !found {
			r.Uses = append(r.Uses, Use{Resource: q.resource, Unit: q.unit, Rate: rate, stage: stage})
		}
	}
}

// given adds what the largest fleet took of what the user says there is, and nothing measured.
func (r *Result) given(large []point, capacity map[quantity]float64) {
	for _, q := range quantities() {
		c, ok := capacity[q]
		perJob := func(x point) float64 { return x.takes[q] * x.rate }
		rate := average(large, perJob)
		if !ok || !(rate > 0) {
			continue
		}
		share := rate / c
		use := Use{q.resource, q.unit, rate, &Range{Value: c}, &share, stageOf[q.resource]}
		switch i := slices.IndexFunc(r.Uses, func(u Use) bool { return u.quantity() == q }); {
		case i < 0:
			r.Uses = append(r.Uses, use)
		case r.Uses[i].Capacity == nil:
			r.Uses[i] = use
		}
	}
}

// stageOf is the part of a job that uses a resource.
var stageOf = map[string]Part{
	model.ResourceObjectGet: Get, model.ResourceNetworkReceive: Get,
	model.ResourceObjectPut: Put, model.ResourceNetworkSend: Put,
}

// limits are those of the prediction.
func (r *Result) limits() []Limit {
	if r.Predicted == nil {
		return nil
	}
	return r.Predicted.Limits
}
