package pressure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Period is what holds from Begin to End (Unix seconds).
type Period struct {
	Begin float64
	End   float64
	Mean  float64 // of the pressure, or of a load a second
	// Idle is the least share of the period without any work that was offered or waited; 0: not known. A
	// device's utilization is no measure of it: a throttle holds work back before it reaches the device.
	Idle float64
	// Ceiling is the largest pressure that is possible within the period; 0: that of the whole series.
	Ceiling float64
}

func (p Period) seconds() float64 { return p.End - p.Begin }

// Series are periods in ascending order that do not overlap, each known. Time between them is a gap if it is
// longer than half the median period.
type Series []Period

// NewSeries are the values of a recording's periods. Missing is the number of periods without a value; these become
// gaps.
func NewSeries(r *telemetry.Recording, values []float64) (s Series, missing int) {
	for i, x := range values {
		p := Period{Begin: r.Begin[i], End: r.End[i], Mean: x}
		if idle := r.Rates[telemetry.Idle]; idle != nil && idle[i] >= 0 { // not NaN
			p.Idle = min(idle[i], 1)
		}
		if num.Finite(x) && p.seconds() > 0 {
			s = append(s, p)
		}
	}
	return s, len(values) - len(s)
}

// each is the series with all its values changed.
func (s Series) each(change func(float64) float64) Series {
	out := slices.Clone(s)
	for i := range out {
		out[i].Mean = change(out[i].Mean)
	}
	return out
}

// Seconds is the time that the periods cover.
func (s Series) Seconds() float64 {
	total := 0.0
	for _, p := range s {
		total += p.seconds()
	}
	return total
}

// Mean is that over the time that the periods cover; NaN: there are none.
func (s Series) Mean() float64 {
	total := 0.0
	for _, p := range s {
		total += p.Mean * p.seconds()
	}
	return total / s.Seconds()
}

// Step is the median length of the periods in seconds; NaN: there are none.
func (s Series) Step() float64 {
	lengths := make([]float64, len(s))
	for i, p := range s {
		lengths[i] = p.seconds()
	}
	return stats.Median(lengths)
}

// Between are the periods that lie within two times.
func (s Series) Between(begin, end float64) Series {
	from, _ := slices.BinarySearchFunc(s, begin, func(p Period, t float64) int { return cmp.Compare(p.Begin, t) })
	to := from
	for to < len(s) && s[to].End <= end {
		to++
	}
	return s[from:to]
}

// Ceiling is the largest pressure that bounds suppose: 1 for a limit that is enforced, or the pressure of the
// largest rate that the service delivers (largest), as of the largest value of a distribution; but never less than the
// largest pressure seen. +Inf: nothing is enforced.
func (s Series) Ceiling(largest float64) float64 { return max(1, largest, s.peak()) }

// peak is the largest mean of a period.
func (s Series) peak() (out float64) {
	for _, p := range s {
		out = max(out, p.Mean)
	}
	return out
}

// Together is the load of services that share a limit, from series of their loads in the same periods. Missing is
// the number of periods that not all of them have.
func Together(all ...Series) (s Series, missing int) {
	next := make([]int, len(all))
	for _, p := range all[0] {
		load, known := 0.0, true
		for k, other := range all {
			near := p.seconds() / 10
			for next[k] < len(other) && other[next[k]].Begin < p.Begin-near {
				next[k]++
			}
			if known = known && next[k] < len(other) && math.Abs(other[next[k]].Begin-p.Begin) <= near &&
				math.Abs(other[next[k]].End-p.End) <= near; known {
				load += other[next[k]].Mean
			}
		}
		if known {
			s = append(s, Period{Begin: p.Begin, End: p.End, Mean: load})
		} else {
			missing++
		}
	}
	return s, missing
}

// stretches are the parts of the series between gaps.
func (s Series) stretches() []Series {
	var out []Series
	half, from := s.Step()/2, 0
	for i := 1; i <= len(s); i++ {
		if i == len(s) || s[i].Begin-s[i-1].End > half {
			out, from = append(out, s[from:i]), i
		}
	}
	return out
}

// SLP is the distribution of a pressure over time; each period counts by its length.
type SLP struct {
	Mean float64         `json:"mean"`
	CI   *stats.Interval `json:"ci"` // of the mean, 95 %; null: too few periods
	// P1 to P99 are the least values that were not exceeded for that share of the time.
	P1  float64 `json:"p1"`
	P25 float64 `json:"p25"`
	P75 float64 `json:"p75"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Summary describes the series; an empty one has the error [stats.ErrTooFew].
func (s Series) Summary() (SLP, error) {
	if len(s) == 0 {
		return SLP{}, fmt.Errorf("summary of a pressure: %w", stats.ErrTooFew)
	}
	out := SLP{Mean: s.Mean(), Max: s.peak()}
	if ci, err := s.MeanInterval(); err == nil {
		out.CI = &ci
	}
	marks := []struct {
		share float64
		value *float64
	}{{.01, &out.P1}, {.25, &out.P25}, {.75, &out.P75}, {.99, &out.P99}}
	passed, all := 0.0, s.Seconds()
	for _, p := range slices.SortedFunc(slices.Values(s), func(a, b Period) int { return cmp.Compare(a.Mean, b.Mean) }) {
		passed += p.seconds()
		for len(marks) > 0 && passed >= marks[0].share*all*(1-1e-12) {
			*marks[0].value, marks = p.Mean, marks[1:]
		}
	}
	return out, nil
}

// mostBatches is how many batches a mean's interval is estimated from at most.
const mostBatches = 20

// MeanInterval is the interval of the mean at 95 % from batches of neighbours (stats.BatchMeans); fewer than
// 4 periods have the error [stats.ErrTooFew].
func (s Series) MeanInterval() (stats.Interval, error) {
	n := min(len(s), mostBatches)
	batches := make([]float64, n)
	for i := range batches {
		batches[i] = s[i*len(s)/n : (i+1)*len(s)/n].Mean()
	}
	e, err := stats.BatchMeans(batches, stats.Autocorrelation(batches))
	if err != nil {
		return stats.Interval{}, fmt.Errorf("interval of a mean pressure: %w", err)
	}
	out, err := e.Interval(stats.DefaultLevel)
	out.Lo = max(0, out.Lo) // as no pressure is less
	return out, err
}

// Busiest is the window of this length (seconds) in which one of several pressures was highest on average; the
// whole time if none is as long. Advice uses the mean of all pressures in this one window: a quantile of each
// would mix different moments, and then the ratio of two pressures says nothing of what binds next. A
// window of which less than nine tenths were observed does not count.
func Busiest(all []Series, length float64) (begin, end float64) {
	begin, end = math.Inf(1), math.Inf(-1)
	for _, s := range all {
		if len(s) > 0 {
			begin, end = min(begin, s[0].Begin), max(end, s[len(s)-1].End)
		}
	}
	highest := math.Inf(-1)
	for _, s := range all {
		to, work, seconds := 0, 0.0, 0.0
		for from, p := range s {
			for to < len(s) && s[to].End <= p.Begin+length*(1+1e-9) {
				work, seconds, to = work+s[to].Mean*s[to].seconds(), seconds+s[to].seconds(), to+1
			}
			if seconds >= .9*length && work/seconds > highest {
				highest, begin, end = work/seconds, p.Begin, s[to-1].End
			}
			if to == from { // longer than the window
				to++
				continue
			}
			work, seconds = work-p.Mean*p.seconds(), seconds-p.seconds()
		}
	}
	return begin, end
}
