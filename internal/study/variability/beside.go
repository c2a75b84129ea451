package variability

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// besides is by how much the mean of a level differs from that of all other levels
// within the levels of another fact, and how likely it is by chance. ok is false
// where no level of that has rows of both.
type besides struct {
	fact     string
	apart, p float64
	ok       bool
}

// leastBeside is the error of a difference beside another fact.
const leastBeside = 0.01

// beside compares one level of a fact with the others, stratum by stratum, each with
// the weight that least squares give it; rows of one stratum and side are supposed to
// be independent.
func (x *examined) beside(fact *factor, level string, other *factor) besides {
	out := besides{fact: other.Name}
	code := uint16(0)
	for c, name := range fact.Levels {
		if c > 0 && name == level {
			code = uint16(c) //nolint:gosec // a code
		}
	}
	sides := make([]uint16, len(fact.Codes)) // twice the stratum, and 1 for the level
	for i, c := range fact.Codes {
		if s := other.Codes[i]; c != 0 && s != 0 && int(s) < math.MaxUint16/2 {
			if sides[i] = 2 * s; c == code {
				sides[i]++
			}
		}
	}
	s := x.sumsOf(sides, 2*len(other.Levels))
	weight, sum := 0.0, 0.0
	for k := 2; k+1 < len(s.n); k += 2 {
		if n, m := s.n[k], s.n[k+1]; n > 0 && m > 0 {
			w := n * m / (n + m)
			weight, sum = weight+w, sum+w*(s.sum[k+1]/m-s.sum[k]/n)
		}
	}
	free := s.rows - s.levels
	if !(weight > 0) || free < 1 {
		return out
	}
	out.ok, out.apart, out.p = true, sum/weight, 0
	if variance := s.within() / free; variance > 0 {
		out.p = stats.FTail(sum*sum/weight/variance, 1, free)
	}
	return out
}

// confoundedBy asks for the difference of a level beside each other fact that explains
// something. turned is one beside which the level is on the other side of the rest
// (E. H. Simpson, "The interpretation of interaction in contingency tables", J. Royal
// Stat. Soc. B 13(2), 1951); gone one beside which it is no other than the rest.
func (m *Metric) confoundedBy(e Effect, to *Group) (turned, gone *besides) {
	rest := m.Mean - to.Mean // has the sign of the others' mean less that of the level
	same := m.alike(e.Fact)
	for _, other := range m.Facts {
		if !other.Significant || other.Omega2 < leastExplained || other.Fact == e.Fact || slices.Contains(same, other.Fact) {
			continue
		}
		b := m.x.beside(m.x.fact(e.Fact), to.Level, m.x.fact(other.Fact))
		switch {
		case !b.ok:
		case b.p <= leastBeside && b.apart*rest > 0:
			return &b, nil
		case b.p > leastBeside && gone == nil:
			gone = &b
		}
	}
	return nil, gone
}
