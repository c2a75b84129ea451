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
// the least. A kind is plausible if its AICc exceeds the least one by no more than n times the
// logarithm of that factor: the same measure between kinds as within one.
func (c *Curves) choose() error {
	for _, k := range kinds() {
		if c.Curve(k).Kind == k {
			c.Plausible = append(c.Plausible, k)
		}
	}
	slices.SortStableFunc(c.Plausible, func(a, b Kind) int { return cmp.Compare(c.Curve(a).AICc, c.Curve(b).AICc) })
	c.Best = c.Plausible[0]
	best := c.Curve(c.Best)
	t, err := stats.TCritical(level, float64(best.degrees))
	if err != nil {
		return err
	}
	c.excess = float64(len(c.data.n)) * math.Log1p(t*t/float64(best.degrees))
	c.Plausible = slices.DeleteFunc(c.Plausible, func(k Kind) bool { return c.Curve(k).AICc > best.AICc+c.excess })
	c.Kind = c.named()
	return nil
}

// bound is up to which squares a curve of a kind is plausible; below those of its best
// curve where none is.
func (c *Curves) bound(k Kind) float64 {
	of, n := c.Curve(k), float64(len(c.data.n))
	return max(of.SSE, c.data.least) * math.Exp((c.Curve(c.Best).AICc+c.excess-of.AICc)/n)
}

// named is the kind that the data show. The best curve has it alone, or all others that
// are plausible come to the same in what matters.
func (c *Curves) named() Kind {
	rivals := slices.DeleteFunc(slices.Clone(c.Plausible), func(k Kind) bool { return c.same(c.Best, k) })
	if len(rivals) > 0 {
		return Unclear
	}
	return c.Best
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
	d, n := c.data, c.data.largest()
	s := &search{d: d, dims: 1, scale: func(x shape) float64 { return d.scale(x, 0, len(d.n)) }}
	lost := 1/leastEfficiency - 1 // α(n−1) + βn(n−1) with so much efficiency
	switch {
	case unlike == Amdahl:
		s.most = point{1}
		s.shape = func(p point) shape { return shape{alpha: p[0], beta: (1 - p[0]) / (farPeak * n * farPeak * n)} }
	case k == Capped:
		s.dims, s.shape = 0, func(point) shape { return shape{knee: leastEfficiency * n} }
	case k == Amdahl:
		s.dims, s.shape = 0, func(point) shape { return shape{alpha: lost / (n - 1)} }
	default:
		s.most = point{min(lost, n-1)}
		s.shape = func(p point) shape { return shape{alpha: p[0] / (n - 1), beta: (lost - p[0]) / (n * (n - 1))} }
	}
	if s.dims == 0 {
		return s.fit(point{}).squares
	}
	return s.best(point{}, s.most, point{s.most[0] / 2}, d.guess()).squares
}
