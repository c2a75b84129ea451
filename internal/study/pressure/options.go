package pressure

import (
	"math"
	"slices"
	"sort"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
)

// Input is an amount that a user provisions of a service, and its price.
type Input struct {
	Least float64 // the smallest value that may be chosen; it grows from it in steps of 1
	Most  float64
	Price Price
}

// value is that after so many steps.
func (i Input) value(steps int) float64 { return min(i.Most, i.Least+float64(steps)) }

// cheapest are the values of inputs with the lowest monthly price of which the provider offers enough. A larger input
// must not be less. If the largest values are not enough, there are none.
//
// First it lowers one input after the other, until none can be lowered alone; once for each input that may come first.
// That is the optimum if each limit depends on one input, as with all volumes whose model comes with the program. Of
// other models, boxes of values that may be cheaper are divided until none is left.
func cheapest(inputs []Input, enough func(values []float64) bool) (values []float64, monthly float64) {
	s := search{inputs: inputs, enough: enough, monthly: math.Inf(1), boxes: mostDivisions}
	least, most := s.corners()
	for first := range max(1, len(inputs)) {
		at := slices.Clone(most)
		if !enough(at) {
			return nil, 0
		}
		for lowered := true; lowered; {
			lowered = false
			for k := range inputs {
				i := (first + k) % len(inputs)
				before := at[i]
				s.lower(least, at, i)
				lowered = lowered || at[i] < before
			}
		}
		if price := s.price(at); price < s.monthly {
			s.values, s.monthly = at, price
		}
	}
	s.divide(least, most)
	return s.values, s.monthly
}

// mostDivisions limits the time: models with limits of two inputs take a few hundred.
const mostDivisions = 5000

// search looks for the cheapest values; values and monthly are the best so far.
type search struct {
	inputs  []Input
	enough  func(values []float64) bool
	values  []float64
	monthly float64
	boxes   int // that may still be looked at
}

// corners are the least and the largest values.
func (s *search) corners() (least, most []float64) {
	least, most = make([]float64, len(s.inputs)), make([]float64, len(s.inputs))
	for i, in := range s.inputs {
		least[i], most[i] = in.Least, in.Most
	}
	return least, most
}

func (s *search) price(at []float64) (sum float64) {
	for i, in := range s.inputs {
		sum += in.Price.Monthly(at[i])
	}
	return sum
}

// lower lowers one of the values to the least one that is enough.
func (s *search) lower(least, at []float64, i int) {
	before, in := at[i], Input{Least: least[i], Most: s.inputs[i].Most}
	steps := int(math.Ceil(before - in.Least - same))
	n := sort.Search(steps, func(n int) bool {
		at[i] = in.value(n)
		return s.enough(at)
	})
	at[i] = min(before, in.value(n))
}

// divide looks for cheaper values in a box. No value of it can be lower than what is enough with the most of all the
// others.
func (s *search) divide(least, most []float64) {
	if s.boxes--; s.boxes < 0 || !(s.price(least) < s.monthly*(1-same)) || !s.enough(most) {
		return
	}
	low, at := slices.Clone(least), slices.Clone(most)
	for i := range at {
		s.lower(least, at, i)
		low[i], at[i] = at[i], most[i]
	}
	price := s.price(low)
	switch {
	case !(price < s.monthly*(1-same)):
		return
	case s.enough(low):
		s.values, s.monthly = low, price
		return
	}
	widest, cost := -1, -1.0
	for i, in := range s.inputs {
		if d := in.Price.Monthly(most[i]) - in.Price.Monthly(low[i]); most[i]-low[i] > same && d > cost {
			widest, cost = i, d
		}
	}
	if widest < 0 {
		return
	}
	middle := Input{Least: low[widest], Most: most[widest]}
	half := int((most[widest] - low[widest]) / 2)
	below, above := slices.Clone(most), slices.Clone(low)
	below[widest], above[widest] = middle.value(half), middle.value(half+1)
	s.divide(low, below)
	s.divide(above, most)
}

const same = levels.Same

// Option is one way to serve more requests.
type Option struct {
	Nodes int `json:"nodes"`
	// Throughput is what it serves, as a multiple of the present one.
	Throughput Range    `json:"throughput"`
	Monthly    *float64 `json:"monthly"` // price of all nodes with their services; null: not known
	// PerRate is the monthly price of one request a second; null: not known.
	PerRate *Range `json:"per_rate"`
}

// NewOption prices an option. served is the present throughput, requests a second; a price of NaN and a throughput of 0
// are not known.
func NewOption(nodes int, throughput Range, monthly float64, served Range) *Option {
	out := &Option{Nodes: nodes, Throughput: throughput, Monthly: num.IfFinite(monthly)}
	if out.Monthly != nil && served.Value > 0 {
		out.PerRate = &Range{Value: monthly / (throughput.Value * served.Value),
			Lo: monthly / (throughput.Hi * served.Hi), Hi: monthly / (throughput.Lo * served.Lo)}
	}
	return out
}

// ScaleOut is how many nodes serve a growth, if the throughput is linear in the nodes: enough are needed for it, and
// below are the most whose throughput stays below it. The paper compares with these (5.3). Neither is fewer than now.
func ScaleOut(nodes int, growth float64) (below, enough int) {
	enough = int(math.Ceil(float64(nodes) * growth * (1 - same)))
	return max(nodes, enough-1), max(nodes, enough)
}
