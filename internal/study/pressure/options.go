package pressure

import (
	"math"
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
// must not be less. It lowers one input after the other, until none can be lowered alone; once for each input that may
// come first. That is the optimum if each limit depends on one input, as with all volumes whose model comes with the
// program. If the largest values are not enough, there are none.
func cheapest(inputs []Input, enough func(values []float64) bool) (values []float64, monthly float64) {
	monthly = math.Inf(1)
	for first := range max(1, len(inputs)) {
		at := make([]float64, len(inputs))
		for i, in := range inputs {
			at[i] = in.Most
		}
		if !enough(at) {
			return nil, 0
		}
		for lowered := true; lowered; {
			lowered = false
			for k := range inputs {
				i := (first + k) % len(inputs)
				in, before := inputs[i], at[i]
				steps := int(math.Ceil(before - in.Least - same))
				n := sort.Search(steps, func(n int) bool {
					at[i] = in.value(n)
					return enough(at)
				})
				at[i] = min(before, in.value(n))
				lowered = lowered || at[i] < before
			}
		}
		price := 0.0
		for i, in := range inputs {
			price += in.Price.Monthly(at[i])
		}
		if price < monthly {
			values, monthly = at, price
		}
	}
	return values, monthly
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
