package analysis

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
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
func (r resolution) floor(iv model.Interval, cdi float64) (wider model.Interval, half float64) {
	half = coverage * math.Abs(100-cdi) * math.Hypot(r.serial, r.parallel)
	return model.Interval{min(iv[0], cdi-half), max(iv[1], cdi+half)}, half
}

// fuzz is what one reading tells about the instrument.
type fuzz struct {
	noise float64 // variance of one reading of the counter / work², may be negative by chance
	grain float64 // largest number of which all increments are multiples; 0: none
	work  float64 // in the unit of the counter
	clock float64 // error of the clock / time between first and last point
	// Of a value that was reported: itself, and its decimals.
	value    float64
	decimals int
}

// fuzz looks at the points from first to last, between which a rate is taken.
func (c *curve) fuzz(first, last int, clockError time.Duration) fuzz {
	f := fuzz{
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

// grain is the largest whole number of which all increments are multiples, the
// size of an object where work is counted by whole objects; 0 if the counter
// does not count whole numbers.
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

// reportedFuzz is that of a value which a program printed: it is known to its
// last digit.
func reportedFuzz(value float64) fuzz { return fuzz{value: value, decimals: decimals(value)} }

// decimals counts the digits behind the point of the shortest decimal that
// gives the value.
func decimals(v float64) int {
	_, behind, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	return len(behind)
}

// resolutionOf combines the readings of all steps. The errors are taken as
// common to all subjects of a phase, not as averaging out over them: the same
// program reads the same kind of counter in the same way everywhere.
func resolutionOf(steps []stepReadings) resolution {
	var all, serial, parallel []fuzz
	for _, s := range steps {
		for _, r := range s.readings {
			all = append(all, r.fuzz)
			if s.step.Phase == model.Parallel {
				parallel = append(parallel, r.fuzz)
			} else {
				serial = append(serial, r.fuzz)
			}
		}
	}
	// How a program counts and prints is one thing for all of its tasks.
	grain, last := commonGrain(all), lastDigit(all)
	return resolution{uncertainty(serial, grain, last), uncertainty(parallel, grain, last)}
}

// commonGrain is the grain of all counters together.
func commonGrain(all []fuzz) float64 {
	var g float64
	for _, f := range all {
		if f.grain == 0 {
			return 0
		}
		g = gcd(g, f.grain)
	}
	return g
}

// lastDigit is the unit of the last digit of the most precise reported value.
func lastDigit(all []fuzz) float64 {
	most := 0
	for _, f := range all {
		most = max(most, f.decimals)
	}
	return math.Pow10(-most)
}

// uncertainty is the relative standard uncertainty of a phase's mean. Work
// between two readings has the noise of both; a counter of whole grains lags by
// up to one grain at either end (q²/12 each); the window may be misplaced by up
// to the clock's error at either end (e²/3 each); a reported value is rounded
// to its last digit (d²/12).
func uncertainty(fs []fuzz, grain, last float64) float64 {
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
