package analysis

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// common is what the subjects of parallel trials went through together: a
// pause of the machine that they share slows all of them at the same moment. No
// scatter between subjects shows it, so an interval over subjects alone is too
// narrow by it.
type common struct {
	// variance of the mean total over the trials, relative to its square;
	// degrees of freedom of that estimate. Both zero when not known.
	variance, degrees float64
}

// Batches of a window: long enough to average what readings do to each other,
// many enough to estimate a variance.
const (
	batchTime   = 500 * time.Millisecond
	fewBatches  = 4
	manyBatches = 30
)

// commonOf estimates it from the course of every parallel trial, by batch means
// (Law, Simulation Modeling and Analysis, 9.5.3): the common window is cut into
// batches, and the variance of the total over batches is compared with the sum
// of the variances of the subjects. What the total varies more than independent
// subjects would is common to them. Subjects that compete vary against each
// other, and their total less: then nothing is added.
func commonOf(steps []stepReadings) common {
	var out common
	trials := 0
	for _, s := range steps {
		if s.step.Phase != model.Parallel || len(s.readings) < 2 {
			continue
		}
		if slices.ContainsFunc(s.readings, func(r reading) bool { return r.curve == nil }) {
			return common{}
		}
		batches := s.batches(timingOf(s.readings, true).common)
		if batches == nil {
			return common{} // a trial of which nothing is known spoils the mean
		}
		trials++
		out.variance += commonVariance(batches)
		// An estimate from covariances up to lag 1 is worth a third of the
		// batches (Priestley, Spectral Analysis and Time Series, 6.2.4).
		out.degrees += float64(len(batches[0])-1) / 3
	}
	if trials > 0 {
		out.variance /= float64(trials * trials)
	}
	return out
}

// batches returns the work of each reading in each batch of the window; nil
// where the points are too far apart for four batches.
func (s stepReadings) batches(window span) [][]float64 {
	step := batchTime
	for _, r := range s.readings {
		step = max(step, 2*r.curve.spacing())
		// What was done before the first point is not known to have been done
		// when.
		if first := r.curve.times[r.curve.positive]; first.After(window.start) {
			window.start = first
		}
	}
	n := min(int(window.length()/step), manyBatches)
	if n < fewBatches {
		return nil
	}
	out := make([][]float64, len(s.readings))
	for i, r := range s.readings {
		out[i] = make([]float64, n)
		last := r.curve.at(window.start)
		for j := range n {
			edge := r.curve.at(window.start.Add(window.length() * time.Duration(j+1) / time.Duration(n)))
			out[i][j], last = edge-last, edge
		}
	}
	return out
}

// spacing is the longest time between two points.
func (c *curve) spacing() time.Duration {
	var longest time.Duration
	for i := c.positive + 1; i < len(c.times); i++ {
		longest = max(longest, c.times[i].Sub(c.times[i-1]))
	}
	return longest
}

// at is the counter at a moment, between two points in proportion. It serves
// to see how the work varied, never to score it.
func (c *curve) at(t time.Time) float64 {
	i, found := slices.BinarySearchFunc(c.times, t, time.Time.Compare)
	switch {
	case found:
		return c.values[i]
	case i == 0:
		return c.values[0]
	case i == len(c.times):
		return c.values[i-1]
	}
	share := t.Sub(c.times[i-1]).Seconds() / c.times[i].Sub(c.times[i-1]).Seconds()
	return c.values[i-1] + share*(c.values[i]-c.values[i-1])
}

// commonVariance is the variance of the mean of the total that is common to the
// rows, relative to the square of the total; 0 when there is none.
func commonVariance(batches [][]float64) float64 {
	n := len(batches[0])
	total := make([]float64, n)
	own := 0.0
	for _, row := range batches {
		for j, x := range row {
			total[j] += x
		}
		own += longRun(row)
	}
	mean, err := stats.Mean(total)
	if err != nil || !(mean > 0) {
		return 0
	}
	return max(0, longRun(total)-own) / (float64(n) * mean * mean)
}

// longRun is n times the variance of the mean of a series: its variance and
// twice the covariance of neighbours, since batches cut what happens in two. The
// mean that both are taken about makes them too small by a share of 2/n.
func longRun(xs []float64) float64 {
	n := float64(len(xs))
	mean, err := stats.Mean(xs)
	if err != nil || n <= 2 {
		return 0
	}
	sum := 0.0
	for i, x := range xs {
		sum += (x - mean) * (x - mean)
		if i > 0 {
			sum += 2 * (x - mean) * (xs[i-1] - mean)
		}
	}
	return sum / (n - 1) * n / (n - 2)
}

// widen adds what is common to an interval of the index, in quadrature: the two
// are independent. half is what it adds in points by itself.
func (c common) widen(iv model.Interval, cdi float64) (wider model.Interval, half float64) {
	if !(c.variance > 0) {
		return iv, 0
	}
	t, err := stats.TQuantile((1+level)/2, c.degrees)
	if err != nil {
		return iv, 0 // no degrees of freedom: nothing is known
	}
	half = t * math.Abs(100-cdi) * math.Sqrt(c.variance)
	return model.Interval{cdi - math.Hypot(cdi-iv[0], half), cdi + math.Hypot(iv[1]-cdi, half)}, half
}
