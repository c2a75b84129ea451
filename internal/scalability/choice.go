package scalability

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// What kinds may differ in without it mattering.
const (
	// leastEfficiency is what a node has at least at the largest size, of a node alone,
	// where growth is called linear.
	leastEfficiency = 0.9
	// farPeak is where a fall may begin at the earliest, as a multiple of the largest size, of
	// a curve that is called Amdahl's.
	farPeak = 2
)

// choose finds which kinds are plausible.
//
// The interval of a parameter holds all values whose squares are at most S·(1 + t²/(n−k)), S
// the least. A kind is plausible if its AIC exceeds that of the best by no more than n times
// the logarithm of that factor: the same measure between kinds as within one. The correction for
// few observations prefers simple curves; it proves nothing against others.
func (c *Curves) choose() error {
	c.plausible = Kinds()
	slices.SortStableFunc(c.plausible, func(a, b Kind) int { return cmp.Compare(c.Curve(a).AICc, c.Curve(b).AICc) })
	c.Best = c.plausible[0]
	if c.likeliest = c.Best; c.Best != Linear {
		c.likeliest = slices.MinFunc(c.plausible, func(a, b Kind) int {
			return cmp.Compare(c.data.deviance(c.Curve(a)), c.data.deviance(c.Curve(b)))
		})
	}
	best := c.Curve(c.Best)
	t, err := stats.TCritical(level, float64(best.degrees))
	if err != nil {
		return err
	}
	c.excess = float64(len(c.data.n)) * math.Log1p(t*t/float64(best.degrees))
	c.ruleOut()
	return nil
}

// ruleOut takes the kinds away that are not plausible.
func (c *Curves) ruleOut() {
	c.plausible = slices.DeleteFunc(c.plausible, func(k Kind) bool {
		return c.bound(k) < max(c.Curve(k).SSE, c.data.least)
	})
}

// even is up to which difference of the AIC one kind of errors is as credible as the other.
const even = 4

// beside are the curves with one kind of errors, which have the values, beside those with the
// other. Proportional errors come first if sizes were measured more than once, unless equal ones
// are clearly likelier: times of jobs vary in proportion. Otherwise equal ones do, as is usual for
// these curves. Few observations seldom tell which they are. So both have their part in each
// interval, as far as the data do not rule them out, by the measure that tells kinds apart.
func beside(equal, proportional Curves) Curves {
	more := proportional.deviance() - equal.deviance()
	equal.excess += min(0, more+even)
	proportional.excess -= max(0, more-even)
	equal.ruleOut()
	proportional.ruleOut()
	first, other := equal, proportional
	if equal.data.repeated && more < even {
		first, other = other, first
	}
	first.other = &other
	return first
}

// deviance is that of the best curve, with its parameters: its AIC, but for a constant.
func (c *Curves) deviance() float64 { return c.data.deviance(c.Curve(c.Best)) }

// errors are the curves with each kind of errors.
func (c Curves) errors() []Curves {
	if c.other == nil {
		return []Curves{c}
	}
	return []Curves{c, *c.other}
}

// bound is up to which squares a curve of a kind is plausible; below those of its best
// curve where none is.
func (c *Curves) bound(k Kind) float64 {
	best, more := c.Curve(c.Best), k.Parameters()-c.Best.Parameters()
	return max(best.SSE, c.data.least) * math.Exp((c.excess-2*float64(more))/float64(len(c.data.n)))
}

// named is the simplest kind to which all others that are plausible come in what matters.
func (c *Curves) named() Kind {
	for _, k := range Kinds() {
		doubted := func(e Curves) bool {
			return slices.ContainsFunc(e.plausible, func(other Kind) bool { return !e.same(k, other) })
		}
		if slices.Contains(c.Plausible, k) && !slices.ContainsFunc(c.errors(), doubted) {
			return k
		}
	}
	return Unclear
}

// same reports whether plausible curves of a kind are all like the one that is to be named.
func (c *Curves) same(name, k Kind) bool {
	switch {
	case name == k:
		return true
	case name == Linear:
		return c.leastOf(k, Linear) > c.bound(k)
	case name == Amdahl && k == USL:
		return c.leastOf(k, Amdahl) > c.bound(k)
	default:
		return false
	}
}

// leastOf are the least squares of a kind that is just unlike another one in what matters.
func (c *Curves) leastOf(k, unlike Kind) float64 {
	n := c.data.largest()
	if unlike == Amdahl {
		return c.data.peaks(farPeak * n).squares
	}
	s := c.data.free(k)
	lost := 1/leastEfficiency - 1 // α(n−1) + βn(n−1) with so much efficiency
	switch k {
	case Capped:
		s.dims, s.shape = 0, func(point) shape { return shape{knee: leastEfficiency * n} }
	case Amdahl:
		s.dims, s.shape = 0, func(point) shape { return shape{alpha: lost / (n - 1)} }
	default:
		s.dims, s.most = 1, point{min(lost, n-1)}
		s.shape = func(p point) shape { return shape{alpha: p[0] / (n - 1), beta: (lost - p[0]) / (n * (n - 1))} }
	}
	return s.best(point{}, s.most).squares
}
