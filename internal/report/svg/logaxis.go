package svg

import "math"

// LogAxis maps positive values to shares of its length by their logarithm: the
// same factor is the same distance everywhere. What is not positive has no
// place on it.
type LogAxis struct {
	Lo, Hi float64
}

// NewLogAxis returns an axis that covers lo to hi with its ends at 1, 2 or 5
// times a power of ten. Without a positive, finite extent it is 1 to 10.
func NewLogAxis(lo, hi float64) LogAxis {
	if !(lo > 0) || !(hi >= lo) || math.IsInf(hi, 0) {
		return LogAxis{1, 10}
	}
	a := LogAxis{roundDown(lo), roundUp(hi)}
	if a.Lo == a.Hi {
		a.Hi = roundUp(a.Lo * 1.5)
	}
	return a
}

// slackLog lets a value count as the round number that rounding errors have
// moved it off.
const slackLog = 1e-9

// roundUp is the first of 1, 2, 5 or 10 times a power of ten that v does not
// exceed.
func roundUp(v float64) float64 { return roundStep(v, 1, 2, 5) }

// roundDown is the last of them that does not exceed v.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)+slackLog))
	for _, m := range []float64{5, 2} {
		if m*power <= v*(1+slackLog) {
			return m * power
		}
	}
	return power
}

// Share returns where v lies: 0 at Lo, 1 at Hi. It is not finite for what is
// not positive.
func (a LogAxis) Share(v float64) float64 { return math.Log(v/a.Lo) / math.Log(a.Hi/a.Lo) }

// Pct is Share as a length along x.
func (a LogAxis) Pct(v float64) Len { return Pct(100 * a.Share(v)) }

// Y is Share as pixels downwards in a plot of this height that begins at top.
func (a LogAxis) Y(v, top, height float64) Len { return Px(top + height*(1-a.Share(v))) }

// decadesWithSteps is the longest axis, in powers of ten, on which 2 and 5
// have ticks beside 1.
const decadesWithSteps = 2.31

// mostDecades is how many powers of ten have a tick each.
const mostDecades = 9

// Ticks returns the values of the ticks within the axis, ascending: round
// steps where it is shorter than a power of ten, and otherwise powers of ten,
// with 2 and 5 times them where there is room, or not all where there is none.
func (a LogAxis) Ticks() []float64 {
	decades := math.Log10(a.Hi / a.Lo)
	if decades < 1-slackLog {
		return a.within(NewAxis(a.Lo, a.Hi, 4).Ticks())
	}
	steps := []float64{1}
	if decades <= decadesWithSteps {
		steps = []float64{1, 2, 5}
	}
	var out []float64
	factor := math.Pow(10, math.Max(1, math.Ceil(decades/mostDecades)))
	for power := math.Pow(10, math.Floor(math.Log10(a.Lo)+slackLog)); power <= a.Hi*(1+slackLog); power *= factor {
		for _, m := range steps {
			out = append(out, m*power)
		}
	}
	return a.within(out)
}

func (a LogAxis) within(values []float64) []float64 {
	var out []float64
	for _, v := range values {
		if v >= a.Lo*(1-slackLog) && v <= a.Hi*(1+slackLog) {
			out = append(out, v)
		}
	}
	return out
}
