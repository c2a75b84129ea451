package report

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// hostNode is what the monitor saw of one node during one task, in seconds
// since the agreed start of the task's step.
type hostNode struct {
	name   string
	begin  float64 // where offset 0, the start of the task, lies
	end    float64 // of the task
	byName map[string]model.HostSeries
	// others is how many cores the machine spent on anything but the task;
	// NaN where nobody knows.
	others float64
}

func newHostNode(r model.Result, zero time.Time) hostNode {
	n := hostNode{
		name: string(r.Node), begin: r.Started.Sub(zero).Seconds(), end: r.Ended.Sub(zero).Seconds(),
		byName: make(map[string]model.HostSeries), others: math.NaN(),
	}
	for _, s := range r.Samples {
		if s.Metric == model.MetricOtherCPU && s.Info {
			n.others = s.Value
		}
	}
	for _, s := range r.Host {
		if len(s.Offsets) == len(s.Values) && len(s.Offsets) > 0 {
			n.byName[s.Metric] = s
		}
	}
	return n
}

// readings are values of one metric at seconds since the agreed start.
type readings struct{ times, values []float64 }

func (n hostNode) series(metric string) readings {
	s := n.byName[metric]
	var out readings
	for i, at := range s.Offsets {
		if num.Finite(s.Values[i]) {
			out.times = append(out.times, n.begin+float64(at)/1e9)
			out.values = append(out.values, s.Values[i])
		}
	}
	return out
}

// span is when the node was read.
func (n hostNode) span() (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, s := range n.byName {
		from = min(from, n.begin+float64(s.Offsets[0])/1e9)
		to = max(to, n.begin+float64(s.Offsets[len(s.Offsets)-1])/1e9)
	}
	return from, to
}

// spacing is the median time between two readings of a node, at least a
// tenth of a second; one second where it cannot be told.
func (n hostNode) spacing() float64 {
	var gaps []float64
	for _, s := range n.byName {
		for i := 1; i < len(s.Offsets); i++ {
			gaps = append(gaps, float64(s.Offsets[i]-s.Offsets[i-1])/1e9)
		}
		if len(gaps) > 0 {
			break // all metrics are read together
		}
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return max(gaps[len(gaps)/2], 0.1)
}

// grid divides the time of a chart into bins of equal width, so that nodes can
// be compared, and many readings become few.
type grid struct {
	from, width float64
	bins        int
}

// newGrid covers from to to with bins no finer than the readings, and no more
// than most.
func newGrid(from, to, spacing float64, most int) grid {
	if !(to > from) || math.IsInf(to-from, 0) {
		return grid{from: 0, width: 1, bins: 0}
	}
	bins := min(max(int(math.Round((to-from)/spacing)), 1), most)
	return grid{from: from, width: (to - from) / float64(bins), bins: bins}
}

// edge is where bin i begins.
func (g grid) edge(i int) float64 { return g.from + float64(i)*g.width }

// rates is the mean rate of a counter in every bin; NaN where less than half
// of the bin was watched, nil where the counter does not exist. Between two
// readings a counter grew evenly as far as anybody knows, so that the sum over
// bins is what it grew.
func (g grid) rates(r readings) []float64 {
	n := len(r.times)
	if n < 2 {
		return nil
	}
	out := make([]float64, g.bins)
	at := 0
	for i := range out {
		from, to := max(g.edge(i), r.times[0]), min(g.edge(i+1), r.times[n-1])
		out[i] = math.NaN()
		if to-from < g.width/2 {
			continue
		}
		before, k := stats.Interpolate(r.times, r.values, from, at)
		after, k := stats.Interpolate(r.times, r.values, to, k)
		out[i], at = (after-before)/(to-from), k
	}
	return out
}

// states is the mean of a gauge's readings in every bin. A bin without one
// takes its neighbour's, for readings are never exactly a bin apart; NaN where
// that has none either, nil where the gauge does not exist.
func (g grid) states(r readings) []float64 {
	if len(r.times) == 0 {
		return nil
	}
	sums, counts := make([]float64, g.bins), make([]int, g.bins)
	for i, t := range r.times {
		bin := int(math.Floor((t - g.from) / g.width))
		if bin >= 0 && bin < g.bins {
			sums[bin] += r.values[i]
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
func (g grid) sum(n hostNode, metrics []string) []float64 {
	var out []float64
	for _, m := range metrics {
		rates := g.rates(n.series(m))
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
