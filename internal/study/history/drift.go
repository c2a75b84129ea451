package history

import (
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// leastWorth is how many independent runs, besides a drift, tell it from a level that
// wanders by chance; half of the runs where these are fewer.
const leastWorth = 20

// drifting doubts that the latest run is as those before, where the usual range is so wide
// only because these drift.
func (m *Metric) drifting() {
	x, last := m.Latest, len(m.Runs)-1
	if x.Verdict != As {
		return
	}
	values, times := m.means()[last-x.Before:last], make([]float64, x.Before)
	for i := range times {
		times[i] = float64(i) - float64(x.Before-1)/2
	}
	slope, p, err := stats.Drift(times, values, x.Level)
	if err != nil || p > 1-x.Level {
		return
	}
	each := (slope.Lo + slope.Hi) / 2
	level := slices.Clone(m.Runs[last-x.Before : last])
	for i := range level {
		level[i].Mean -= each * times[i]
		values[i] = level[i].Mean
	}
	size, _, err := stats.EffectiveSize(values)
	if err == nil && size < min(leastWorth, float64(x.Before)/2) {
		return
	}
	ci, ratio, ok := m.compared(level, m.Runs[last])
	if !ok || verdict(ci, m.Better) == As {
		return
	}
	mean, _ := stats.Mean(values)
	m.doubts.Problem("drift", "the %d runs before drift by %s; without that %s to %s is usual, and the latest differs "+
		"from their mean by %s; find out what drifts", x.Before, num.SignedPercent(100*each*float64(x.Before-1)/mean),
		num.SignedPercent(100*(ratio/ci.Hi-1)), num.SignedPercent(100*(ratio/ci.Lo-1)), num.SignedPercent(100*(x.Ratio-1)))
}
