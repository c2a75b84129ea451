package explain

import (
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/stats"
)

// Drift is a trend from begin to end.
type Drift struct {
	Relative    float64   `json:"relative"` // change from begin to end, by the mean
	CI          *Interval `json:"ci"`
	P           float64   `json:"p"`
	Significant bool      `json:"significant"`
	Besides     string    `json:"besides,omitempty"` // as of a change
}

// without are values at times in seconds without the drift.
func (d *Drift) without(values, times []float64) []float64 {
	mean, _ := stats.Mean(values)
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v - d.Relative*math.Abs(mean)*times[i]/times[len(times)-1]
	}
	return out
}

// driftsByDays reports whether the means of days show a trend, too: where days differ
// anyway, the hours of one of them are not so many witnesses. Fewer than ten days
// cannot be asked.
func (x *Rows) driftsByDays(values []float64) bool {
	day := x.Fact(FactDay)
	if day == nil || day.Used < leastDays {
		return true
	}
	means, _ := day.runs(values, x.inTime)
	days := make([]float64, len(means))
	for i := range days {
		days[i] = float64(i)
	}
	_, p, err := stats.Drift(days, means, x.Level)
	return err != nil || p <= 1-x.Level
}

// drift is the trend of a series; nil where it cannot be computed.
func (x *Rows) drift(values []float64, alpha float64) *Drift {
	times := x.seconds(x.inTime, len(values))
	slope, p, err := stats.Drift(times, values, x.Level)
	mean, _ := stats.Mean(values)
	if err != nil || mean == 0 {
		return nil
	}
	whole := times[len(times)-1] / math.Abs(mean)
	return &Drift{Relative: whole * (slope.Lo + slope.Hi) / 2, CI: &Interval{whole * slope.Lo, whole * slope.Hi}, P: p, Significant: p <= alpha}
}

// seconds are the times of n values of a series, from the first on; without times the places.
func (x *Rows) seconds(s series, n int) []float64 {
	times := make([]float64, n)
	for i := range times {
		times[i] = float64(i)
		if row := s.first(i); x.Frame.Times != nil {
			times[i] = float64(x.Frame.Times[row]-x.Frame.Times[0]) / float64(time.Second)
		}
	}
	return times
}

// straight reports whether a line describes the values better than levels do, by
// the BIC of normal residuals.
func straight(values []float64, changes []Change, s series) bool {
	n := float64(len(values))
	mean, _ := stats.Mean(values)
	var sxx, sxy, total float64
	for i, v := range values {
		d := float64(i) - (n-1)/2
		sxx, sxy, total = sxx+d*d, sxy+d*(v-mean), total+(v-mean)*(v-mean)
	}
	line := total - sxy*sxy/sxx
	levels := 0.0
	for _, part := range s.divided(values, changes) {
		m, _ := stats.Mean(part)
		for _, v := range part {
			levels += (v - m) * (v - m)
		}
	}
	return n*math.Log(line)+2*math.Log(n) < n*math.Log(levels)+float64(2*len(changes)+1)*math.Log(n)
}
