package compare

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// mixed is a fact of which both sides have other shares of the same levels, while
// levels differ: the logarithm of B/A over all rows of these levels, and within them,
// with the standard error that independent rows have.
type mixed struct {
	fact                string
	over, within, error float64
}

// mixError is the error with which levels differ, and shares do.
const mixError = .01

// mixZ is the normal's quantile that belongs to it.
const mixZ = 2.576

// mixes finds facts of which the sides have another mix: B is slower than A if more
// of it was measured in the slower zone (E. H. Simpson, J. Royal Stat. Soc. B 13(2),
// 1951). Where the same nodes, or pairs, are compared, the mix is the same.
func (l *laying) mixes(c *Comparison) {
	if !l.typical || c.Paired || c.layout.Nodes || c.CI == nil {
		return
	}
	for i := range l.a.Facts {
		x := &l.a.Facts[i]
		if l.b.Fact(x.Name) == nil || x.Name == l.subject || slices.Contains(structural, x.Name) || l.likeness(x.Name, false) > mixError {
			continue
		}
		if m, ok := l.mix(x); ok {
			c.mixed = append(c.mixed, m)
		}
	}
}

// mix compares within the levels that both sides have, each with the weight that
// least squares give it.
func (l *laying) mix(x *frame.Fact) (m mixed, ok bool) {
	m.fact = x.Name
	as, bs := l.a.GroupBy(x.Name), l.b.GroupBy(x.Name)
	index := frame.GroupsByKey(bs)
	var sides, of []uint16
	var weight, difference, sumA, sumB, nA, nB, squares, free float64
	for code, ga := range as {
		gb, has := index[ga.Key]
		if !has {
			continue
		}
		a, b := l.scaled(at(l.a.Values, ga.Rows)), l.scaled(at(l.b.Values, gb.Rows))
		n, k, meanA, meanB := float64(len(a)), float64(len(b)), stats.Average(a), stats.Average(b)
		w := n * k / (n + k)
		weight, difference = weight+w, difference+w*(meanB-meanA)
		sumA, sumB, nA, nB = sumA+n*meanA, sumB+k*meanB, nA+n, nB+k
		squares += n*(n-1)*varianceOfMean(a) + k*(k-1)*varianceOfMean(b)
		free += n + k - 2
		for range ga.Rows {
			sides, of = append(sides, 1), append(of, uint16(code+1)) //nolint:gosec // frame.MostLevels
		}
		for range gb.Rows {
			sides, of = append(sides, 2), append(of, uint16(code+1)) //nolint:gosec // frame.MostLevels
		}
	}
	if !(weight > 0) || free < 1 {
		return m, false
	}
	_, p, err := stats.CramersV(sides, of, 3, len(as)+1)
	m.within, m.over = difference/weight, sumB/nB-sumA/nA
	m.error = math.Sqrt(squares / free / weight)
	return m, err == nil && p <= mixError
}

// interval is that of B/A within the levels, given that over all values: of other
// values than rows as wide as that.
func (m mixed) interval(c *Comparison) stats.Interval {
	if c.layout.Rows {
		return exp(stats.Interval{Lo: m.within - mixZ*m.error, Hi: m.within + mixZ*m.error})
	}
	by := math.Exp(m.within - m.over)
	return stats.Interval{Lo: c.CI.Lo * by, Hi: c.CI.Hi * by}
}

// heedMix doubts a verdict where the sides have another mix of what makes a
// difference: as a problem where within its levels they differ otherwise; where they
// differ less, the mix may be what is bought, and it is said.
func (p *Params) heedMix(c *Comparison, word Verdict) {
	if word == "" || c.CI == nil {
		return
	}
	for _, m := range c.mixed {
		within := p.of(m.interval(c), c.Better)
		text := "the sides have another mix of %s, which makes a difference: over all values B is %s (%+.1f %%), within the same %s %s (%+.1f %%)"
		args := []any{m.fact, word, percent(math.Exp(m.over)), m.fact, within, percent(math.Exp(m.within))}
		switch {
		case within == word:
		case within.different():
			c.doubts.Problem("mix", text+"; compare with the same mix, or within one", args...)
		default:
			c.doubts.Warn("mix", text, args...)
		}
	}
}
