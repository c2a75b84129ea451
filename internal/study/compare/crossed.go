package compare

import (
	"math"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// crossing is by what factor an interval must be wider where other nodes and other
// trials are on each side, for it has the scatter of one of them: in an analysis of
// variance of nodes by trials the variance of the mean is that of the means of nodes,
// and that of the means of trials, less what noise has in both (S. R. Searle, G. Casella
// and C. E. McCulloch, Variance Components, 1992, section 4.3).
func (l *laying) crossing(inTime layout) float64 {
	var byNode, byTrial, noise float64
	for i, f := range []*frame.Frame{l.a, l.b} {
		nodes := f.GroupBy(l.subject)
		means, _ := l.values(f, nodes)
		trials, _ := l.values(f, inTime.groups[i])
		byNode += varianceOfMean(l.scaled(means))
		byTrial += varianceOfMean(l.scaled(trials))
		noise += l.noise(f, nodes, inTime.groups[i])
	}
	if most := max(byNode, byTrial); most > 0 {
		return math.Sqrt(max(1, (byNode+byTrial-noise)/most))
	}
	return 1
}

// varianceOfMean is that of independent values; 0 of fewer than two.
func varianceOfMean(xs []float64) float64 {
	sd, err := stats.SampleSD(xs)
	if err != nil {
		return 0
	}
	return sd * sd / float64(len(xs))
}

// noise is what remains beside nodes and trials, as the variance of the mean of all;
// 0 where some node lacks in some trial, or there is one of either.
func (l *laying) noise(f *frame.Frame, nodes, trials []frame.RowGroup) float64 {
	n, t := len(nodes), len(trials)
	if n < 2 || t < 2 {
		return 0
	}
	node := make([]int, f.Len())
	for i, g := range nodes {
		for _, row := range g.Rows {
			node[row] = i
		}
	}
	cells := make([]float64, n*t)
	for k, g := range trials {
		sum, count := make([]float64, n), make([]float64, n)
		for _, row := range g.Rows {
			sum[node[row]] += l.scale(f.Values[row])
			count[node[row]]++
		}
		for i := range n {
			if count[i] == 0 {
				return 0
			}
			cells[k*n+i] = sum[i] / count[i]
		}
	}
	return stats.InteractionVariance(cells, n)
}

// wider is an estimate with an interval wider by a factor, on the scale of logarithms.
func (e estimate) wider(by float64) estimate {
	if !(by > 1) || e.difference || !(e.ci.Lo > 0) {
		return e
	}
	at := math.Log(e.ratio)
	e.ci = exp(stats.Interval{Lo: at - by*(at-math.Log(e.ci.Lo)), Hi: at + by*(math.Log(e.ci.Hi)-at)})
	if z, err := stats.NormalQuantile(1 - e.p/2); err == nil {
		e.p = math.Erfc(z / by / math.Sqrt2)
	}
	return e
}
