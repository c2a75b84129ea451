package evaluation

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// resolution is how well the instrument itself knows the mean capacity of each
// phase: relative standard uncertainties. The scatter between subjects cannot
// tell it: behind one hard limit subjects may agree to a part in ten thousand
// while all counters are read late by a part in a thousand.
type resolution struct{ serial, parallel float64 }

// coverage is the factor from a standard uncertainty to a 95 % interval: Φ⁻¹
// of 0.975.
const coverage = 1.959964

// floor widens an interval of the index to at least what the instrument
// resolves: cdi ± half, in points. The efficiency E = p/s inherits the relative
// uncertainties of both phases, so that half = 100·1.96·E·√(u_s² + u_p²).
func (r resolution) floor(iv Interval, cdi float64) (wider Interval, half float64) {
	half = coverage * math.Abs(100-cdi) * math.Hypot(r.serial, r.parallel)
	return Interval{min(iv[0], cdi-half), max(iv[1], cdi+half)}, half
}

// precision is what one reading tells about the instrument.
type precision struct {
	noise float64 // variance of one reading of the counter / work², may be negative by chance
	grain float64 // greatest common divisor of all increments; 0: none
	work  float64 // in the unit of the counter
	clock float64 // error of the clock / time between first and last point
	// Of a value that was reported: itself, and its decimals.
	value    float64
	decimals int
}

// precision looks at the points from first to last, between which a rate is taken.
func (c *curve) precision(first, last int, clockError time.Duration) precision {
	f := precision{
		work:  c.values[last] - c.values[first],
		clock: clockError.Seconds() / c.times[last].Sub(c.times[first]).Seconds(),
		grain: c.grain(first, last),
	}
	f.noise = c.readingNoise(first, last) / (f.work * f.work)
	return f
}

// readingNoise estimates the variance of a single reading, in the square of
// the counter's unit, from the counter alone. A reading that is late or early
// makes one increment too large and the next too small by the same amount, so
// that the increments' deviations from the mean rate have the covariance −s²
// from one to the next; true changes of the rate do not do that. (In the words
// of clock metrology: white phase noise against white frequency noise.)
func (c *curve) readingNoise(first, last int) float64 {
	if last-first < 3 {
		return 0
	}
	rate := (c.values[last] - c.values[first]) / c.times[last].Sub(c.times[first]).Seconds()
	var before, sum float64
	for i := first + 1; i <= last; i++ {
		e := c.values[i] - c.values[i-1] - rate*c.times[i].Sub(c.times[i-1]).Seconds()
		if i > first+1 {
			sum += before * e
		}
		before = e
	}
	return -sum / float64(last-first-1)
}

// grain is the greatest common divisor of all increments: the size of an object
// where work is counted by whole objects; 0 if the counter does not count whole
// numbers.
func (c *curve) grain(first, last int) float64 {
	const exact = 1 << 53 // beyond it a float64 does not hold every integer
	var g float64
	for i := first + 1; i <= last; i++ {
		d := c.values[i] - c.values[i-1]
		if d != math.Trunc(d) || c.values[i] >= exact {
			return 0
		}
		g = gcd(g, d)
	}
	return g
}

// gcd is the greatest common divisor of whole numbers; gcd(0, x) is x.
func gcd(a, b float64) float64 {
	for b > 0 {
		a, b = b, math.Mod(a, b)
	}
	return a
}

// decimals counts the digits behind the point of the shortest decimal that
// gives the value.
func decimals(v float64) int {
	_, behind, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	return len(behind)
}

// ends is the relative standard uncertainty of a phase's mean that no counter
// tells of: how tasks start and stop, and what a limit lets through at first.
// Labs show it, whose efficiency is known by arithmetic: it is measured to 0.2 to
// 0.4 % of itself (docs/lab.md), where a phase of this one makes 0.28 %.
const ends = 0.002

// resolutionOf combines the readings of all steps. The errors are taken as
// common to all subjects of a phase, not as averaging out over them: the same
// program reads the same kind of counter in the same way everywhere.
func resolutionOf(steps []stepReadings) resolution {
	var all, serial, parallel []precision
	most := 0 // decimals, of the most precise reported value
	for _, s := range steps {
		for _, r := range s.readings {
			all = append(all, r.precision)
			most = max(most, r.precision.decimals)
			if s.step.Phase == model.Parallel {
				parallel = append(parallel, r.precision)
			} else {
				serial = append(serial, r.precision)
			}
		}
	}
	// How a program counts and prints is one thing for all of its tasks.
	grain, last := grainOf(all), math.Pow10(-most)
	return resolution{math.Hypot(uncertainty(serial, grain, last), ends), math.Hypot(uncertainty(parallel, grain, last), ends)}
}

// grainOf is the grain of all counters together.
func grainOf(all []precision) float64 {
	var g float64
	for _, f := range all {
		if f.grain == 0 {
			return 0
		}
		g = gcd(g, f.grain)
	}
	return g
}

// uncertainty is the relative standard uncertainty of a phase's mean. Work
// between two readings has the noise of both; a counter of whole grains lags by
// up to one grain at either end (q²/12 each); the window may be misplaced by up
// to the clock's error at either end (e²/3 each); a reported value is rounded
// to its last digit (d²/12).
func uncertainty(fs []precision, grain, last float64) float64 {
	var noise, quantum, clock, rounding float64
	for _, f := range fs {
		noise += f.noise
		clock += f.clock
		if f.work > 0 {
			quantum += grain / f.work
		}
		if f.value > 0 {
			rounding += last / f.value
		}
	}
	if n := float64(len(fs)); n > 0 {
		noise, quantum, clock, rounding = noise/n, quantum/n, clock/n, rounding/n
	}
	return math.Sqrt(2*max(0, noise) + quantum*quantum/6 + 2*clock*clock/3 + rounding*rounding/12)
}

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
// many enough to estimate a variance: in a short window they are shorter, but
// never than two readings.
const (
	batchTime   = 500 * time.Millisecond
	fewBatches  = 4
	someBatches = 8
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
		batches := s.course()
		if batches == nil {
			return common{} // one unknown trial makes the mean unknown
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
func (s stepReadings) batches(window observe.Span) [][]float64 {
	var step time.Duration
	for _, r := range s.readings {
		step = max(step, 2*r.curve.spacing())
		// What was done before the first point is not known to have been done
		// when.
		if first := r.curve.times[r.curve.positive]; first.After(window.Start) {
			window.Start = first
		}
	}
	step = max(step, min(batchTime, window.Length()/someBatches))
	if step <= 0 {
		return nil // no window, or points without time between them
	}
	n := min(int(window.Length()/step), manyBatches)
	if n < fewBatches {
		return nil
	}
	out := make([][]float64, len(s.readings))
	for i, r := range s.readings {
		out[i] = make([]float64, n)
		last := r.curve.at(window.Start)
		for j := range n {
			edge := r.curve.at(window.Start.Add(window.Length() * time.Duration(j+1) / time.Duration(n)))
			out[i][j], last = edge-last, edge
		}
	}
	return out
}

// spacing is the median time between two points: a pause is none of it.
func (c *curve) spacing() time.Duration {
	var gaps []time.Duration
	for i := c.positive + 1; i < len(c.times); i++ {
		gaps = append(gaps, c.times[i].Sub(c.times[i-1]))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
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
// rows, relative to the square of the total; 0 if they have none.
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
func (c common) widen(iv Interval, cdi float64) (wider Interval, half float64) {
	if !(c.variance > 0) {
		return iv, 0
	}
	t, err := stats.TQuantile((1+level)/2, c.degrees)
	if err != nil {
		return iv, 0 // no degrees of freedom: nothing is known
	}
	half = t * math.Abs(100-cdi) * math.Sqrt(c.variance)
	return Interval{cdi - math.Hypot(cdi-iv[0], half), cdi + math.Hypot(iv[1]-cdi, half)}, half
}
