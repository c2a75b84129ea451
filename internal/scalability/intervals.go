package scalability

import "math"

// Plateau is the most that any number of nodes does. Its interval holds the plateaus of
// all curves, of any kind, that the data do not rule out: the profile likelihood (D. M. Bates,
// D. G. Watts, Nonlinear Regression Analysis, 1988, section 6.1), over kinds as well (D.
// Fletcher, D. Turek, "Model-averaged profile likelihood intervals", J. Agric. Biol.
// Environ. Stat. 17(1), 2012).
func (c Curves) Plateau() Estimate {
	return c.estimate(c.Curve(c.Kind).Plateau(), math.Inf(1))
}

// Predict is the throughput of so many nodes: what many trials would have in the mean, with its
// interval as that of [Curves.Plateau]. Past the largest size that was measured no curve
// falls.
func (c Curves) Predict(n float64) Estimate {
	return c.estimate(c.Curve(c.Kind).At(n), n)
}

// estimate is a value at so many nodes with its interval.
func (c Curves) estimate(value, at float64) Estimate {
	out := Estimate{value, value, value}
	for _, k := range c.Plausible {
		if k == Linear && math.IsInf(at, 1) {
			out.Hi = at
			continue
		}
		out.Lo = min(out.Lo, c.end(k, at, -1))
		out.Hi = max(out.Hi, c.end(k, at, 1))
	}
	if math.IsInf(out.Lo, 1) {
		out.Lo = c.Predict(c.Largest).Lo
	}
	return out
}

// Ends of an interval are looked for up to so many times the value, and as exactly.
const (
	farthest = 1e3
	exactly  = 1e-4
)

// end is the least or greatest value of plausible curves of a kind at so many nodes.
func (c Curves) end(k Kind, at, direction float64) float64 {
	start, bound := c.valueOf(k, at), c.bound(k)
	if math.IsInf(start, 1) {
		if direction > 0 {
			return start
		}
		start = c.data.x[len(c.data.x)-1] * farthest
	}
	var from []point
	excess := func(log float64) float64 {
		f := c.data.fitted(k, pinned{at, start * math.Exp(log)}, from...)
		from = []point{f.at}
		return f.squares - bound
	}
	near, far := 0.0, 0.01
	for excess(direction*far) <= 0 {
		if near, far = far, 2*far; far > math.Log(farthest) {
			if direction > 0 {
				return math.Inf(1)
			}
			return 0
		}
	}
	for far-near > exactly*far {
		if mid := (near + far) / 2; excess(direction*mid) > 0 {
			far = mid
		} else {
			near = mid
		}
	}
	return start * math.Exp(direction*far)
}

// valueOf is what the best curve of a kind has at so many nodes.
func (c Curves) valueOf(k Kind, at float64) float64 {
	if math.IsInf(at, 1) {
		return c.Curve(k).Plateau()
	}
	return c.Curve(k).At(at)
}

// NodesFor is how many nodes reach a target: by the best curve, and with the ends of the
// interval of [Curves.Predict], Lo by the upper end and Hi by the lower one. +Inf of nodes
// is that no number of them does.
func (c Curves) NodesFor(target float64) Estimate {
	best := c.Curve(c.Kind)
	peak := best.Peak() // past it there is nothing to find
	return Estimate{
		Value: reach(target, func(n float64) float64 { return best.At(min(n, peak)) }),
		Lo:    reach(target, func(n float64) float64 { return c.Predict(min(n, peak)).Hi }),
		Hi:    reach(target, func(n float64) float64 { return c.Predict(min(n, peak)).Lo }),
	}
}

// mostNodes bounds how many nodes are thought of.
const mostNodes = 1 << 20

// reach is the smallest whole size at which a curve reaches a target.
func reach(target float64, at func(n float64) float64) float64 {
	hi := 1
	for ; at(float64(hi)) < target; hi *= 2 {
		if hi > mostNodes {
			return math.Inf(1)
		}
	}
	lo := hi / 2 // does not reach it
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; at(float64(mid)) < target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return float64(hi)
}
