package pressure

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// Use is how much of a limit the present throughput uses: u = a·X/L, if each of X requests a second needs a of the
// level L.
type Use struct {
	Node    string `json:"node,omitempty"`
	Service string `json:"service"`
	Limit   string `json:"limit"` // levels.Level.Name
	// Rate is the present level, in what the limit counts, a second.
	Rate float64 `json:"rate"`
	// Pressure is the mean in the busiest window ([Busiest]), which all limits share.
	Pressure float64 `json:"pressure"`
	// Mean is the interval of that mean; nil: too few periods.
	Mean *stats.Interval `json:"mean,omitempty"`
	// Peak is the 99th percentile of the whole series: what a lower level has to bear, too.
	Peak float64 `json:"peak"`

	// load is the mean of the busiest window, and burst the rate of a bucket; 0: there is none. A level above the burst
	// has no credits.
	load, burst float64
	// sustained: only in the long run does the load need more than a bucket gains. The demand is not clipped yet.
	sustained bool
}

// needed is the level for a throughput that is a multiple (growth) of the present one.
func (u Use) needed(growth float64) float64 {
	out := growth * u.Pressure * u.Rate
	if load := growth * u.load; load > u.burst {
		return max(out, load)
	}
	return out
}

// NewUse is the use of a limit at this rate, from its pressures and the busiest window.
func NewUse(rate float64, s Series, begin, end float64) (Use, error) {
	all, err := s.Summary()
	if err != nil {
		return Use{}, err
	}
	window := s.Between(begin, end)
	if len(window) == 0 { // its periods are longer
		window = s
	}
	out := Use{Rate: rate, Pressure: window.Mean(), Peak: all.P99}
	if iv, err := window.MeanInterval(.95); err == nil {
		out.Mean = &iv
	}
	return out, nil
}

// highest is the upper end of the mean's interval.
func (u Use) highest() float64 {
	if u.Mean == nil {
		return u.Pressure
	}
	return max(u.Pressure, u.Mean.Hi)
}

// clipped reports whether the demand is at the limit. The interval of a mean alone, which few periods make
// wide, does not show it.
func (u Use) clipped() bool { return u.Pressure >= saturated || min(u.highest(), u.Peak) >= saturated }

// Range is a number with its interval.
type Range struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// growth is by how much the throughput grows until the limit binds.
func (u Use) growth() Range {
	g := 1 / u.Pressure
	if u.Mean == nil || !(u.Mean.Lo > 0) {
		return Range{g, g, g}
	}
	return Range{g, min(g, 1/u.Mean.Hi), max(g, 1/u.Mean.Lo)}
}

// reach is by how much the throughput grows until another level of the limit binds.
func (u Use) reach(level float64) Range {
	g, most := u.growth(), math.Inf(1)
	if u.load > 0 {
		most = max(level, u.burst) / u.load
	}
	x := level / u.Rate
	return Range{min(x*g.Value, most), min(x*g.Lo, most), min(x*g.Hi, most)}
}

// Change is another level of a limit.
type Change struct {
	Use    int     `json:"use"`    // index in Advice.Uses
	Factor float64 `json:"factor"` // of the present level
	Rate   float64 `json:"rate"`   // the new level
}

// Step is what raises achieve.
type Step struct {
	Raise []Change `json:"raise,omitempty"` // more is of no use; none: as it is
	// Growth is the largest throughput then, as a multiple of the present one: at it the limits Next bind. It supposes
	// that requests need as much as now.
	Growth Range `json:"growth"`
	Next   []int `json:"next"` // indices in Advice.Uses
}

// Advice is which limits hold the throughput back, and in which order.
type Advice struct {
	Uses []Use `json:"uses"` // the highest pressure first
	// Clipped: the first limits are saturated. The demand is at least the present throughput, and not known.
	Clipped bool   `json:"clipped"`
	Steps   []Step `json:"steps,omitempty"`
	// Lower are limits of which less is enough for the present throughput.
	Lower []Change `json:"lower,omitempty"`
}

const (
	// alike is the share of a pressure within which another one binds at the same time, as far as can be measured.
	alike = .95
	// saturated is the pressure from which a demand counts as clipped: limits that held a database back showed
	// 0.94 to 1.
	saturated = .9
)

// Advise orders the limits of services that serve the same requests. The first group of limits with alike pressures
// u₁ binds when the throughput has grown by 1/u₁. Raising these by u₁/u₂ lets it grow by 1/u₂; then the next
// group binds, and more is of no use. Levels may be lowered until the pressure is target, by its peak and by the upper
// end of its interval.
func Advise(uses []Use, target float64) Advice {
	out := Advice{Uses: slices.Clone(uses)}
	slices.SortStableFunc(out.Uses, func(a, b Use) int { return cmp.Compare(b.Pressure, a.Pressure) })
	for i := 0; i < len(out.Uses) && out.Uses[i].Pressure > 0; {
		first := out.Uses[i]
		step := Step{Growth: first.growth()}
		for j, u := range out.Uses[:i] {
			step.Raise = append(step.Raise, u.change(j, u.Pressure/first.Pressure))
		}
		for ; i < len(out.Uses) && out.Uses[i].Pressure >= alike*first.Pressure && out.Uses[i].Pressure > 0; i++ {
			step.Next = append(step.Next, i)
		}
		out.Steps = append(out.Steps, step)
	}
	out.Clipped = len(out.Uses) > 0 && out.Uses[0].clipped()
	for i, u := range out.Uses {
		if enough := max(u.highest(), u.Peak) / target; enough < 1-same {
			out.Lower = append(out.Lower, u.change(i, enough))
		}
	}
	return out
}

func (u Use) change(index int, factor float64) Change { return Change{index, factor, factor * u.Rate} }

// Raises are the levels for a throughput that is a multiple (growth) of the present one, at pressures of at most
// target. Limits that are high enough are left out.
func (a Advice) Raises(growth, target float64) []Change {
	var out []Change
	for i, u := range a.Uses {
		if to := u.needed(growth / target); to > u.Rate {
			out = append(out, Change{i, to / u.Rate, to})
		}
	}
	return out
}
