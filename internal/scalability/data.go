package scalability

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// data are observations in the order of their sizes.
type data struct {
	n, x []float64
	// logs: errors are proportional, and squares are those of logarithms.
	logs bool
	ln   []float64 // ln x
	// least is the sum of squares that rounding gives.
	least float64
	// repeated: a size was measured more than once.
	repeated bool
}

// rounding is the relative error of an observation below which a better fit is chance.
const rounding = 1e-9

// What it takes to fit every curve: AICc of three parameters and the error variance exists from
// six observations on. With fewer a simple curve would stand for want of rivals.
const (
	leastObservations = 6
	leastSizes        = 3
)

func newData(n, x []float64) (*data, error) {
	sizes, _, err := stats.BySize(n, x)
	if err != nil {
		return nil, err
	}
	if len(x) < leastObservations || len(sizes) < leastSizes {
		return nil, fmt.Errorf("%d observations of %d sizes, want %d or more of %d: %w", len(x), len(sizes),
			leastObservations, leastSizes, stats.ErrTooFew)
	}
	if sizes[0].Size < 1 {
		return nil, fmt.Errorf("a size of %v, want 1 or more: %w", sizes[0].Size, stats.ErrArgument)
	}
	d := observed(n, x, 0)
	if d.least == 0 {
		return nil, fmt.Errorf("every throughput is 0: %w", stats.ErrArgument)
	}
	d.repeated = len(sizes) < len(x)
	return d, nil
}

// proportional are the same data with errors that are proportional to the throughput; false: a
// throughput of 0 allows none.
func (d *data) proportional() (*data, bool) {
	p := *d
	p.logs, p.least = true, float64(len(d.x))*rounding*rounding
	for _, v := range d.x {
		p.ln = append(p.ln, math.Log(v))
	}
	return &p, slices.Min(d.x) > 0
}

// deviance is the AIC of a curve, but for a constant that errors of either kind share: of
// proportional ones the density of x is that of ln x, over x.
func (d *data) deviance(c Curve) float64 {
	out := float64(len(d.x))*math.Log(max(c.SSE, d.least)) + 2*float64(c.Kind.Parameters())
	if d.logs {
		for _, v := range d.ln {
			out += 2 * v
		}
	}
	return out
}

// observed are observations, of which none has less noise, in the unit of x.
func observed(n, x []float64, noise float64) *data {
	d := &data{}
	var rows []int32
	d.n, rows = stats.SortRows(n)
	for _, row := range rows {
		d.x = append(d.x, x[row])
		noise = max(noise, rounding*math.Abs(x[row]))
	}
	d.least = float64(len(x)) * noise * noise
	return d
}

func (d *data) largest() float64 { return d.n[len(d.n)-1] }

// shape is a curve of which one node does 1: min(n, knee) where a knee is given, else
// n/(1 + α(n−1) + βn(n−1)).
type shape struct{ knee, alpha, beta float64 }

func (s shape) at(n float64) float64 {
	if s.knee > 0 {
		return min(n, s.knee)
	}
	return n / (1 + s.alpha*(n-1) + s.beta*n*(n-1))
}

// plateau is the most that the shape comes to. With the peak n* = √((1−α)/β) that is
// n*/(1 + α(n*−1) + βn*(n*−1)) = 1/(2√(β(1−α)) + α − β).
func (s shape) plateau() float64 {
	switch {
	case s.knee > 0:
		return s.knee
	case s.beta >= 1-s.alpha:
		return 1
	default:
		return 1 / (2*math.Sqrt(s.beta*(1-s.alpha)) + s.alpha - s.beta)
	}
}

// peak is the size past which the shape falls; +Inf where it does not.
func (s shape) peak() float64 {
	if s.beta == 0 {
		return math.Inf(1)
	}
	return math.Sqrt((1 - s.alpha) / s.beta)
}

// held is the size whose throughput so many nodes have, of a curve with this peak: past the
// largest size that was measured no curve falls.
func held(n, largest, peak float64) float64 {
	if n <= largest {
		return n
	}
	return max(largest, min(n, peak))
}

// scale is the best factor of a shape over observations from one index to another.
func (d *data) scale(s shape, from, to int) float64 {
	var xy, yy float64
	for i := from; i < to; i++ {
		y := s.at(d.n[i])
		if d.logs {
			xy += d.ln[i] - math.Log(y)
		} else {
			xy += d.x[i] * y
			yy += y * y
		}
	}
	if d.logs {
		return math.Exp(xy / float64(to-from))
	}
	return xy / yy
}

// slope is the best factor of n over the first k observations, roof the best constant
// over the rest.
func (d *data) slope(k int) float64 { return d.scale(shape{}, 0, k) }

func (d *data) roof(k int) float64 { return d.scale(shape{knee: d.n[0]}, k, len(d.n)) * d.n[0] }

// residual is how far observation i lies from what a curve has there.
func (d *data) residual(i int, y float64) float64 {
	if d.logs {
		return d.ln[i] - math.Log(y)
	}
	return d.x[i] - y
}

func (d *data) residuals(s shape, scale float64, into []float64) {
	for i := range d.n {
		into[i] = d.residual(i, scale*s.at(d.n[i]))
	}
}

func (d *data) squares(s shape, scale float64) float64 {
	sum := 0.0
	for i := range d.n {
		r := d.residual(i, scale*s.at(d.n[i]))
		sum += r * r
	}
	return sum
}
