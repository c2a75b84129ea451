package variability

import (
	"math"
	"slices"
	"time"

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
func (x *examined) span() time.Duration {
	if x.f.Times == nil {
		return 0
	}
	return time.Duration(x.f.Times[x.f.Len()-1] - x.f.Times[0])
}

// besidesCycle keeps of the changes in less than two days those that remain beside a
// daily cycle: half a sine looks like a step, a step not like any smooth curve.
// Cycle and steps are fitted at once, the cycle is taken out, and the changes are
// looked for again.
func (c *Course) besidesCycle(x *examined, values []float64, changes []Change, alpha float64) []Change {
	if len(changes) == 0 || x.f.Times == nil || x.span() >= leastCycles {
		return changes
	}
	again := x.changes(x.withoutCycle(values, changes), alpha)
	near := max(2, len(values)/50)
	kept := slices.DeleteFunc(slices.Clone(changes), func(one Change) bool {
		return !slices.ContainsFunc(again, func(other Change) bool {
			return max(one.Row, other.Row)-min(one.Row, other.Row) <= near*x.f.Len()/len(values)
		})
	})
	if len(kept) == len(changes) {
		return changes
	}
	c.doubt("the level seems to change, which a daily cycle may make: these are only %s; measure for two days or longer", spanOf(x.span()))
	return x.between(values, kept)
}

func (c *Course) doubt(format string, args ...any) {
	c.untold.Warn("not_told", format, args...)
}

// withoutCycle are values less what a cycle of a day, and half a day, explains
// beside the changes: least squares, with amplitudes that are normal about 0 (ridge
// regression: A. E. Hoerl, R. W. Kennard, Technometrics 12(1), 1970), so that of an
// hour no curve is made of any form.
func (x *examined) withoutCycle(values []float64, changes []Change) []float64 {
	const waves = 4
	n := len(values)
	columns := make([][]float64, waves+len(changes))
	for k := range columns {
		columns[k] = make([]float64, n)
	}
	for i := range values {
		row := x.inTime.first(i)
		day := 2 * math.Pi * float64(x.f.Times[row]%int64(24*time.Hour)) / float64(24*time.Hour)
		columns[0][i], columns[1][i] = math.Sin(day), math.Cos(day)
		columns[2][i], columns[3][i] = math.Sin(2*day), math.Cos(2*day)
		for k, change := range changes {
			if row+1 >= change.Row {
				columns[waves+k][i] = 1
			}
		}
	}
	mean, _ := stats.Mean(values)
	noise := 0.0
	for i := 1; i < n; i++ {
		noise += (values[i] - values[i-1]) * (values[i] - values[i-1]) / 2 / float64(n-1)
	}
	ridge := make([]float64, len(columns))
	for k := range waves {
		ridge[k] = noise / (usualCycle * usualCycle * mean * mean)
	}
	coefficients := leastSquares(columns, values, ridge)
	out := slices.Clone(values)
	for k, b := range coefficients[:min(waves, len(coefficients))] {
		middle, _ := stats.Mean(columns[k])
		for i := range out {
			out[i] -= b * (columns[k][i] - middle)
		}
	}
	return out
}

// leastSquares are the coefficients of the columns, each less its mean; nil where
// they cannot be told apart.
func leastSquares(columns [][]float64, values, ridge []float64) []float64 {
	k := len(columns)
	rows := make([][]float64, k) // the normal equations, with their right side
	for i := range rows {
		rows[i] = make([]float64, k+1)
		middle, _ := stats.Mean(columns[i])
		for at, v := range columns[i] {
			for j := range columns {
				rows[i][j] += (v - middle) * columns[j][at]
			}
			rows[i][k] += (v - middle) * values[at]
		}
		rows[i][i] += ridge[i]
	}
	for i := range rows { // elimination by Gauss and Jordan; the matrix is positive
		pivot := rows[i][i]
		if !(pivot > 0) {
			return nil
		}
		for r := range rows {
			if f := rows[r][i] / pivot; r != i {
				for j := range rows[r] {
					rows[r][j] -= f * rows[i][j]
				}
			}
		}
	}
	out := make([]float64, k)
	for i := range out {
		out[i] = rows[i][k] / rows[i][i]
	}
	return out
}

// leastWorth is how many independent values it takes to tell a drift from a level
// that wanders.
const leastWorth = 20

// driftTold reports whether nothing else makes such a trend: the rest of a daily
// cycle, or neighbours that are alike as those of a random walk.
func (c *Course) driftTold(x *examined, values []float64) bool {
	if span := x.span(); x.f.Times != nil && span < leastCycles {
		half := min(1, 2*span.Hours()/24)
		if most := 2 * mostCycle * math.Sin(math.Pi/2*half); math.Abs(c.Drift.Relative) <= most {
			c.doubt("the level seems to drift by %s, which a daily cycle may make: these are only %s; measure for two days or longer", signedPercent(c.Drift.Relative), spanOf(span))
			return false
		}
	}
	rest, times := make([]float64, len(values)), x.seconds(len(values))
	mean, _ := stats.Mean(values)
	for i, v := range values {
		rest[i] = v - c.Drift.Relative*math.Abs(mean)*times[i]/times[len(times)-1]
	}
	if size, _, err := stats.EffectiveSize(rest); err == nil && size < leastWorth {
		c.doubt("the level seems to drift by %s, but it wanders also beside that: %s are worth only %.0f independent ones, and a level that wanders by chance has such trends; measure for longer", signedPercent(c.Drift.Relative), countOf(x.f.Len(), "value"), size)
		return false
	}
	return true
}
