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

// choose finds which kinds are plausible, and names the kind.
//
// The interval of a parameter holds all values whose squares are at most S·(1 + t²/(n−k)), S
// the least. A kind is plausible if its AIC exceeds that of the best by no more than n times
// the logarithm of that factor: the same measure between kinds as within one. The correction for
// few observations prefers simple curves; it proves nothing against others.
func (c *Curves) choose() error {
	c.Plausible = Kinds()
	slices.SortStableFunc(c.Plausible, func(a, b Kind) int { return cmp.Compare(c.Curve(a).AICc, c.Curve(b).AICc) })
	c.Best = c.Plausible[0]
	best := c.Curve(c.Best)
	t, err := stats.TCritical(level, float64(best.degrees))
	if err != nil {
		return err
	}
	c.excess = float64(len(c.data.n)) * math.Log1p(t*t/float64(best.degrees))
	c.Plausible = slices.DeleteFunc(c.Plausible, func(k Kind) bool {
		return c.bound(k) < max(c.Curve(k).SSE, c.data.least)
	})
	c.Kind = c.named()
	return nil
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
		unlike := func(other Kind) bool { return !c.same(k, other) }
		if slices.Contains(c.Plausible, k) && !slices.ContainsFunc(c.Plausible, unlike) {
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
