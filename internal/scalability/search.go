package scalability

import "math"

// point are up to two parameters of a shape, as a search sees them: 0 or more, and about 1
// where they matter.
type point [2]float64

// search looks for the shape with the least squares (K. Levenberg, 1944; D. W.
// Marquardt, 1963). The factor of a shape is not a parameter: it follows from the shape
// (G. H. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
// squares problems whose variables separate", SIAM J. Numer. Anal. 10(2), 1973).
type search struct {
	d     *data
	dims  int
	most  point
	shape func(point) shape
	scale func(shape) float64
}

// fit is what a search found.
type fit struct {
	at      point
	shape   shape
	scale   float64
	squares float64
}

func (s *search) fit(at point) fit {
	f := fit{at: at, shape: s.shape(at)}
	f.scale = s.scale(f.shape)
	f.squares = s.d.squares(f.shape, f.scale)
	if math.IsNaN(f.squares) {
		f.squares = math.Inf(1)
	}
	return f
}

// best is the best of what is found from several points.
func (s *search) best(from ...point) fit {
	if s.dims == 0 {
		return s.fit(point{})
	}
	best := fit{squares: math.Inf(1)}
	for _, p := range from {
		if f := s.descend(p); f.squares < best.squares {
			best = f
		}
	}
	return best
}

// steps bounds a search; few take more than twenty.
const steps = 200

// descend is the local search: damped steps of Gauss and Newton, within bounds.
func (s *search) descend(p point) fit {
	now, damping, still := s.fit(s.clamp(p)), 1e-3, 0
	for range steps {
		j := s.slopes(now)
		next := s.fit(s.clamp(j.step(now.at, damping, s.most)))
		switch {
		case next.squares < now.squares:
			if still++; next.squares < now.squares*(1-1e-13) {
				still = 0
			}
			now, damping = next, max(damping/10, 1e-15)
		case damping > 1e8:
			return now
		default:
			damping *= 10
			continue
		}
		if still > 3 {
			return now
		}
	}
	return now
}

func (s *search) clamp(p point) point {
	for i := range p {
		p[i] = max(0, min(p[i], s.most[i]))
	}
	return p
}

// normal is the quadratic model of the squares about a point: JᵀJ and Jᵀr.
type normal struct {
	dims int
	jj   [2][2]float64
	jr   point
}

// slopes are the derivatives of the residuals, by differences.
func (s *search) slopes(f fit) normal {
	m, n := normal{dims: s.dims}, len(s.d.n)
	columns := make([]float64, (s.dims+1)*n)
	s.d.residuals(f.shape, f.scale, columns[:n])
	for i := range s.dims {
		h := 1e-7 * (1 + f.at[i])
		if f.at[i]+h > s.most[i] {
			h = -h
		}
		p := f.at
		p[i] += h
		g, column := s.shape(p), columns[(i+1)*n:(i+2)*n]
		s.d.residuals(g, s.scale(g), column)
		for k := range column {
			column[k] = (column[k] - columns[k]) / h
		}
		for k, r := range columns[:n] {
			m.jr[i] += column[k] * r
			for j := 0; j <= i; j++ {
				m.jj[i][j] += column[k] * columns[(j+1)*n+k]
			}
		}
	}
	m.jj[0][1] = m.jj[1][0]
	return m
}

// step is where the damped model has its least value. A parameter at a bound that pushes
// outwards stays there.
func (m normal) step(at point, damping float64, most point) point {
	var free [2]bool
	for i := range m.dims {
		free[i] = !(at[i] <= 0 && m.jr[i] >= 0) && !(at[i] >= most[i] && m.jr[i] <= 0)
	}
	a, d, b := m.jj[0][0]*(1+damping), m.jj[1][1]*(1+damping), m.jj[0][1]
	switch {
	case free[0] && free[1]:
		if det := a*d - b*b; det > 0 {
			at[0] -= (d*m.jr[0] - b*m.jr[1]) / det
			at[1] -= (a*m.jr[1] - b*m.jr[0]) / det
		}
	case free[0] && a > 0:
		at[0] -= m.jr[0] / a
	case free[1] && d > 0:
		at[1] -= m.jr[1] / d
	}
	return at
}
