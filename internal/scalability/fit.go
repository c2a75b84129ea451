package scalability

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/stats"
)

// pinned is a constraint: the curve has this value at so many nodes, +Inf of them for its
// plateau. The zero value constrains nothing.
type pinned struct{ at, value float64 }

// part is that of the shape in the value.
func (p pinned) part(s shape, largest float64) float64 {
	if math.IsInf(p.at, 1) {
		return s.plateau()
	}
	return s.at(held(p.at, largest, s.peak()))
}

// low is a parameter with which a curve hardly bends, and yet has a plateau.
const low = 0.01

// fitted is the best fit of a kind under a constraint. from is where a search begins, where
// something was found under nearly the same constraint.
func (d *data) fitted(k Kind, p pinned, from ...point) fit {
	s := d.free(k)
	if p.at > 0 {
		s.scale = func(x shape) float64 { return p.value / p.part(x, d.largest()) }
	}
	switch {
	case k == Linear:
		return s.fit(point{})
	case k == Capped:
		return d.capped(p)
	case len(from) > 0:
		return s.best(from...)
	}
	guess, edge := d.guess(), *s
	edge.dims = 1
	amdahl := edge.best(point{guess[0]}, point{low})
	if k == Amdahl {
		return amdahl
	}
	// The least value lies within the bounds or on an edge.
	return s.best(guess, amdahl.at, point{0, max(guess[1], low)})
}

// capped is the best min(γn, cap), exactly. While the knee is between two neighbouring sizes
// the squares fall apart into those of γ, over the sizes below, and those of the cap. If
// the best knee of these lies elsewhere, the least value of the gap is at its edge.
func (d *data) capped(p pinned) fit {
	best := fit{shape: shape{knee: math.Inf(1)}, squares: math.Inf(1)}
	for k := 1; k <= len(d.n); k++ {
		if k < len(d.n) && d.n[k] == d.n[k-1] {
			continue
		}
		for _, f := range d.cappedAt(k, p) {
			f.squares = d.squares(f.shape, f.scale)
			if f.scale > 0 && f.squares < best.squares {
				best = f
			}
		}
	}
	return best
}

// cappedAt are the candidates with the first k observations below the knee, or at it.
func (d *data) cappedAt(k int, p pinned) []fit {
	lo, hi := d.n[k-1], math.Inf(1)
	if k < len(d.n) {
		hi = d.n[k]
	}
	var out []fit
	slope := d.slope(k)
	if p.at == 0 {
		if k == len(d.n) {
			return []fit{{shape: shape{knee: hi}, scale: slope}}
		}
		for _, knee := range []float64{lo, max(lo, min(d.roof(k)/slope, hi))} {
			s := shape{knee: knee}
			out = append(out, fit{shape: s, scale: d.scale(s, 0, len(d.n))})
		}
		return out
	}
	if lo < p.at { // the value is the cap
		knee := max(lo, min(p.value/slope, hi, p.at))
		out = append(out, fit{shape: shape{knee: knee}, scale: p.value / knee})
	}
	if hi > p.at { // the value is below the cap
		knee, scale := hi, p.value/p.at
		if k < len(d.n) {
			knee = max(lo, p.at, min(d.roof(k)/scale, hi))
		}
		out = append(out, fit{shape: shape{knee: knee}, scale: scale})
	}
	return out
}

// curve is the best curve of a kind.
func (d *data) curve(k Kind) (Curve, error) {
	f := d.fitted(k, pinned{})
	c := Curve{
		Kind: k, Gamma: f.scale, Alpha: f.shape.alpha, Beta: f.shape.beta, Cap: math.Inf(1), SSE: f.squares,
		largest: d.largest(), degrees: len(d.n) - k.Parameters(),
	}
	if k == Capped {
		c.Cap = f.scale * f.shape.knee
	}
	if !(c.Gamma > 0) || math.IsInf(c.SSE, 1) {
		return Curve{}, fmt.Errorf("the throughput does not grow from 0: %w", stats.ErrArgument)
	}
	var err error
	c.AICc, err = stats.AICc(max(c.SSE, d.least), len(d.n), k.Parameters()+1)
	c.Errors = d.errors(c)
	return c, err
}

// errors are the roots of the diagonal of s²·(JᵀJ)⁻¹. Parameters at a bound are fixed.
func (d *data) errors(c Curve) Errors {
	out := Errors{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	columns, into := [][]float64{d.slopes(&c, &c.Gamma)}, []*float64{&out.Gamma}
	add := func(parameter, to *float64, free bool) {
		if free {
			columns, into = append(columns, d.slopes(&c, parameter)), append(into, to)
		}
	}
	add(&c.Alpha, &out.Alpha, c.Alpha > 0 && c.Alpha < 1)
	add(&c.Beta, &out.Beta, c.Beta > 0)
	add(&c.Cap, &out.Cap, c.Cap < c.Gamma*d.largest())
	for i, v := range inverseDiagonal(columns) {
		*into[i] = math.Sqrt(c.SSE / float64(c.degrees) * v)
	}
	return out
}

// inverseDiagonal is the diagonal of (JᵀJ)⁻¹ by the columns of J, which it changes; nil where
// these cannot be told apart.
func inverseDiagonal(columns [][]float64) []float64 {
	squares := make([]float64, len(columns))
	for i, column := range columns {
		for _, v := range column {
			squares[i] += v * v
		}
		for k := range column { // of length 1: they differ by many orders of magnitude
			column[k] /= math.Sqrt(squares[i])
		}
	}
	_, out, err := stats.Ridge(columns, make([]float64, len(columns[0])), make([]float64, len(columns)))
	if err != nil {
		return nil
	}
	for i := range out {
		out[i] /= squares[i]
	}
	return out
}

// slopes are the derivatives of the residuals of a curve by one of its parameters.
func (d *data) slopes(c *Curve, parameter *float64) []float64 {
	was, h, out := *parameter, 1e-6**parameter, make([]float64, len(d.n))
	for _, side := range []float64{-1, 1} {
		*parameter = was + side*h
		for i, n := range d.n {
			out[i] += side * d.residual(i, c.formula(n)) / (2 * h)
		}
	}
	*parameter = was
	return out
}

// free is the search for a shape of a kind with its best factor: α and β times what makes
// them about 1.
func (d *data) free(k Kind) *search {
	n := d.largest()
	return &search{
		d: d, dims: k.Parameters() - 1, most: point{n - 1, math.Inf(1)},
		shape: func(p point) shape { return shape{alpha: p[0] / (n - 1), beta: p[1] / (n * (n - 1))} },
		scale: func(x shape) float64 { return d.scale(x, 0, len(d.n)) },
	}
}

// where is the point of a curve in that search.
func (d *data) where(c Curve) point {
	n := d.largest()
	return point{c.Alpha * (n - 1), c.Beta * n * (n - 1)}
}

// peaks is the best curve of [USL] with its peak at a size.
func (d *data) peaks(peak float64, from ...point) fit {
	s := d.free(USL)
	s.dims, s.most = 1, point{1}
	s.shape = func(p point) shape { return shape{alpha: p[0], beta: (1 - p[0]) / (peak * peak)} }
	return s.best(append(from, point{}, point{.1}, point{.9})...)
}

// guess is the linear fit of n/x on 1, n−1 and n(n−1), within the bounds.
func (d *data) guess() point {
	largest := d.largest()
	columns, values := make([][]float64, 3), []float64(nil)
	for i, n := range d.n {
		if d.x[i] <= 0 {
			continue
		}
		// Weights make its errors those of the curve.
		w := d.x[i] * d.x[i] / n
		if d.logs {
			w = d.x[i] / n
		}
		for k, v := range [...]float64{1, (n - 1) / (largest - 1), n * (n - 1) / (largest * (largest - 1))} {
			columns[k] = append(columns[k], w*v)
		}
		values = append(values, w*n/d.x[i])
	}
	b, _, err := stats.Ridge(columns, values, make([]float64, len(columns)))
	if err != nil || !(b[0] > 0) {
		return point{}
	}
	return point{max(0, b[1]/b[0]), max(0, b[2]/b[0])}
}
