package record

import (
	"math"

	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// grid divides the time of a chart into bins of equal width, so that nodes can
// be compared, and many readings become few.
type grid struct {
	from, width float64
	bins        int
}

// edge is where bin i begins.
func (g grid) edge(i int) float64 { return g.from + float64(i)*g.width }

// edges are where the bins begin, and where the last one ends.
func (g grid) edges() []float64 {
	out := make([]float64, g.bins+1)
	for i := range out {
		out[i] = g.edge(i)
	}
	return out
}

// rates is the mean rate of a counter in every bin; NaN where less than half
// of the bin was watched, nil where the counter does not exist. Between two
// readings a counter grew evenly as far as is known, so that the sum over
// bins is what it grew.
func (g grid) rates(r observe.Readings) []float64 {
	n := len(r.Times)
	if n < 2 {
		return nil
	}
	out := make([]float64, g.bins)
	at := 0
	for i := range out {
		from, to := max(g.edge(i), r.Times[0]), min(g.edge(i+1), r.Times[n-1])
		out[i] = math.NaN()
		if to-from < g.width/2 {
			continue
		}
		before, k := stats.Interpolate(r.Times, r.Values, from, at)
		after, k := stats.Interpolate(r.Times, r.Values, to, k)
		out[i], at = (after-before)/(to-from), k
	}
	return out
}

// states is the mean of a gauge's readings in every bin. A bin without one
// takes its neighbour's, for observe.Readings are never exactly a bin apart; NaN where
// that has none either, nil where the gauge does not exist.
func (g grid) states(r observe.Readings) []float64 {
	if len(r.Times) == 0 {
		return nil
	}
	sums, counts := make([]float64, g.bins), make([]int, g.bins)
	for i, t := range r.Times {
		bin := int(math.Floor((t - g.from) / g.width))
		if bin >= 0 && bin < g.bins {
			sums[bin] += r.Values[i]
			counts[bin]++
		}
	}
	out := make([]float64, g.bins)
	for i := range out {
		from := i
		switch {
		case counts[i] == 0 && i > 0 && counts[i-1] > 0:
			from = i - 1
		case counts[i] == 0 && i+1 < g.bins:
			from = i + 1
		}
		out[i] = sums[from] / float64(counts[from]) // 0/0 is NaN
	}
	return out
}

// sum adds the rates of several counters; one that does not exist counts
// nothing, and nil means that none exists.
func (g grid) sum(n observe.Host, metrics []string) []float64 {
	var out []float64
	for _, m := range metrics {
		rates := g.rates(n.Readings(m))
		if rates == nil {
			continue
		}
		if out == nil {
			out = rates
			continue
		}
		for i, v := range rates {
			out[i] += v
		}
	}
	return out
}
