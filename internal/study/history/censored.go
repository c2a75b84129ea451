package history

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// atLeast is how many runs found only a lower bound.
func atLeast(runs []Run) (n int) {
	for _, r := range runs {
		if r.AtLeast {
			n++
		}
	}
	return n
}

// definite are the changes that lower bounds leave: the level that is lower must be
// known, for where only a bound is known the level may be as high as the other.
func (m *Metric) definite(found []stats.Change) []stats.Change {
	var out []stats.Change
	for i, c := range found {
		from, to := 0, len(m.Runs)
		if i > 0 {
			from = found[i-1].Index
		}
		if i+1 < len(found) {
			to = found[i+1].Index
		}
		lower := m.Runs[from:c.Index]
		if c.After < c.Before {
			lower = m.Runs[c.Index:to]
		}
		if n := atLeast(lower); n > 0 && 2*n >= len(lower) {
			m.doubts.Warn("censored", "from run %s on the level seems another, but %d of %d runs of the lower one "+
				"found only a lower bound: that is no change of level; search again with room above it",
				m.Runs[c.Index].Run, n, len(lower))
			continue
		}
		out = append(out, c)
	}
	return out
}

// open is the interval of the latest run over those before as far as lower bounds leave it
// open: a run may be higher than its bound.
func (m *Metric) open() stats.Interval {
	ci, last := m.Latest.CI, len(m.Runs)-1
	if atLeast(m.Runs[last-m.Latest.Before:last]) > 0 {
		ci.Lo = 0
	}
	if m.Runs[last].AtLeast {
		ci.Hi = math.Inf(1)
	}
	return ci
}

// censored doubts a verdict that lower bounds do not carry: a run is higher only than
// values that are known, and lower only by one that is.
func (m *Metric) censored() {
	x, last := m.Latest, m.Runs[len(m.Runs)-1]
	before := m.Runs[len(m.Runs)-1-x.Before : len(m.Runs)-1]
	n := atLeast(before)
	if n == 0 && !last.AtLeast || x.CI.Lo > 1 && n == 0 || x.CI.Hi < 1 && !last.AtLeast {
		return
	}
	var who []string
	if last.AtLeast {
		who = append(who, "the latest run")
	}
	if n > 0 {
		who = append(who, fmt.Sprintf("%d of the %s before", n, num.Count(len(before), "run")))
	}
	m.doubts.Problem("censored", "%s found only a lower bound, so that it is not known how they compare; search "+
		"again with room above it", num.List(slices.Clip(who)))
}
