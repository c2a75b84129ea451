package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Line is the line of least squares through observations, Intercept + Slope·x.
type Line struct {
	Intercept, Slope float64
	// SlopeCI and InterceptCI are Student's, with n − 2 degrees of freedom: errors
	// are independent, and of one variance.
	SlopeCI, InterceptCI Interval

	// t² times the variances of intercept and slope, and their covariance.
	varIntercept, varSlope, cov float64
}

// FitLine fits a line to at least three observations at two x or more.
func FitLine(x, y []float64, level float64) (Line, error) {
	n := float64(len(x))
	if err := checkPairs(x, y, 3); err != nil {
		return Line{}, err
	}
	mx, my := stat.Mean(x, nil), stat.Mean(y, nil)
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if !(sxx > noSpread*noSpread*mx*mx*n) {
		return Line{}, ErrNoSpread
	}
	out := Line{Slope: sxy / sxx}
	out.Intercept = my - out.Slope*mx
	var sse float64
	for i := range x {
		e := y[i] - out.Intercept - out.Slope*x[i]
		sse += e * e
	}
	t, err := TCritical(level, n-2)
	if err != nil {
		return Line{}, err
	}
	sd := math.Sqrt(sse / (n - 2))
	half, halfAt0 := t*sd/math.Sqrt(sxx), t*sd*math.Sqrt(1/n+mx*mx/sxx)
	out.SlopeCI = Interval{out.Slope - half, out.Slope + half}
	out.InterceptCI = Interval{out.Intercept - halfAt0, out.Intercept + halfAt0}
	out.varIntercept, out.varSlope, out.cov = halfAt0*halfAt0, half*half, -mx*half*half
	return out, nil
}

// Reaches is at which x the line is as high as y, with Fieller's interval at the level
// of the fit: the ratio (y − intercept) ÷ slope, of two that depend on each other (E. C.
// Fieller, J. R. Stat. Soc. B 16(2), 1954). It is that of inverse regression.
// Errors: ErrUnbounded where the slope is not told from 0.
func (l Line) Reaches(y float64) (x float64, ci Interval, err error) {
	if ci, err = fiellerRoots(y-l.Intercept, l.Slope, l.varIntercept, l.varSlope, -l.cov); err != nil {
		return 0, Interval{}, err
	}
	x, err = finite((y - l.Intercept) / l.Slope)
	return x, ci, err
}
