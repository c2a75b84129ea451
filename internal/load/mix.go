package load

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/scalebench/scalebench/internal/model"
)

// Weight is a kind of operation and how often it is done, relative to the
// others.
type Weight struct {
	Name   string
	Weight float64
}

// Mix draws kinds of operations at random, in the proportion of their weights.
type Mix struct {
	upTo []float64 // sums of weights, of this kind and those before it
	rng  *rand.Rand
}

// NewMix is repeatable for a seed and the index of a share. The error is
// model.ErrUsage: weights must be positive, or 0 for what is never done.
func NewMix(kinds []Weight, seed uint64, share Share) (*Mix, error) {
	m := &Mix{rng: rand.New(rand.NewPCG(seed, uint64(share.Index)<<32|mixStream))} //nolint:gosec // repeatable on purpose
	sum := 0.0
	for _, k := range kinds {
		if !(k.Weight >= 0) || math.IsInf(k.Weight, 0) {
			return nil, fmt.Errorf("%w: weight %v of %s; weights are 0 or more", model.ErrUsage, k.Weight, k.Name)
		}
		sum += k.Weight
		m.upTo = append(m.upTo, sum)
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("%w: the weights of the operations add up to %v; they need a sum between", model.ErrUsage, sum)
	}
	return m, nil
}

// mixStream keeps what is drawn here apart from times of arrivals.
const mixStream = 1 << 63

// Next draws a kind: its index.
func (m *Mix) Next() int {
	if len(m.upTo) == 1 {
		return 0
	}
	x := m.rng.Float64() * m.upTo[len(m.upTo)-1]
	for i, limit := range m.upTo {
		if x < limit {
			return i
		}
	}
	return len(m.upTo) - 1
}
