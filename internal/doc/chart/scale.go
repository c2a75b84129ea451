package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// scale maps the values of an axis to shares of its length, and says where its
// ticks are.
type scale struct {
	Axis
	num.Scale         // values are divided by Factor before they are placed
	lo, hi    float64 // ends, divided
	step      float64 // between two ticks of a linear axis
	first, n  int     // of rows: the first that is shown, and how many
	boxes     bool
	own       bool // every tick has a prefix of its own
	count     int  // about how many ticks there are
}

// newScale covers values, with about so many ticks. An axis of boxes that are
// close together does not begin at 0.
func newScale(a Axis, values []float64, ticks int, boxes bool) scale {
	if a.Kind == Rows {
		return scale{Axis: a, Scale: num.Scale{Factor: 1}, n: len(a.Rows)}
	}
	if a.TickCount > 0 {
		ticks = a.TickCount
	}
	lo, hi := a.extent(values, boxes)
	if a.Kind == Time {
		return scale{Axis: a, Scale: num.Scale{Factor: 1}, lo: lo, hi: hi, count: ticks}
	}
	s := scale{Axis: a, boxes: boxes, own: a.Kind == Log && (a.Unit == "s" || hi/lo >= 1000)}
	if s.Scale = prefix(a.Unit, math.Max(math.Abs(lo), math.Abs(hi))); s.own {
		s.Scale = num.Scale{Factor: 1, Unit: a.Unit}
	}
	lo, hi = lo/s.Factor, hi/s.Factor
	switch {
	case a.Kind == Log && a.Tight:
		s.lo, s.hi = lo, hi
	case a.Kind == Log:
		s.lo, s.hi = roundDown(lo), roundUp(hi)
		if s.lo == s.hi {
			s.hi = roundUp(s.lo * 1.5)
		}
	default:
		s.step = niceStep((hi - lo) / float64(max(ticks, 1)))
		if a.Whole {
			s.step = float64(thin(int(math.Min(hi-lo, 1e9))+1, cmp.Or(a.TickCount, 13)))
		}
		s.lo, s.hi = lo, hi
		if !a.Tight {
			s.lo, s.hi = math.Floor(lo/s.step+1e-9)*s.step, math.Ceil(hi/s.step-1e-9)*s.step
		}
	}
	if a.Unit == "s" && s.Factor < 1 && s.hi >= 1000 { // 1 ms and not 1000 µs
		s.Scale = num.For("s", s.hi*s.Factor*(1+1e-9))
		s.lo, s.hi, s.step = s.lo/1000, s.hi/1000, s.step/1000
	}
	least, most := a.limits() // rounding may have gone beyond
	if least, most = least/s.Factor, most/s.Factor; least < s.hi && most > s.lo {
		s.lo, s.hi = max(s.lo, least), min(s.hi, most)
	}
	return s
}

// largest is the largest value, and its inverse the smallest above 0, that an
// axis is made for: with others one could not compute.
const largest = 1e300

// limits are the ends that the axis never passes.
func (a Axis) limits() (least, most float64) {
	least, most = math.Inf(-1), math.Inf(1)
	if a.Min != nil && !math.IsNaN(*a.Min) {
		least = *a.Min
	}
	if a.Max != nil && *a.Max > least {
		most = *a.Max
	}
	return least, most
}

// extent is what the axis must show, with a finite length above 0.
func (a Axis) extent(values []float64, boxes bool) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	least, most := a.limits()
	for _, v := range values {
		v = min(max(v, least), most)
		if a.Kind == Time && !(v >= firstTime && v <= lastTime) {
			continue
		}
		if math.Abs(v) <= largest && (a.Kind != Log || v >= 1/largest) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if a.Kind == Time {
		switch {
		case lo > hi:
			return 0, 86400
		case hi-lo < 1e-3: // all at once: that moment in the middle of a minute
			return lo - 30, lo + 30
		}
		return lo, hi
	}
	if boxes && lo > 0.7*hi && hi > 0 {
		margin := max((hi-lo)*0.1, hi*0.005)
		return lo - margin, hi + margin
	}
	if a.Kind == Log {
		if lo > hi || hi/lo > largest {
			return 1, 10
		}
		if lo == hi && a.Tight {
			hi = 2 * lo
		}
		return lo, hi
	}
	if !a.Tight || lo > hi {
		lo, hi = min(lo, 0), max(hi, 0)
	}
	if lo == hi {
		lo, hi = min(lo, 0), max(hi, 0)
	}
	if lo == hi || !finite(hi-lo) || hi-lo < 1/largest {
		return 0, 1
	}
	return lo, hi
}

// Above this many seconds an axis of time counts minutes, and hours.
const (
	minutesFrom = 900
	hoursFrom   = 4 * 3600
)

// prefix is the unit in which an axis counts.
func prefix(of string, top float64) num.Scale {
	switch {
	case of == "s" && top >= hoursFrom:
		return num.Scale{Factor: 3600, Unit: "h"}
	case of == "s" && top >= minutesFrom:
		return num.Scale{Factor: 60, Unit: "min"}
	case of == "%":
		return num.Scale{Factor: 1, Unit: "%"}
	}
	return num.For(of, top)
}

// share is where v lies: from 0 at the beginning to 1 at the end of the axis,
// and of a row in its middle. It is not finite for what has no place.
func (s scale) share(v float64) float64 {
	switch s.Kind {
	case Rows:
		return (v - float64(s.first) + 0.5) / float64(s.n)
	case Log:
		return math.Log(v/s.Factor/s.lo) / math.Log(s.hi/s.lo)
	}
	return (v/s.Factor - s.lo) / (s.hi - s.lo)
}

// onAxis reports whether a share lies on the axis.
func onAxis(share float64) bool { return share >= -1e-9 && share <= 1+1e-9 }

// carries reports whether the labels of the ticks have the unit themselves.
func (s scale) carries() bool {
	return s.Axis.Unit == "s" || s.Axis.Unit == "%" || s.own || s.Kind == Rows || s.Kind == Time
}

// label is what stands beside the axis: its label with the unit, as far as the
// ticks do not carry it.
func (s scale) label() string {
	of := s.Scale.Unit
	switch {
	case s.Kind == Rows:
		of = s.Axis.Unit
	case s.Kind == Time:
		of = s.period()
	case s.carries():
		of = ""
	}
	label := strings.Trim(s.Label+", "+strings.TrimSpace(of), ", ")
	if s.boxes && s.lo > 0 {
		label = strings.Trim(label+", not from 0", ", ")
	}
	return label
}

// tick is a place on an axis with its label.
type tick struct {
	share float64
	text  string
	zero  bool
	role  Role
}

// ticks are those within the axis, ascending.
func (s scale) ticks() []tick {
	var out []tick
	add := func(v float64, text string) {
		if at := s.share(v); onAxis(at) {
			out = append(out, tick{share: at, text: text, zero: v == 0})
		}
	}
	switch {
	case s.Kind == Rows:
		for i, r := range s.Rows[s.first : s.first+s.n] {
			out = append(out, tick{share: s.share(float64(s.first + i)), text: r.Name, role: r.Role})
		}
	case len(s.Ticks) > 0:
		for _, t := range s.Ticks {
			add(t.At, t.Text)
		}
	case s.Kind == Time:
		for _, t := range s.timeTicks() {
			add(t.At, t.Text)
		}
	case s.Kind == Log:
		for _, v := range logTicks(s.lo, s.hi) {
			add(v*s.Factor, s.logText(v))
		}
	default:
		for _, v := range linearTicks(s.lo, s.hi, s.step) {
			add(v*s.Factor, s.text(v))
		}
	}
	return out
}

// text is the label of a linear axis at v, divided already.
func (s scale) text(v float64) string {
	text := num.Tick(v, s.step)
	if s.Signed {
		if text = strings.TrimPrefix(text, "-"); v < 0 {
			text = "−" + text
		} else if v > 0 {
			text = "+" + text
		}
	}
	if !s.carries() || v == 0 && s.Axis.Unit == "s" && s.Factor < 1 {
		return text
	}
	return text + " " + s.Scale.Unit
}

func (s scale) logText(v float64) string {
	if !s.own {
		return num.Digits(v, 4)
	}
	own := num.For(s.Axis.Unit, v*(1+1e-9)) // .001 must be 1 ms and not 1000 µs
	return strings.TrimSpace(num.Digits(v/own.Factor, 3) + " " + strings.TrimSpace(own.Unit))
}

// linearTicks are the multiples of a step, at most 100.
func linearTicks(lo, hi, step float64) []float64 {
	var out []float64
	first := math.Ceil(lo/step - 1e-9)
	for k := 0.0; k < 100 && (first+k)*step <= hi+1e-9*step; k++ {
		out = append(out, math.Round(first+k)*step) // rounded: 3·0.1 is meant to be 0.3
	}
	return out
}

// niceStep is the round number nearest to raw on a logarithmic scale: the
// thresholds are the geometric means of neighbours.
func niceStep(raw float64) float64 { return roundStep(raw, math.Sqrt2, math.Sqrt(10), math.Sqrt(50)) }

// roundStep returns 1, 2, 5 or 10 times a power of ten: the first with a limit
// that raw does not exceed.
func roundStep(raw, one, two, five float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)+1e-12))
	const slack = 1 + 1e-9
	switch m := raw / power; {
	case m <= one*slack:
		return power
	case m <= two*slack:
		return 2 * power
	case m <= five*slack:
		return 5 * power
	}
	return 10 * power
}

// roundUp is the first of 1, 2, 5 or 10 times a power of ten that v does not
// exceed, roundDown the last that does not exceed v.
func roundUp(v float64) float64 { return roundStep(v, 1, 2, 5) }

func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	for _, m := range []float64{5, 2} {
		if m*power <= v*(1+1e-9) {
			return m * power
		}
	}
	return power
}

// thin returns every how many of n labels may be shown so that no more than
// most are: 1, 2, 5, 10, 20, 50, …
func thin(n, most int) int {
	if n <= max(most, 1) {
		return 1
	}
	return int(math.Max(1, math.Round(roundUp(float64(n)/float64(max(most, 1))))))
}

// The longest axis, in powers of ten, on which 2 and 5 have ticks beside 1, and
// how many powers of ten have a tick each.
const (
	decadesWithSteps = 2.31
	mostDecades      = 9
)

// logTicks are round steps if the axis is shorter than a power of ten, and
// otherwise powers of ten: with 2 and 5 times them if there is room, and only
// some of them if there is little room.
func logTicks(lo, hi float64) []float64 {
	var out []float64
	decades := math.Log10(hi / lo)
	if decades < 1-1e-9 {
		return linearTicks(lo, hi, niceStep((hi-lo)/4))
	}
	steps := []float64{1}
	if decades <= decadesWithSteps {
		steps = []float64{1, 2, 5}
	}
	factor := math.Pow(10, math.Max(1, math.Ceil(decades/mostDecades)))
	for power := math.Pow(10, math.Floor(math.Log10(lo)+1e-9)); power <= hi*(1+1e-9); power *= factor {
		for _, m := range steps {
			out = append(out, m*power)
		}
	}
	return slices.DeleteFunc(out, func(v float64) bool { return v < lo*(1-1e-9) || v > hi*(1+1e-9) })
}
