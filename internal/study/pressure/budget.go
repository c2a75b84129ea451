package pressure

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// Input is what a user provisions of a service, and its price.
type Input struct {
	Name  string
	Least float64 // the smallest value that may be chosen: the present one if it cannot be lowered
	Most  float64
	Step  float64 // by which it grows from Least; 0: 1
	Price Price
}

// value is that after so many steps.
func (i Input) value(steps int) float64 { return min(i.Most, i.Least+float64(steps)*i.step()) }

func (i Input) step() float64 {
	if i.Step > 0 {
		return i.Step
	}
	return 1
}

// Budget is a service whose levels depend on inputs.
type Budget struct {
	Inputs []Input
	// Levels are the rates of its limits at values of the inputs. A larger input must not lower a level; an error is
	// a combination that the provider does not offer.
	Levels func(values []float64) ([]float64, error)
}

// ErrNotOffered says that no values of the inputs give these levels. Another size or kind of the service helps.
var ErrNotOffered = errors.New("no values of the inputs give these levels")

// Cheapest are the values of the inputs, in whole steps, with the lowest monthly price whose levels are at least
// needed (0: any). It lowers one input after the other as far as the levels allow, until none can be lowered alone;
// once for each input that may come first. That is the optimum if each limit depends on one input, as with all
// volumes whose model comes with the program. Error: [ErrNotOffered].
func (b Budget) Cheapest(needed []float64) (values []float64, monthly float64, err error) {
	monthly = math.Inf(1)
	for first := range max(1, len(b.Inputs)) {
		at := make([]float64, len(b.Inputs))
		for i, in := range b.Inputs {
			at[i] = in.Most
		}
		if err := b.check(at, needed); err != nil {
			return nil, 0, err
		}
		for lowered := true; lowered; {
			lowered = false
			for k := range b.Inputs {
				i := (first + k) % len(b.Inputs)
				in, before := b.Inputs[i], at[i]
				steps := int(math.Ceil((before-in.Least)/in.step() - same))
				n := sort.Search(steps, func(n int) bool {
					at[i] = in.value(n)
					return b.check(at, needed) == nil
				})
				at[i] = min(before, in.value(n))
				lowered = lowered || at[i] < before
			}
		}
		price := 0.0
		for i, in := range b.Inputs {
			price += in.Price.Monthly(at[i])
		}
		if price < monthly {
			values, monthly = at, price
		}
	}
	return values, monthly, nil
}

// same is the relative difference below which two levels are the same.
const same = 1e-9

func (b Budget) check(at, needed []float64) error {
	levels, err := b.Levels(at)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	for l, rate := range levels {
		if rate < needed[l]*(1-same) {
			return fmt.Errorf("%w: limit %d is at most %g", ErrNotOffered, l, rate)
		}
	}
	return nil
}

// Option is one way to serve more requests.
type Option struct {
	Nodes   int      `json:"nodes"`
	Growth  Range    `json:"growth"`  // of the throughput
	Monthly *float64 `json:"monthly"` // price of all nodes with their services; null: not known
	// PerRate is the monthly price of one request a second; null: not known.
	PerRate *Range `json:"per_rate"`
}

// NewOption prices an option. throughput is the present one, requests a second; a price of NaN and a throughput of 0
// are not known.
func NewOption(nodes int, growth Range, monthly float64, throughput Range) Option {
	out := Option{Nodes: nodes, Growth: growth, Monthly: num.IfFinite(monthly)}
	if out.Monthly != nil && throughput.Value > 0 {
		out.PerRate = &Range{Value: monthly / (growth.Value * throughput.Value),
			Lo: monthly / (growth.Hi * throughput.Hi), Hi: monthly / (growth.Lo * throughput.Lo)}
	}
	return out
}

// ScaleOut is how many nodes the paper compares a growth with (5.3): the largest number whose throughput, linear in
// the nodes, stays below that of the alternative; never fewer than now.
func ScaleOut(nodes int, growth float64) (most int, by Range) {
	most = max(nodes, int(math.Ceil(float64(nodes)*growth*(1-same)))-1)
	g := float64(most) / float64(nodes)
	return most, Range{g, g, g}
}
