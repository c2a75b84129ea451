package scalability

import (
	"math"
	"slices"
)

// Plateau is the most that any number of nodes does. Its interval holds the plateaus of
// all curves, of any kind, that the data do not rule out: the profile likelihood (D. M. Bates,
// D. G. Watts, Nonlinear Regression Analysis, 1988, section 6.1), over kinds as well (D.
// Fletcher, D. Turek, "Model-averaged profile likelihood intervals", J. Agric. Biol.
// Environ. Stat. 17(1), 2012).
func (c Curves) Plateau() Estimate {
	out := c.estimate(Curve.Plateau, pinnedAt(math.Inf(1)))
	if math.IsInf(out.Lo, 1) { // no curve has one
		out.Lo = c.Predict(c.Largest).Lo
	}
	return out
}

// Knee is the size at which growth in proportion would reach the plateau, with its
// interval as that of [Curves.Plateau].
func (c Curves) Knee() Estimate {
	out := c.estimate(Curve.Knee, func(d *data, k Kind, knee float64, from []point) fit {
		s := d.free(k)
		switch {
		case knee < 1:
			return fit{squares: math.Inf(1)}
		case k == Capped:
			s.dims, s.shape = 0, func(point) shape { return shape{knee: knee} }
		case k == Amdahl:
			s.dims, s.shape = 0, func(point) shape { return shape{alpha: 1 / knee} }
		default: // of 1/knee = 2√(β(1−α)) + α − β
			s.dims, s.most = 1, point{1}
			s.shape = func(p point) shape {
				alpha := p[0] / knee
				root := math.Sqrt(1-alpha) - math.Sqrt(1-1/knee)
				return shape{alpha: alpha, beta: root * root}
			}
		}
		return s.best(append(from, point{}, point{.5}, s.most)...)
	})
	out.Lo = min(out.Lo, c.Largest) // no curve bends below it
	return out
}

// Peak is the size past which throughput falls, with its interval, where the curve of [USL]
// is plausible; +Inf where it does not fall. Value is NaN where the kind is [Unclear] and the
// best curve has no peak: whether there is one is not known. Hi is +Inf where another kind is
// plausible, too, because no other has a peak.
func (c Curves) Peak() Estimate {
	none := math.Inf(1)
	if !slices.Contains(c.Plausible, USL) {
		return Estimate{none, none, none}
	}
	out := c.estimate(Curve.Peak, func(d *data, _ Kind, peak float64, from []point) fit {
		return d.peaks(peak, from...)
	}, USL)
	if len(c.Plausible) > 1 {
		out.Hi = none
	}
	if c.Kind == Unclear && math.IsInf(out.Value, 1) {
		out.Value = math.NaN()
	}
	return out
}

// Predict is the throughput of so many nodes: what many trials would have in the mean, with its
// interval as that of [Curves.Plateau]. Past the largest size that was measured no curve
// falls.
func (c Curves) Predict(n float64) Estimate {
	return c.estimate(throughputOf(n), pinnedAt(n))
}

func throughputOf(n float64) func(Curve) float64 { return func(c Curve) float64 { return c.At(n) } }

// profile is the best fit of a kind with a value.
type profile func(d *data, k Kind, value float64, from []point) fit

func pinnedAt(n float64) profile {
	return func(d *data, k Kind, value float64, from []point) fit {
		return d.fitted(k, pinned{n, value}, from...)
	}
}

// estimate is what the curve has, with the ends over all plausible kinds, or over some of them.
func (c Curves) estimate(what func(Curve) float64, p profile, of ...Kind) Estimate {
	return Estimate{what(c.Curve(c.Kind)), c.outermost(what, p, down, of...), c.outermost(what, p, up, of...)}
}

// The directions from a value.
const down, up = -1., 1.

// outermost is the least or greatest value of plausible curves of all kinds, or of some.
func (c Curves) outermost(what func(Curve) float64, p profile, direction float64, of ...Kind) float64 {
	out := what(c.Curve(c.Kind))
	for _, e := range c.errors() {
		for _, k := range e.plausible {
			best := what(e.Curve(k))
			switch {
			case len(of) > 0 && !slices.Contains(of, k),
				k == Linear && math.IsInf(best, 1) && direction == down: // no line has another one
				continue
			}
			if end := e.end(k, best, p, direction); direction*end > direction*out {
				out = end
			}
		}
	}
	return out
}

// Ends of an interval are looked for up to so many times the value, and as exactly.
const (
	farthest = 1e4
	exactly  = 1e-4
)

// end is the least or greatest value of plausible curves of a kind, from that of its best.
func (c Curves) end(k Kind, start float64, p profile, direction float64) float64 {
	bound, at := c.bound(k), c.data.where(c.Curve(k))
	from := []point{{max(at[0], low), at[1]}} // of a curve with a plateau
	if math.IsInf(start, 1) {
		if direction == up {
			return start
		}
		start = farthest
		for _, x := range c.data.x {
			start = max(start, farthest*x)
		}
	}
	beyond := func(log float64) bool {
		f := p(c.data, k, start*math.Exp(direction*log), from)
		if !math.IsInf(f.squares, 1) {
			from[0] = f.at
		}
		return f.squares > bound
	}
	near, far := 0.0, 0.01
	for !beyond(far) {
		if near, far = far, 2*far; far > 2*math.Log(farthest) {
			return start * math.Exp(direction*math.Inf(1))
		}
	}
	for far-near > exactly {
		if mid := (near + far) / 2; beyond(mid) {
			far = mid
		} else {
			near = mid
		}
	}
	return start * math.Exp(direction*far)
}

// NodesFor is how many nodes reach a target: by the best curve, and with the ends of the
// interval of [Curves.Predict], Lo by the upper end and Hi by the lower one. +Inf of nodes
// is that no number of them does.
func (c Curves) NodesFor(target float64) Estimate {
	best := c.Curve(c.Kind)
	end := func(direction float64) func(n float64) float64 {
		return func(n float64) float64 { return c.outermost(throughputOf(n), pinnedAt(n), direction) }
	}
	peak := best.Peak() // past it there is nothing to find
	return Estimate{reach(target, peak, best.At), reach(target, peak, end(up)), reach(target, peak, end(down))}
}

// mostNodes bounds how many nodes are thought of.
const mostNodes = 1 << 20

// reach is the smallest whole size at which a curve reaches a target, up to its peak.
func reach(target, peak float64, at func(n float64) float64) float64 {
	short := func(n int) bool { return at(min(float64(n), peak)) < target }
	hi := 1
	for ; short(hi); hi *= 2 {
		if hi > mostNodes || float64(hi) >= peak {
			return math.Inf(1)
		}
	}
	lo := hi / 2 // does not reach it
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; short(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return float64(hi)
}
