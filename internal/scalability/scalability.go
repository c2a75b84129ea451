// Package scalability says how the throughput of a fleet grows with its size, from
// what was measured at several sizes.
//
//  1. [Fit] fits four curves: proportional growth, a hard cap, Amdahl's law (G. M. Amdahl,
//     AFIPS 1967) and the Universal Scalability Law (N. J. Gunther, "A general theory of
//     computational scalability based on rational functions", 2008).
//  2. [Curves.Kind] names the curve where the data tell which it is, and is [Unclear]
//     where they do not.
//  3. [Curves.Plateau], [Curves.Knee] and [Curves.Predict] have intervals. They hold over
//     all kinds that the data do not rule out: what is not known of the kind is in them.
//  4. [Curves.NodesFor] is how many nodes a target needs.
//  5. [ChooseGrowth] asks of totals of a capacity only whether a cap ends their growth.
//     [Curve.CapInterval] is the interval of the cap; [Curve.LevelOff] and [Curve.Misses]
//     hold the curve against the totals.
//
// No curve falls past the largest size that was measured: nothing there was seen to fall.
package scalability

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// Kind is the law that a curve follows.
type Kind string

// The kinds, X(n) = γn/(1 + α(n−1) + βn(n−1)) for all but Capped.
const (
	Linear Kind = "linear" // α = β = 0
	Capped Kind = "capped" // min(γn, cap)
	Amdahl Kind = "amdahl" // β = 0
	USL    Kind = "usl"
	// Unclear is the kind of data that several curves describe, where these differ in
	// what matters.
	Unclear Kind = "unclear"
)

// Kinds are those of curves, in the order of their parameters.
func Kinds() []Kind { return []Kind{Linear, Capped, Amdahl, USL} }

// Parameters is how many parameters a kind has, the error variance aside.
func (k Kind) Parameters() int {
	switch k {
	case Linear:
		return 1
	case USL:
		return 3
	default:
		return 2
	}
}

// Curve is a fitted curve.
type Curve struct {
	Kind  Kind
	Gamma float64 // γ, throughput of one node
	Alpha float64 // α, contention: from 0 to 1
	Beta  float64 // β, coherency: 0 or more
	Cap   float64 // +Inf of all kinds but Capped
	// SSE is the sum of squared errors: of the throughput, or of its natural logarithm
	// where errors are proportional. AICc is [stats.AICc] of it.
	SSE, AICc float64
	// Errors are standard errors of the parameters; NaN of one that is fixed, as at a bound.
	Errors Errors
	// largest is the largest size measured.
	largest float64
	degrees int // of freedom
}

// Errors are standard errors from the derivatives of the curve at its best parameters.
type Errors struct{ Gamma, Alpha, Beta, Cap float64 }

// formula is the curve's formula at n nodes, also past the largest size that was measured.
func (c Curve) formula(n float64) float64 {
	if c.Kind == Capped {
		return min(c.Gamma*n, c.Cap)
	}
	return c.Gamma * n / (1 + c.Alpha*(n-1) + c.Beta*n*(n-1))
}

// At is the throughput of n nodes. Past the largest size that was measured it does not
// fall.
func (c Curve) At(n float64) float64 {
	return c.formula(held(n, c.largest, c.Peak()))
}

// Peak is the size with the largest throughput, √((1−α)/β); +Inf where the curve rises
// or stays.
func (c Curve) Peak() float64 {
	return max(1, c.bend().peak())
}

// bend is the shape of all kinds but Capped.
func (c Curve) bend() shape { return shape{alpha: c.Alpha, beta: c.Beta} }

// Plateau is the most that any number of nodes does: the cap, the throughput at the
// peak, or what growth tends to, γ/α; +Inf where growth has no end.
func (c Curve) Plateau() float64 {
	if c.Kind == Capped {
		return c.Cap
	}
	return c.Gamma * c.bend().plateau()
}

// Knee is the size at which growth in proportion would reach the plateau, plateau/γ;
// +Inf where there is none.
func (c Curve) Knee() float64 { return c.Plateau() / c.Gamma }

// Interval is the interval of a parameter with this standard error, by Student's t with n−k
// degrees of freedom, k parameters of the curve; false where it has none.
func (c Curve) Interval(value, err float64) (stats.Interval, bool) {
	t, bad := stats.TCritical(level, float64(c.degrees))
	if bad != nil || math.IsNaN(err) {
		return stats.Interval{}, false
	}
	return stats.Interval{Lo: value - t*err, Hi: value + t*err}, true
}

// Estimate is a value with its interval at 95 %. Hi is +Inf where the data set no upper
// bound; Value is +Inf where the best curve has none, and NaN of a peak that is not known.
type Estimate struct{ Value, Lo, Hi float64 }

// level is the confidence level of every interval.
const level = 0.95

// Curves are the curves that describe some observations.
type Curves struct {
	Linear, Capped, Amdahl, USL Curve
	// Kind is the law that the data show, or Unclear.
	Kind Kind
	// Best has the least AICc. Plausible are the kinds that the data do not rule out, Best
	// first.
	Best      Kind
	Plausible []Kind
	Largest   float64 // the largest size that was measured

	data *data
	// plausible are the kinds with the errors of these data; likeliest has the least AIC, of
	// data that bend. Of few observations AICc prefers a simple curve, and its plateau may lie
	// far above that of others.
	plausible []Kind
	likeliest Kind
	// excess is by how much the AIC of a curve may exceed the least one.
	excess float64
	// other are the curves with errors of the other kind; nil: a throughput of 0 allows none.
	other *Curves
}

// Curve is the curve of a kind; that of Unclear is the likeliest one.
func (c Curves) Curve(k Kind) Curve { return *c.place(k) }

// place is where the curve of a kind is kept.
func (c *Curves) place(k Kind) *Curve {
	switch k {
	case Linear:
		return &c.Linear
	case Capped:
		return &c.Capped
	case Amdahl:
		return &c.Amdahl
	case USL:
		return &c.USL
	default:
		return c.place(c.likeliest)
	}
}

// Fit fits all curves to the throughput x of fleets of n nodes; trials of one size are
// observations of their own. It takes six of them, of three sizes, each of 1 or more.
//
// Errors are equal, or proportional to the throughput. If sizes were measured more than once,
// values are by proportional ones, unless equal ones are clearly likelier. Otherwise they are by
// equal ones, as is usual for these curves. Intervals are by both, as far as the data allow.
//
// Errors: those of package stats for input of which no curve can be fitted.
func Fit(n, x []float64) (Curves, error) {
	d, err := newData(n, x)
	if err != nil {
		return Curves{}, fmt.Errorf("fitting curves of growth: %w", err)
	}
	c, err := d.curves()
	if err != nil {
		return Curves{}, err
	}
	if p, possible := d.proportional(); possible {
		other, err := p.curves()
		if err != nil {
			return Curves{}, err
		}
		c = beside(c, other)
	}
	for _, e := range c.errors() {
		for _, k := range e.plausible {
			if !slices.Contains(c.Plausible, k) {
				c.Plausible = append(c.Plausible, k)
			}
		}
	}
	c.Kind = c.named()
	return c, nil
}

// curves are those of all kinds, with the kind that fits best.
func (d *data) curves() (Curves, error) {
	c := Curves{Largest: d.largest(), data: d}
	for _, k := range Kinds() {
		fitted, err := d.curve(k)
		if err != nil {
			return Curves{}, fmt.Errorf("fitting curves of growth: %w", err)
		}
		*c.place(k) = fitted
	}
	if err := c.choose(); err != nil {
		return Curves{}, fmt.Errorf("choosing a curve of growth: %w", err)
	}
	return c, nil
}
