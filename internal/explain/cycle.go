package explain

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

const (
	// leastCycles is how long it takes to tell what repeats each day from what does
	// not: two days.
	leastCycles = 48 * time.Hour
	// usualCycle is by what share of the mean a level goes up and down within a day
	// where nothing is known of it.
	usualCycle = 0.25
	// mostCycle is the largest amplitude that is supposed at all.
	mostCycle = 2 * usualCycle
)

// span is how long was measured.
func (x *Rows) span() time.Duration {
	if x.Frame.Times == nil {
		return 0
	}
	return time.Duration(x.Frame.Times[x.Frame.Len()-1] - x.Frame.Times[0])
}

// besidesCycle keeps of the changes in less than two days those that remain beside a
// daily cycle: half a sine looks like a step, a step not like any smooth curve.
// Cycle and steps are fitted at once, and the least clear step is struck out, until
// each is as unlikely by chance as what [stats.ChangePoints] asks of a step, 3·ln n,
// is of independent values.
func (c *Course) besidesCycle(x *Rows, values []float64, changes []Change) []Change {
	if len(changes) == 0 || x.Frame.Times == nil || x.span() >= leastCycles {
		return changes
	}
	kept, most := slices.Clone(changes), stats.FTail(3*math.Log(float64(len(values))), 1, 1e9)
	fit := x.fitCycle(values, kept)
	for len(kept) > 0 {
		weakest := slices.Index(fit.ps, slices.Max(fit.ps))
		if fit.ps[weakest] <= most {
			break
		}
		kept = slices.Delete(kept, weakest, weakest+1)
		fit = x.fitCycle(values, kept)
	}
	if len(kept) == len(changes) {
		return changes
	}
	c.cycle = len(kept) > 0
	return x.between(fit.without, kept)
}

func (c *Course) doubt(format string, args ...any) {
	c.untold.Warn("not_told", format, args...)
}

// cycleFit is a cycle and steps fitted at once: the values without the cycle, and the
// p of each step, by Student's t of as many values as the rests are worth.
type cycleFit struct{ without, ps []float64 }

// waves are the columns of a cycle: sine and cosine of a day, and of half a day.
const waves = 4

// fitCycle fits by least squares, with amplitudes that are normal about 0 (ridge
// regression: A. E. Hoerl, R. W. Kennard, Technometrics 12(1), 1970), so that of an
// hour no curve is made of any form.
func (x *Rows) fitCycle(values []float64, changes []Change) cycleFit {
	columns, ridge := x.cycleColumns(len(values), changes), make([]float64, waves+len(changes))
	mean, _ := stats.Mean(values)
	for k := range waves {
		ridge[k] = noiseOf(values) / (usualCycle * usualCycle * mean * mean)
	}
	coefficients, spread := leastSquares(columns, values, ridge)
	if coefficients == nil {
		return cycleFit{values, slices.Repeat([]float64{1}, len(changes))}
	}
	out := cycleFit{without: less(values, columns[:waves], coefficients)}
	rest := less(out.without, columns[waves:], coefficients[waves:])
	n := float64(len(rest))
	sd, _ := stats.PopulationSD(rest)
	size, _, err := stats.EffectiveSize(rest)
	if err != nil {
		size = n
	}
	free := max(1, size-float64(1+len(columns)))
	for k := waves; k < len(columns); k++ {
		// n/size rests are worth one; and twice that, for the fit took part of what they
		// have in common: of hours that differ, 9 % of half days would change, not 4 %.
		variance := sd * sd * n / free * n / size * spread[k]
		p := 0.0 // without noise each step is one
		if variance > 0 {
			p = stats.FTail(coefficients[k]*coefficients[k]/variance, 1, free)
		}
		out.ps = append(out.ps, p)
	}
	return out
}

// noiseOf is the variance of values about a level that moves slowly: half of that of
// the differences of neighbours.
func noiseOf(values []float64) float64 {
	sum := 0.0
	for i := 1; i < len(values); i++ {
		sum += (values[i] - values[i-1]) * (values[i] - values[i-1])
	}
	return sum / 2 / float64(len(values)-1)
}

// less are values less columns times their coefficients.
func less(values []float64, columns [][]float64, coefficients []float64) []float64 {
	out := slices.Clone(values)
	for k, column := range columns {
		for i, v := range column {
			out[i] -= coefficients[k] * v
		}
	}
	return out
}

// cycleColumns are those of the cycle and of steps, each less its mean.
func (x *Rows) cycleColumns(n int, changes []Change) [][]float64 {
	columns := make([][]float64, waves+len(changes))
	for k := range columns {
		columns[k] = make([]float64, n)
	}
	const day = int64(24 * time.Hour)
	for i := range n {
		row := x.inTime.first(i)
		at := 2 * math.Pi * float64(x.Frame.Times[row]%day) / float64(day)
		columns[0][i], columns[1][i] = math.Sin(at), math.Cos(at)
		columns[2][i], columns[3][i] = math.Sin(2*at), math.Cos(2*at)
		for k, change := range changes {
			if row+1 >= change.Row {
				columns[waves+k][i] = 1
			}
		}
	}
	for _, column := range columns {
		mean, _ := stats.Mean(column)
		for i := range column {
			column[i] -= mean
		}
	}
	return columns
}

// leastSquares are the coefficients of columns, each about 0, and their variances
// where that of a value is 1; nil where they cannot be told apart.
func leastSquares(columns [][]float64, values, ridge []float64) (coefficients, spread []float64) {
	k := len(columns)
	rows := make([][]float64, k) // the normal equations, their right side, and 1
	for i, a := range columns {
		rows[i] = make([]float64, 2*k+1)
		rows[i][i], rows[i][k+1+i] = ridge[i], 1
		for at, v := range a {
			for j, b := range columns {
				rows[i][j] += v * b[at]
			}
			rows[i][k] += v * values[at]
		}
	}
	for i := range rows { // elimination by Gauss and Jordan: the matrix is positive
		pivot := rows[i][i]
		if !(pivot > 0) || math.IsInf(pivot, 1) {
			return nil, nil
		}
		for j := range rows[i] {
			rows[i][j] /= pivot
		}
		for r := range rows {
			if f := rows[r][i]; r != i {
				for j := range rows[r] {
					rows[r][j] -= f * rows[i][j]
				}
			}
		}
	}
	for i := range rows {
		coefficients, spread = append(coefficients, rows[i][k]), append(spread, rows[i][k+1+i])
	}
	return coefficients, spread
}

// leastWorth is how many independent values it takes to tell a drift from a level
// that wanders.
const leastWorth = 20

// driftTold reports whether nothing else makes such a trend: the rest of a daily
// cycle, or neighbours that are alike as those of a random walk.
func (c *Course) driftTold(x *Rows, values []float64) bool {
	if span := x.span(); x.Frame.Times != nil && span < leastCycles {
		half := min(1, 2*span.Hours()/24)
		if most := 2 * mostCycle * math.Sin(math.Pi/2*half); math.Abs(c.Drift.Relative) <= most {
			c.doubt("the level seems to drift by %s, which a daily cycle may make: these are only %s; measure for two days or longer", num.Signed(c.Drift.Relative), num.Span(span))
			return false
		}
	}
	rest := c.Drift.without(values, x.seconds(x.inTime, len(values)))
	if size, _, err := stats.EffectiveSize(rest); err == nil && size < leastWorth {
		c.doubt("the level seems to drift by %s, but it wanders also beside that: %s are worth only %.0f independent ones, and a level that wanders by chance has such trends; measure for longer", num.Signed(c.Drift.Relative), num.Grouped(int64(x.Frame.Len()))+" values", size)
		return false
	}
	return true
}
